// SPDX-License-Identifier: GPL-2.0-or-later
/* The saved place in the cluster. */

#include "cluster/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/keep.h"
#include "base/log.h"
#include "cluster/roster.h"
#include "cluster/roster_json.h"

#define STORE_FORMAT 1

bool store_set_aside(const char *path, const json_t *content, unsigned int known)
{
	const json_t *said = json_object_get(content, "format");
	json_int_t format = said ? json_integer_value(said) : 1;
	char aside[PATH_MAX];

	if (format >= 1 && format <= known)
		return false;
	if ((size_t)snprintf(aside, sizeof(aside), "%s.format-%lld", path, (long long)format) <
		    sizeof(aside) &&
	    !rename(path, aside))
		log_warning(
			"%s: written by a newer version of ehsched, in format %lld; this one reads "
			"formats up to %u. It is kept as %s",
			path, (long long)format, known, aside);
	else
		log_warning(
			"%s: ignored: it has format %lld, and cannot be kept under another name: "
			"%s",
			path, (long long)format, strerror(errno));
	return true;
}

static struct roster *store_parse(const json_t *o, const struct config *c, const char *host,
				  const char **why)
{
	const char *cluster = json_string_value(json_object_get(o, "cluster"));
	const char *whose = json_string_value(json_object_get(o, "host"));

	*why = "cluster or host is missing";
	if (!cluster || !whose)
		return NULL;
	*why = "it belongs to another cluster or host";
	if (strcmp(cluster, c->cluster) || strcmp(whose, host))
		return NULL;
	return roster_from_json(o, why);
}

struct roster *store_read(const struct config *c, const char *host)
{
	json_error_t error = { .text = "" };
	const char *why = error.text;
	struct roster *r = NULL;
	json_t *o;

	if (access(c->state, F_OK))
		return NULL;
	o = json_load_file(c->state, JSON_REJECT_DUPLICATES, &error);
	if (o && store_set_aside(c->state, o, STORE_FORMAT)) {
		json_decref(o);
		return NULL;
	}
	if (o)
		r = store_parse(o, c, host, &why);
	if (!r)
		log_warning("%s: ignored: %s", c->state, why);
	json_decref(o);
	return r;
}

char *store_text(const struct config *c, const char *host, const struct roster *roster)
{
	json_t *o = roster_to_json(roster);
	char *text = NULL;

	if (o && !json_object_set_new(o, "format", json_integer(STORE_FORMAT)) &&
	    !json_object_set_new(o, "cluster", json_string(c->cluster)) &&
	    !json_object_set_new(o, "host", json_string(host)))
		text = json_dumps(o, JSON_INDENT(1));
	json_decref(o);
	return text;
}

static const char *store_name(const struct config *c)
{
	const char *slash = strrchr(c->state, '/');

	return slash ? slash + 1 : c->state;
}

static void store_on_written(void *ctx, int err)
{
	const struct agent *agent = ctx;

	if (err)
		log_warning("%s: cannot save the roster: %s; after a restart it is requested again",
			    agent->config->state, strerror(-err));
}

void store_write(struct agent *agent, const struct roster *roster)
{
	const struct config *c = agent->config;
	char *text = store_text(c, c->host, roster);
	/* A file damaged by a crash is ignored, and the members give this host the same place again. */
	int err = text ? keep_note(agent, store_name(c), text, store_on_written, agent) : -ENOMEM;

	free(text);
	if (err)
		store_on_written(agent, err);
}

void store_remove(struct agent *agent)
{
	int err = keep_remove(agent, store_name(agent->config));

	if (err)
		log_warning("%s: cannot remove the roster: %s", agent->config->state,
			    strerror(-err));
}
