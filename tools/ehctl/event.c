// SPDX-License-Identifier: GPL-2.0-or-later
#include "event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "ended.h"
#include "tools/common/common.h"

/* ---- which events ---- */

#define EVENT_NAMES                                                            \
	"state place finish threshold peer controller join leave certificate " \
	"revoked drain start stop reload launcher module"

const char *event_unknown(const char *name)
{
	const char *at = EVENT_NAMES;

	for (size_t n; *at; at += n + (at[n] == ' ')) {
		n = strcspn(at, " ");
		if (strlen(name) == n && !strncmp(at, name, n))
			return NULL;
	}
	return EVENT_NAMES;
}

/* Whether one of the members that name nodes is this host or code. */
static bool is_about(const json_t *event, const char *node)
{
	static const char *const members[] = {
		"self", "node", "home", "executor", "parent", "top"
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (json_object_get(event, members[i]) &&
		    (!strcmp(text_of(event, members[i]), node) ||
		     !strcmp(client_host(event, members[i]), node)))
			return true;
	return json_object_get(event, "host") && !strcmp(text_of(event, "host"), node);
}

static bool is_of(const json_t *event, const char *user)
{
	return json_object_get(event, "uid") &&
	       (!strcmp(text_of(event, "user"), user) || !strcmp(integer_of(event, "uid"), user));
}

bool event_is_wanted(const struct event_filter *f, const json_t *event)
{
	return (!f->event || !strcmp(text_of(event, "event"), f->event)) &&
	       (!f->node || is_about(event, f->node)) &&
	       (!f->program || !strcmp(text_of(event, "command"), f->program)) &&
	       (!f->user || is_of(event, f->user));
}

/* ---- in words ---- */

/* Whether this is the name of a host whose code is in another member, which shows it. */
static bool is_name(const json_t *event, const char *key)
{
	char code[64];
	size_t n = strlen(key);

	if (!strcmp(key, "host"))
		return json_object_get(event, "node");
	if (n < 6 || n >= sizeof(code) || strcmp(key + n - 5, "_host"))
		return false;
	snprintf(code, sizeof(code), "%.*s", (int)n - 5, key);
	return json_object_get(event, code);
}

static void print_end(const json_t *event)
{
	const json_t *sig = json_object_get(event, "signal");
	const char *name;

	if (json_is_true(json_object_get(event, "lost"))) {
		printf(", lost");
	} else if (json_is_integer(sig)) {
		name = sigabbrev_np((int)json_integer_value(sig));
		printf(", killed by %s%s", name ? "SIG" : "signal ",
		       name ? name : integer_of(event, "signal"));
	} else if (json_object_get(event, "exit")) {
		printf(", exit %s", integer_of(event, "exit"));
	}
}

/* What a controller and its followers say of themselves. The caller frees it. */
static char *controller_what(const json_t *event)
{
	const json_int_t levels = json_integer_value(json_object_get(event, "levels"));
	const bool has = json_is_string(json_object_get(event, "parent"));
	const char *parent = has ? client_host(event, "parent") : "";
	char *text;

	if (levels && asprintf(&text, "leads %" JSON_INTEGER_FORMAT " level%s%s%s", levels,
			       levels == 1 ? "" : "s", has ? ", under " : "", parent) < 0)
		return NULL;
	if (!levels && asprintf(&text, has ? "follows %s" : "looks for a controller", parent) < 0)
		return NULL;
	return text;
}

static bool is_apart(const char *const *keys, const char *key)
{
	for (; *keys; keys++)
		if (!strcmp(*keys, key))
			return true;
	return false;
}

/* The members come in the order in which the agent said them, hosts instead of codes. */
char *event_what(const json_t *event, const char *const *apart)
{
	const char *key, *space = "";
	json_t *value;
	size_t size;
	char *text = NULL;
	FILE *out;

	if (!strcmp(text_of(event, "event"), "controller"))
		return controller_what(event);
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	json_object_foreach((json_t *)event, key, value) {
		if (is_apart(apart, key) || is_name(event, key))
			continue;
		if (json_is_string(value) && *json_string_value(value))
			fprintf(out, "%s%s %s", space, key, client_host(event, key));
		else if (json_is_integer(value))
			fprintf(out, "%s%s %s", space, key, integer_of(event, key));
		else if (json_is_real(value))
			fprintf(out, "%s%s %.4g", space, key, json_real_value(value));
		else if (json_is_boolean(value))
			fprintf(out, "%s%s%s", space, json_is_true(value) ? "" : "not ", key);
		else
			continue;
		space = ", ";
	}
	fclose(out);
	return text;
}

void event_print(const json_t *event, bool all)
{
	static const char *const apart[] = { "time", "event", "status", "exit", "signal",
					     "lost", "self",  "uid",	NULL };
	char at[ENDED_TEXT], *what = event_what(event, apart);

	printf("%s  ", ended_moment(text_of(event, "time"), at));
	if (all)
		printf("%-10s  ", client_host(event, "self"));
	printf("%-10s  %s", text_of(event, "event"), what ?: "");
	print_end(event);
	putchar('\n');
	free(what);
}
