// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/withdraw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/event.h"
#include "base/log.h"
#include "cert/read.h"
#include "cert/revoke.h"
#include "cert/token.h"
#include "cluster/own_roster.h"
#include "cluster/issue.h"
#include "cluster/report.h"
#include "cluster/vouch.h"
#include "net/client.h"
#include "net/link.h"
#include "net/names.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/revoked.h"
#include "net/tls.h"

#define WITHDRAW_ASK_MS 2000
#define WITHDRAW_SPREAD 64 /* peers told at once; they tell others, and messages the rest */

_Static_assert(ISSUE_WHY >= NAMES_WHY, "one buffer for both");

static struct log_limit withdraw_log;

/* ---- lists of others ---- */

static json_t *withdraw_body(const struct agent *agent)
{
	return json_pack("{s:I,s:s}", "number", (json_int_t)revoked_number(agent), "list",
			 revoked_text(agent));
}

/* To all that are linked, but the one that told it. */
static void withdraw_spread(struct agent *agent, const struct peer *except)
{
	unsigned int n = 0;
	json_t *body;

	for (struct peer *p = peers_next(agent, NULL); p && n < WITHDRAW_SPREAD;
	     p = peers_next(agent, p)) {
		if (p->self || p == except || !(p->up || p->said))
			continue;
		body = withdraw_body(agent);
		if (body && !link_request(p, "/v1/revoked", body, WITHDRAW_ASK_MS, NULL, NULL))
			n++;
	}
}

/* The list is the proof that they are not members: each agent drops them by itself. */
static void withdraw_drop(struct agent *agent)
{
	vouch_again(agent, own_roster(agent));
	own_roster_decided(agent);
}

/* NULL, or what is wrong. */
static const char *withdraw_take(struct peer *from, const json_t *body)
{
	const char *text = json_string_value(json_object_get(body, "list")), *why;
	struct agent *agent = from->agent;
	int took;

	if (!text)
		return "list is missing";
	took = revoked_take(agent, text, &why, NULL, NULL);
	if (took > 0) {
		withdraw_spread(agent, from);
		withdraw_drop(agent);
	} else if (took < 0 && log_allowed(&withdraw_log)) {
		log_warning("%s (%s) sent an unusable revocation list: %s", from->text, from->host,
			    why);
	}
	return took < 0 ? why : NULL;
}

static void withdraw_on_got(void *ctx, int status, const json_t *reply)
{
	struct peer *from = ctx;

	from->asked = false;
	if (status == 200)
		withdraw_take(ctx, reply);
}

void withdraw_seen(struct peer *from, const json_t *body)
{
	uint64_t number;

	if (from->self || from->asked || report_number(body, "revoked", INT64_MAX, &number) ||
	    number <= (uint64_t)revoked_number(from->agent))
		return;
	/* it is asked again with its next message, if this fails */
	from->asked =
		!link_request(from, "/v1/revoked", NULL, WITHDRAW_ASK_MS, withdraw_on_got, from);
}

json_t *withdraw_on_get(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	json_t *reply =
		revoked_text(agent) ? withdraw_body(agent) : json_pack("{s:i}", "number", 0);

	if (!reply)
		*status = 503;
	return reply;
}

json_t *withdraw_on_post(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const char *why = withdraw_take(from, body);

	if (why)
		*status = 400;
	return why ? json_pack("{s:s}", "error", why)
		   : json_pack("{s:I}", "number", (json_int_t)revoked_number(agent));
}

/* ---- lists of this host ---- */

static bool withdraw_same(const struct revoke_entry *a, const struct revoke_entry *b)
{
	return !strcmp(a->host, b->host) && !memcmp(a->digest, b->digest, CERT_DIGEST);
}

/* The list with this entry in it, as PEM; NULL with the reason in *why. */
static char *withdraw_sign(struct agent *agent, const struct revoke_entry *e, int64_t *number,
			   const char **why)
{
	const struct revoke_list *old = agent->revoke_list;
	struct revoke_entry *all = calloc(REVOKE_MAX + 1, sizeof(*all));
	char *text = NULL;
	EVP_PKEY *key;
	size_t n = 0;
	X509 *authority;

	*number = e->at; /* higher than any before, even if ours was lost */
	*why = "out of memory";
	if (!all)
		return NULL;
	for (size_t i = 0; old && i < old->count; i++)
		if (!withdraw_same(&old->entries[i], e))
			all[n++] = old->entries[i];
	all[n++] = *e;
	*why = "the list is full: replace the authority";
	if (n > REVOKE_MAX)
		goto free_all;
	if (*number <= revoked_number(agent))
		*number = revoked_number(agent) + 1;
	*why = "the authority's key cannot be used: see the agent's log";
	tls_own(agent->tls, &authority);
	key = issue_key(agent, authority);
	if (key)
		text = revoke_to_pem(all, n, *number, authority, key, e->at);
	EVP_PKEY_free(key);
free_all:
	free(all);
	return text;
}

/* The host that is meant. False: *why says why it is not known. */
static bool withdraw_find(struct agent *agent, const char *what, const char *host,
			  struct revoke_entry *e, char why[ISSUE_WHY])
{
	unsigned char own[CERT_DIGEST];
	const struct peer *p;
	X509 *authority;

	if (what && revoke_is_print(what, e->digest)) {
		snprintf(why, ISSUE_WHY, "that is the certificate of this host");
		return cert_digest(tls_own(agent->tls, &authority), own) &&
		       memcmp(own, e->digest, CERT_DIGEST) != 0;
	}
	if (what) {
		p = names_find(agent, what, why);
		if (!p)
			return false;
		host = p->host;
	}
	snprintf(why, ISSUE_WHY, "%s: not a name that a certificate may have", host);
	if (!cert_is_host(host))
		return false;
	snprintf(why, ISSUE_WHY, "%s is this host, which has the authority's key", host);
	if (!strcmp(host, agent->config->host))
		return false;
	snprintf(e->host, sizeof(e->host), "%s", host);
	return true;
}

static json_t *withdraw_entry(const struct revoke_entry *e)
{
	char print[2 * CERT_DIGEST + 1];

	cert_hex(e->digest, CERT_DIGEST, print);
	return json_pack("{s:s,s:I}", *e->host ? "host" : "fingerprint", *e->host ? e->host : print,
			 "time", (json_int_t)e->at);
}

/* A caller that wants to know that it is in force, and stays so. */
struct withdraw_wait {
	json_t *reply;
	withdraw_done_fn done;
	void *ctx;
};

static void withdraw_on_kept(void *ctx, int err)
{
	struct withdraw_wait *wait = ctx;

	if (err)
		wait->done(
			wait->ctx, NULL,
			"it is in force, and the other members were told, but this host cannot "
			"keep it on its disk (see the agent's log): make room there, then revoke "
			"it again");
	else
		wait->done(wait->ctx, json_incref(wait->reply), "out of memory");
	json_decref(wait->reply);
	free(wait);
}

static struct withdraw_wait *withdraw_wait(const struct revoke_entry *e, int64_t number,
					   withdraw_done_fn done, void *ctx)
{
	struct withdraw_wait *wait = malloc(sizeof(*wait));

	if (!wait)
		return NULL;
	*wait = (struct withdraw_wait){ withdraw_entry(e), done, ctx };
	if (wait->reply && !json_object_set_new(wait->reply, "version", json_integer(1)) &&
	    !json_object_set_new(wait->reply, "number", json_integer(number)))
		return wait;
	json_decref(wait->reply);
	free(wait);
	return NULL;
}

/* NULL: done. Else why not; then nobody was told. */
static const char *withdraw_try(struct agent *agent, const struct revoke_entry *e,
				withdraw_done_fn done, void *ctx)
{
	struct withdraw_wait *wait;
	const char *why;
	int64_t number;
	char *text = withdraw_sign(agent, e, &number, &why);

	if (!text)
		return why;
	wait = withdraw_wait(e, number, done, ctx);
	why = "out of memory";
	if (!wait || revoked_take(agent, text, &why, withdraw_on_kept, wait) <= 0) {
		if (wait)
			json_decref(wait->reply);
		free(wait);
		free(text);
		return why;
	}
	free(text);
	withdraw_spread(agent, NULL);
	withdraw_drop(agent);
	return NULL;
}

void withdraw_make(struct agent *agent, const char *what, const char *host, withdraw_done_fn done,
		   void *ctx)
{
	struct revoke_entry e = { .at = clock_wall_ms() / 1000 };
	char reason[ISSUE_WHY];
	const char *why = reason;

	if (!issue_can(agent, "ehctl revoke", reason) ||
	    !withdraw_find(agent, what, host, &e, reason)) {
		done(ctx, NULL, why);
		return;
	}
	if (*e.host)
		e.at = revoke_time(agent->revoke_list, e.host, e.at,
				   vouch_begins(own_roster(agent), e.host));
	why = withdraw_try(agent, &e, done, ctx);
	if (why)
		done(ctx, NULL, why);
}

json_t *withdraw_list(struct agent *agent)
{
	const struct revoke_list *list = agent->revoke_list;
	json_t *all = json_array();

	for (size_t i = 0; list && i < list->count; i++)
		json_array_append_new(all, withdraw_entry(&list->entries[i]));
	return json_pack("{s:i,s:I,s:o}", "version", 1, "number", (json_int_t)revoked_number(agent),
			 "revoked", all);
}
