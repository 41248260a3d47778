// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/vouch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/log.h"
#include "cert/read.h"
#include "cluster/parts.h"
#include "cluster/statement.h"
#include "net/h2_stream.h"
#include "net/peer.h"
#include "net/sign.h"

/* In one message: each costs two or three signatures, and they hold up the loop. */
#define VOUCH_LOOKS PARTS_CODES
#define VOUCH_BAD 4

/* An answer may have more than the roster in it. */
#define VOUCH_BYTES (H2_JSON_MAX - (64u << 10))

static struct log_limit vouch_log;

static const char *vouch_part(const struct roster_entry *e, const char *name)
{
	return json_string_value(json_object_get(e->proof, name));
}

/* ---- making ---- */

static json_t *vouch_make(const struct agent *agent, enum statement what,
			  const struct eh_topology *t, const struct roster_entry *e)
{
	size_t length;
	char *text = statement_text(what, agent->config->cluster, t, e, &length);
	char *sign = text ? sign_make(agent->tls, text, length) : NULL;
	json_t *o = sign ? json_string(sign) : NULL;

	free(sign);
	free(text);
	return o;
}

int vouch_sign(const struct agent *agent, const struct eh_topology *t, struct roster_entry *e)
{
	json_t *proof = e->proof ? json_copy(e->proof) : json_object();
	json_t *sign = vouch_make(agent, STATEMENT_ENTRY, t, e);
	char *cert = sign_certificate(agent->tls);

	if (!proof || !sign || !cert || json_object_set(proof, "sign", sign) ||
	    json_object_set_new(proof, "cert", json_string(cert))) {
		json_decref(proof);
		proof = NULL;
	}
	free(cert);
	json_decref(sign);
	e->proof = proof;
	return proof ? 0 : -EIO;
}

json_t *vouch_grant(const struct agent *agent, const struct eh_topology *t,
		    const struct roster_entry *e)
{
	json_t *grant = vouch_make(agent, STATEMENT_GRANT, t, e);

	return grant ? json_pack("{s:s,s:o}", "by", agent->config->host, "grant", grant) : NULL;
}

int vouch_own(const struct agent *agent, struct roster *roster)
{
	const struct roster_entry *own = roster_by_host(roster, agent->config->host);
	const char *has = own ? vouch_part(own, "cert") : NULL;
	struct roster_entry e;
	char *cert;
	bool same;

	if (!own || own->left)
		return 0;
	cert = sign_certificate(agent->tls);
	same = cert && has && vouch_part(own, "sign") && !strcmp(cert, has);
	free(cert);
	if (same)
		return 0;
	e = *own;
	if (vouch_sign(agent, roster_topology(roster), &e))
		return -EIO;
	roster_prove(roster, e.index, e.proof);
	json_decref(e.proof);
	/* others have it with an older certificate */
	if (has)
		roster_raise(roster);
	return 1;
}

json_t *vouch_json(const struct roster *roster)
{
	return parts_whole(roster, VOUCH_BYTES);
}

/* ---- checking ---- */

static const char *vouch_is(const struct agent *agent, enum statement what,
			    const struct eh_topology *t, const struct roster_entry *e,
			    const char *host, const char *cert, const char *sign)
{
	size_t length;
	char *text = statement_text(what, agent->config->cluster, t, e, &length);
	const char *why = "out of memory";

	if (text)
		why = sign_check(agent->tls, agent->revoke_list, agent->config->cluster, host, cert,
				 sign, text, length);
	free(text);
	return why;
}

const char *vouch_check(const struct agent *agent, const struct eh_topology *t,
			const struct roster_entry *e)
{
	const char *cert = vouch_part(e, "cert"), *sign = vouch_part(e, "sign");

	if (!cert || !sign)
		return "its host has not signed it";
	return vouch_is(agent, STATEMENT_ENTRY, t, e, e->host, cert, sign);
}

int64_t vouch_begins(const struct roster *roster, const char *host)
{
	const struct roster_entry *e = roster_by_host(roster, host);
	const char *cert = e ? vouch_part(e, "cert") : NULL;

	return cert ? cert_since(cert) : 0;
}

/* Its entry may come with a later part. */
static const char vouch_unknown[] =
	"its code belongs to another host, and the member that gave it the code is not known";

/* Nobody takes a code alone: a member that is neither of the two has given it. */
static const char *vouch_taken(const struct agent *agent, const struct roster *ours,
			       const struct roster *theirs, const struct roster_entry *e)
{
	const struct roster_entry *has = roster_by_code(ours, e->index), *giver;
	const char *by = vouch_part(e, "by"), *grant = vouch_part(e, "grant"), *cert;

	if (!has || !strcmp(has->host, e->host))
		return NULL;
	if (!by || !grant || !strcmp(by, e->host))
		return "its code belongs to another host, and no third member gave it the code";
	giver = roster_by_host(ours, by) ?: roster_by_host(theirs, by);
	cert = giver ? vouch_part(giver, "cert") : NULL;
	if (!cert)
		return vouch_unknown;
	return vouch_is(agent, STATEMENT_GRANT, roster_topology(ours), e, by, cert, grant);
}

static bool vouch_holds(void *ctx, const struct roster_entry *e)
{
	const struct agent *agent = ctx;
	const char *cert = vouch_part(e, "cert");

	if (!cert || !sign_is_revoked(agent->revoke_list, cert))
		return true;
	log_info("%s is no longer a member: its certificate was revoked", e->host);
	return false;
}

void vouch_again(struct agent *agent, struct roster *roster)
{
	roster_filter(roster, vouch_holds, agent);
}

/* ---- what others send ---- */

struct vouch_look {
	const struct agent *agent;
	const struct roster *ours, *theirs; /* ours NULL: the first roster of this host */
	unsigned int looks, bad;
	char first[256]; /* of the bad ones */
};

static void vouch_note(struct vouch_look *l, const struct roster_entry *e, const char *why)
{
	char code[EH_CODE_TEXT];

	if (!l->bad++)
		snprintf(l->first, sizeof(l->first), "%s as %s: %s", e->host,
			 eh_code_format(roster_topology(l->theirs), (struct eh_code){ 0, e->index },
					code),
			 why);
}

/* How a host is reached is this host's own configuration, until that host has moved. */
static bool vouch_is_configured(const struct roster *ours, const struct roster_entry *e)
{
	const struct roster_entry *has = roster_by_code(ours, e->index);

	return !e->version && has && !has->version && !strcmp(has->host, e->host) &&
	       strcmp(has->address.text, e->address.text) != 0;
}

static bool vouch_keep(void *ctx, const struct roster_entry *e)
{
	struct vouch_look *l = ctx;
	const char *why;

	/* A configured one, from an agent that does not sign. */
	if (!e->version && !e->proof)
		return false;
	if (l->ours && !roster_wins(l->ours, e))
		return true;
	if (l->ours &&
	    (l->looks >= VOUCH_LOOKS || l->bad >= VOUCH_BAD || vouch_is_configured(l->ours, e)))
		return false;
	l->looks++;
	why = vouch_check(l->agent, roster_topology(l->theirs), e);
	if (!why && l->ours)
		why = vouch_taken(l->agent, l->ours, l->theirs, e);
	if (why && why != vouch_unknown)
		vouch_note(l, e, why);
	return !why;
}

void vouch_filter(const struct agent *agent, const struct roster *ours, struct roster *theirs,
		  struct peer *from)
{
	struct vouch_look l = { .agent = agent, .ours = ours, .theirs = theirs };
	bool first = from && !from->unproven;

	roster_filter(theirs, vouch_keep, &l);
	if (!l.bad)
		return;
	if (from)
		from->unproven += l.bad;
	if (first && log_allowed(&vouch_log))
		log_warning(
			"%s (%s) sent an invalid entry of the roster: %s; ignored, as are others "
			"that follow",
			from->text, from->host, l.first);
}

static bool vouch_keep_first(void *ctx, const struct roster_entry *e)
{
	const struct vouch_look *l = ctx;

	/* Its own one it signs itself, unless it is given another. */
	return !strcmp(e->host, l->agent->config->host) || vouch_keep(ctx, e);
}

void vouch_first(const struct agent *agent, struct roster *first, const char *where)
{
	struct vouch_look l = { .agent = agent, .theirs = first };

	roster_filter(first, vouch_keep_first, &l);
	if (l.bad && log_allowed(&vouch_log))
		log_warning("%s: %u entries of the roster are invalid, the first is %s; ignored",
			    where, l.bad, l.first);
}
