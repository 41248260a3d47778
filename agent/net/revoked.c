// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/revoked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/err.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/event.h"
#include "base/keep.h"
#include "base/log.h"
#include "cert/revoke.h"
#include "cert/token.h"
#include "net/recheck.h"
#include "net/tls.h"

#define REVOKED_FILE "revoked.pem"
#define REVOKED_HERE "the list here"

struct revoked {
	char *text; /* of agent->revoke_list */
	char by[CERT_HOST_MAX + 1]; /* "": this host was not revoked */
};

/* ---- this host ---- */

static void revoked_say(struct agent *agent, const char *by)
{
	struct revoked *r = agent->revoked;

	if (!strcmp(r->by, by))
		return;
	/* the first source is shown */
	if (!*r->by || !strcmp(by, REVOKED_HERE)) {
		snprintf(r->by, sizeof(r->by), "%s", by);
		log_error("this host, %s, was revoked, says %s: the cluster takes nothing from it "
			  "any more. If that is wrong, it needs a new certificate: `ehctl invite "
			  "--host %s` on the host of the authority, `ehctl join` here",
			  agent->config->host, by, agent->config->host);
		event_tell(agent, "revoked", json_pack("{s:s}", "host", agent->config->host));
	}
}

void revoked_told(struct agent *agent, const char *by)
{
	if (agent->revoked)
		revoked_say(agent, by);
}

void revoked_accepted(struct agent *agent, const char *by)
{
	if (agent->revoked && !strcmp(agent->revoked->by, by))
		agent->revoked->by[0] = '\0';
}

const char *revoked_by(const struct agent *agent)
{
	return agent->revoked && *agent->revoked->by ? agent->revoked->by : NULL;
}

static void revoked_look_at_own(struct agent *agent)
{
	X509 *authority, *own = tls_own(agent->tls, &authority);

	if (own && revoke_has(agent->revoke_list, own))
		revoked_say(agent, REVOKED_HERE);
}

/* ---- the list ---- */

int64_t revoked_number(const struct agent *agent)
{
	return agent->revoke_list ? agent->revoke_list->number : 0;
}

const char *revoked_text(const struct agent *agent)
{
	return agent->revoked ? agent->revoked->text : NULL;
}

static struct revoke_list *revoked_parse(struct agent *agent, const char *text, const char **why)
{
	struct revoke_list *list = NULL;
	X509 *authority;

	tls_own(agent->tls, &authority);
	*why = "the authority of this host's certificate is not known";
	if (authority)
		list = revoke_from_pem(text, strlen(text), authority, why);
	ERR_clear_error();
	return list;
}

static bool revoked_is_in(const struct revoke_list *list, const struct revoke_entry *e)
{
	for (size_t i = 0; list && i < list->count; i++) {
		const struct revoke_entry *is = &list->entries[i];

		if (is->at == e->at && !strcmp(is->host, e->host) &&
		    !memcmp(is->digest, e->digest, sizeof(e->digest)))
			return true;
	}
	return false;
}

static void revoked_tell(struct agent *agent, const struct revoke_list *old,
			 const struct revoke_list *list)
{
	char print[2 * CERT_DIGEST + 1];

	for (size_t i = 0; i < list->count; i++) {
		const struct revoke_entry *e = &list->entries[i];

		if (revoked_is_in(old, e))
			continue;
		cert_hex(e->digest, CERT_DIGEST, print);
		log_info("revoked: %s %s", *e->host ? "host" : "certificate",
			 *e->host ? e->host : print);
		event_tell(agent, "revoked",
			   *e->host ? json_pack("{s:s}", "host", e->host)
				    : json_pack("{s:s}", "fingerprint", print));
	}
}

/* Takes over both. */
static void revoked_replace(struct agent *agent, struct revoke_list *list, char *text)
{
	struct revoke_list *old = agent->revoke_list;

	free(agent->revoked->text);
	agent->revoked->text = text;
	agent->revoke_list = list;
	if (list)
		revoked_tell(agent, old, list);
	revoke_free(old);
}

/* ---- a list that comes ---- */

/* One that waits for it to be on disk. */
struct revoked_wait {
	const struct agent *agent;
	keep_done_fn kept;
	void *ctx;
};

static void revoked_on_kept(void *ctx, int err)
{
	struct revoked_wait *wait = ctx;

	if (err)
		log_error("the revocation list cannot be kept beside %s: %s",
			  wait->agent->config->state, strerror(-err));
	if (wait->kept)
		wait->kept(wait->ctx, err);
	free(wait);
}

/* 0 or -ENOMEM: then `kept` is not called. */
static int revoked_keep(struct agent *agent, const char *text, keep_done_fn kept, void *ctx)
{
	struct revoked_wait *wait = malloc(sizeof(*wait));
	int err;

	if (!wait)
		return -ENOMEM;
	*wait = (struct revoked_wait){ agent, kept, ctx };
	err = keep_write(agent, REVOKED_FILE, text, revoked_on_kept, wait);
	if (err)
		revoked_on_kept(wait, err);
	return 0;
}

int revoked_take(struct agent *agent, const char *text, const char **why, keep_done_fn kept,
		 void *ctx)
{
	struct revoke_list *list = revoked_parse(agent, text, why);
	char *copy;

	if (!list)
		return -EINVAL;
	copy = list->number > revoked_number(agent) ? strdup(text) : NULL;
	/* it counts at once, also where it cannot be kept: then it is asked for again */
	if (!copy || revoked_keep(agent, text, kept, ctx)) {
		revoke_free(list);
		free(copy);
		return 0;
	}
	revoked_replace(agent, list, copy);
	revoked_look_at_own(agent);
	recheck_all(agent);
	return 1;
}

void revoked_reload(struct agent *agent)
{
	struct revoked *r = agent->revoked;
	struct revoke_list *list;
	const char *why;

	r->by[0] = '\0';
	list = r->text ? revoked_parse(agent, r->text, &why) : NULL;
	if (list) {
		revoke_free(list);
	} else if (r->text) {
		log_info("the revocation list no longer applies: %s", why);
		revoked_replace(agent, NULL, NULL);
	}
	revoked_look_at_own(agent);
}

/* ---- set-up ---- */

int revoked_init(struct agent *agent)
{
	struct revoke_list *list;
	const char *why;
	char *text;

	agent->revoked = calloc(1, sizeof(*agent->revoked));
	if (!agent->revoked)
		return -ENOMEM;
	text = keep_read(agent->config, REVOKED_FILE, REVOKE_PEM_MAX);
	if (!text) {
		if (errno != ENOENT)
			log_warning(REVOKED_FILE " beside %s: ignored: %s", agent->config->state,
				    strerror(errno));
		return 0;
	}
	list = revoked_parse(agent, text, &why);
	if (list) {
		revoked_replace(agent, list, text);
		revoked_look_at_own(agent);
		return 0;
	}
	log_warning(REVOKED_FILE " beside %s: ignored: %s", agent->config->state, why);
	free(text);
	return 0;
}

void revoked_exit(struct agent *agent)
{
	revoke_free(agent->revoke_list);
	agent->revoke_list = NULL;
	if (agent->revoked)
		free(agent->revoked->text);
	free(agent->revoked);
	agent->revoked = NULL;
}
