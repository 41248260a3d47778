// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/invite.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/event.h"
#include "base/keep.h"
#include "base/log.h"
#include "cert/make.h"
#include "cert/name.h"
#include "cert/read.h"
#include "cert/token.h"
#include "cluster/address.h"
#include "cluster/own_roster.h"
#include "cluster/issue.h"
#include "cluster/roster.h"
#include "cluster/speech.h"
#include "cluster/store.h"
#include "net/tls.h"

#define INVITE_FILE "invites.json"
#define INVITE_FORMAT 1 /* of the file */
#define INVITE_OPEN 64 /* at most */
#define INVITE_GIVEN 64 /* names whose certificates were made last */
#define INVITE_GIVEN_S 86400 /* for which a name is not given a second time */
#define INVITE_ADDRESSES 8
#define INVITE_RATE 10 /* requests in a second from one source; a token cannot be guessed anyway */
#define INVITE_SOURCES 64

struct invite {
	unsigned char digest[CERT_DIGEST]; /* of the secret */
	int64_t until; /* s since 1970 */
	char host[CERT_HOST_MAX + 1]; /* "": any that is not a member */
	bool waits; /* for the disk: nobody can use it now */
	bool spent; /* the disk is to know that it was used */
};

/* A caller that hears of an invitation when its state is on disk. */
struct invite_wait {
	struct agent *agent;
	unsigned char digest[CERT_DIGEST]; /* of the invitation */
	char host[CERT_HOST_MAX + 1]; /* the host that it is for, or that used it */
	/* one that is made */
	json_t *reply;
	invite_done_fn made;
	/* one that is used */
	char *cert, where[ADDRESS_TEXT];
	int64_t given_until; /* what its name had before; 0: nothing */
	invite_answer_fn answer;
	void *ctx;
};

/* A name that has got a certificate, and may not be in the roster yet. */
struct given {
	char host[CERT_HOST_MAX + 1];
	int64_t until;
};

/* How often somebody has asked from there. */
struct source {
	char where[ADDRESS_TEXT]; /* without its port */
	uint64_t second;
	unsigned int asked;
};

struct invites {
	struct invite open[INVITE_OPEN];
	struct given given[INVITE_GIVEN];
	size_t nopen, ngiven;
	struct source sources[INVITE_SOURCES];
	char why[ISSUE_WHY];
};

static struct log_limit invite_log;

static int64_t invite_now(void)
{
	return clock_wall_ms() / 1000;
}

/* ---- what is kept ---- */

static void invite_drop(struct invites *in, size_t i)
{
	OPENSSL_cleanse(&in->open[i], sizeof(in->open[i]));
	in->open[i] = in->open[--in->nopen];
}

static void invite_expire(struct invites *in)
{
	int64_t now = invite_now();

	for (size_t i = in->nopen; i--;)
		if (in->open[i].until <= now)
			invite_drop(in, i);
	for (size_t i = in->ngiven; i--;)
		if (in->given[i].until <= now)
			in->given[i] = in->given[--in->ngiven];
}

static json_t *invite_to_json(const struct invites *in)
{
	json_t *open = json_array(), *given = json_array();
	char digest[2 * CERT_DIGEST + 1];

	for (size_t i = 0; i < in->nopen; i++)
		if (!in->open[i].spent)
			json_array_append_new(
				open, json_pack("{s:s,s:I,s:s}", "digest",
						cert_hex(in->open[i].digest, CERT_DIGEST, digest),
						"until", (json_int_t)in->open[i].until, "host",
						in->open[i].host));
	for (size_t i = 0; i < in->ngiven; i++)
		json_array_append_new(given, json_pack("{s:s,s:I}", "host", in->given[i].host,
						       "until", (json_int_t)in->given[i].until));
	return json_pack("{s:i,s:o,s:o}", "format", INVITE_FORMAT, "open", open, "given", given);
}

/* On disk before anybody hears of it: a token that was used stays used. `kept` takes over `wait`. */
static void invite_save(struct invite_wait *wait, keep_done_fn kept)
{
	json_t *o = invite_to_json(wait->agent->invites);
	char *text = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
	int err = text ? keep_write(wait->agent, INVITE_FILE, text, kept, wait) : -ENOMEM;

	free(text);
	json_decref(o);
	if (err)
		kept(wait, err);
}

/* The invitation no longer waits for the disk. NULL: its time is over. */
static struct invite *invite_kept(const struct invite_wait *wait, int err)
{
	struct invites *in = wait->agent->invites;

	if (err)
		log_error("invitations cannot be kept beside %s: %s", wait->agent->config->state,
			  strerror(-err));
	for (size_t i = 0; in && i < in->nopen; i++)
		if (!memcmp(in->open[i].digest, wait->digest, CERT_DIGEST)) {
			in->open[i].waits = in->open[i].spent = false;
			return &in->open[i];
		}
	return NULL;
}

static void invite_read(struct invites *in, const json_t *o)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(o, "open"), i, one) {
		const char *digest = json_string_value(json_object_get(one, "digest"));
		const char *host = json_string_value(json_object_get(one, "host"));
		struct invite *to = &in->open[in->nopen];

		if (in->nopen == INVITE_OPEN || !digest || !host || strlen(host) > CERT_HOST_MAX ||
		    !cert_unhex(digest, to->digest, CERT_DIGEST))
			continue;
		to->until = json_integer_value(json_object_get(one, "until"));
		strcpy(to->host, host);
		in->nopen++;
	}
	json_array_foreach(json_object_get(o, "given"), i, one) {
		const char *host = json_string_value(json_object_get(one, "host"));
		struct given *to = &in->given[in->ngiven];

		if (in->ngiven == INVITE_GIVEN || !host || strlen(host) > CERT_HOST_MAX)
			continue;
		to->until = json_integer_value(json_object_get(one, "until"));
		strcpy(to->host, host);
		in->ngiven++;
	}
	invite_expire(in);
}

int invite_init(struct agent *agent)
{
	char path[PATH_MAX];
	json_error_t error;
	json_t *o;

	agent->invites = calloc(1, sizeof(*agent->invites));
	if (!agent->invites)
		return -ENOMEM;
	if (!*agent->config->authority_key || !keep_path(agent->config, INVITE_FILE, path) ||
	    access(path, F_OK))
		return 0;
	o = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (o && !store_set_aside(path, o, INVITE_FORMAT))
		invite_read(agent->invites, o);
	else if (!o)
		log_warning("%s: ignored, with all invitations in it: %s", path, error.text);
	json_decref(o);
	return 0;
}

void invite_exit(struct agent *agent)
{
	free(agent->invites);
	agent->invites = NULL;
}

bool invite_is_open(struct agent *agent)
{
	if (!*agent->config->authority_key)
		return false;
	invite_expire(agent->invites);
	return agent->invites->nopen;
}

/* ---- an invitation ---- */

static void invite_on_made(void *ctx, int err)
{
	struct invite_wait *wait = ctx;
	struct invite *made = invite_kept(wait, err);

	if (err) {
		if (made)
			invite_drop(wait->agent->invites, made - wait->agent->invites->open);
		wait->made(wait->ctx, NULL, "it cannot be kept: see the agent's log");
	} else {
		log_info("invited a host, for %lld s%s%s",
			 json_integer_value(json_object_get(wait->reply, "seconds")),
			 *wait->host ? ": " : "", wait->host);
		wait->made(wait->ctx, json_incref(wait->reply), NULL);
	}
	json_decref(wait->reply);
	free(wait);
}

/* It is open, but for the disk. NULL, or why not. */
static const char *invite_open(struct agent *agent, unsigned int seconds, const char *host,
			       struct invite_wait *wait)
{
	struct invites *in = agent->invites;
	struct cert_token token = { 0 };
	const char *why = "out of memory";
	struct invite *to;
	char text[TOKEN_TEXT];
	X509 *authority;

	to = &in->open[in->nopen];
	memset(to, 0, sizeof(*to));
	tls_own(agent->tls, &authority);
	snprintf(token.host, sizeof(token.host), "%s", agent->config->host);
	snprintf(token.address, sizeof(token.address), "%s", agent->config->address.text);
	if (RAND_bytes(token.secret, TOKEN_SECRET) != 1 ||
	    !cert_digest(authority, token.authority) ||
	    !cert_token_digest(token.secret, to->digest) || !cert_token_format(&token, text))
		goto cleanse;
	wait->reply = json_pack("{s:i,s:s,s:I,s:s,s:s*}", "version", 1, "token", text, "seconds",
				(json_int_t)seconds, "address", token.address, "host", host);
	if (!wait->reply)
		goto cleanse;
	to->until = invite_now() + seconds;
	snprintf(to->host, sizeof(to->host), "%s", host ?: "");
	to->waits = true;
	memcpy(wait->digest, to->digest, sizeof(wait->digest));
	in->nopen++;
	why = NULL;
cleanse:
	OPENSSL_cleanse(&token, sizeof(token));
	OPENSSL_cleanse(text, sizeof(text));
	return why;
}

void invite_make(struct agent *agent, unsigned int seconds, const char *host, invite_done_fn done,
		 void *ctx)
{
	struct invites *in = agent->invites;
	struct invite_wait *wait = NULL;
	const char *why = in->why;

	if (!issue_can(agent, "ehctl invite", in->why))
		goto refuse;
	invite_expire(in);
	why = "too many invitations are open: wait until some are used, or end";
	if (in->nopen == INVITE_OPEN)
		goto refuse;
	why = "out of memory";
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		goto refuse;
	wait->agent = agent;
	wait->made = done;
	wait->ctx = ctx;
	snprintf(wait->host, sizeof(wait->host), "%s", host ?: "");
	why = invite_open(agent, seconds, host, wait);
	if (why)
		goto refuse;
	invite_save(wait, invite_on_made);
	return;

refuse:
	free(wait);
	done(ctx, NULL, why);
}

/* ---- a visit ---- */

static json_t *invite_refuse(const char *where, const char *host, const char *why)
{
	if (log_allowed(&invite_log))
		log_warning("did not admit %s%s%s: %s", where, *host ? ", host " : "", host, why);
	return json_pack("{s:s}", "error", why);
}

static bool invite_is_source(const struct source *s, const char *where, size_t length)
{
	return !strncmp(s->where, where, length) && !s->where[length];
}

/* Counted for each source, so that one keeps no other out. */
static bool invite_too_often(struct invites *in, const char *where)
{
	const char *port = strrchr(where, ':');
	size_t length = port ? port - where : 0;
	uint64_t second = clock_ms() / 1000;
	struct source *from = &in->sources[0];

	for (size_t i = 0; i < INVITE_SOURCES; i++) {
		struct source *s = &in->sources[i];

		if (invite_is_source(s, where, length)) {
			from = s;
			break;
		}
		/* where it is not known: it replaces the one that asked first */
		if (s->second < from->second)
			from = s;
	}
	if (from->second != second || !invite_is_source(from, where, length))
		from->asked = 0;
	snprintf(from->where, sizeof(from->where), "%.*s", (int)length, where);
	from->second = second;
	return ++from->asked > INVITE_RATE;
}

/* The open invitation of this secret, or NULL. All are compared, each in the same time. */
static struct invite *invite_find(struct invites *in, const char *hex)
{
	unsigned char secret[TOKEN_SECRET], digest[CERT_DIGEST];
	struct invite *found = NULL;

	if (!cert_unhex(hex, secret, TOKEN_SECRET) || !cert_token_digest(secret, digest))
		return NULL;
	for (size_t i = 0; i < in->nopen; i++)
		if (!CRYPTO_memcmp(in->open[i].digest, digest, CERT_DIGEST) && !in->open[i].waits)
			found = &in->open[i];
	OPENSSL_cleanse(secret, sizeof(secret));
	return found;
}

static bool invite_is_member(struct agent *agent, const char *host)
{
	const struct roster_entry *e = roster_by_host(own_roster(agent), host);

	return e && !e->left;
}

/* Addresses of members, this host's first. */
static json_t *invite_addresses(struct agent *agent)
{
	const struct roster *r = own_roster(agent);
	json_t *list = json_array();
	const struct roster_entry *e;

	json_array_append_new(list, json_string(agent->config->address.text));
	for (size_t i = 0; (e = roster_at(r, i)); i++)
		if (json_array_size(list) < INVITE_ADDRESSES &&
		    strcmp(e->host, agent->config->host) != 0 && roster_is_member(r, e))
			json_array_append_new(list, json_string(e->address.text));
	return list;
}

/* NULL, or why this host gets no certificate by this invitation. */
static const char *invite_check_host(struct agent *agent, const struct invite *by, const char *host)
{
	if (!strcmp(host, agent->config->host))
		return "that is the name of the host that invites";
	if (*by->host)
		return strcmp(by->host, host) ? "the invitation is for a host of another name"
					      : NULL;
	if (invite_is_member(agent, host))
		return "a member has this name: if it is this host, ask for `ehctl invite --host "
		       "NAME`";
	for (size_t i = 0; i < agent->invites->ngiven; i++)
		if (!strcmp(agent->invites->given[i].host, host))
			return "this name got a certificate a short time ago: if it was for this "
			       "host, ask for `ehctl invite --host NAME`";
	return NULL;
}

/* Returns until when that was so before, 0: it was not. */
static int64_t invite_note(struct invites *in, const char *host, int64_t until)
{
	struct given *to = NULL;
	int64_t before;

	for (size_t i = 0; i < in->ngiven; i++)
		if (!strcmp(in->given[i].host, host) || (in->ngiven == INVITE_GIVEN && !to))
			to = &in->given[i];
	if (!to)
		to = &in->given[in->ngiven++];
	before = strcmp(to->host, host) ? 0 : to->until;
	snprintf(to->host, sizeof(to->host), "%s", host);
	to->until = until;
	return before;
}

/* All that a new host needs. Takes over `cert`. */
static json_t *invite_welcome(struct agent *agent, char *cert)
{
	X509 *authority;
	char *ours;
	json_t *answer = NULL;

	tls_own(agent->tls, &authority);
	ours = cert_to_pem(authority);
	if (ours)
		answer = json_pack("{s:s,s:s,s:s,s:I,s:o}", "certificate", cert, "authority", ours,
				   "cluster", agent->config->cluster, "heartbeat",
				   (json_int_t)agent->config->heartbeat, "join",
				   invite_addresses(agent));
	free(ours);
	free(cert);
	return answer;
}

static void invite_on_used(void *ctx, int err)
{
	struct invite_wait *wait = ctx;
	struct agent *agent = wait->agent;
	struct invite *used = invite_kept(wait, err);

	if (err) {
		invite_note(agent->invites, wait->host, wait->given_until);
		free(wait->cert);
		wait->answer(wait->ctx,
			     invite_refuse(wait->where, wait->host,
					   "the inviting host cannot write to its disk"));
		free(wait);
		return;
	}
	if (used)
		invite_drop(agent->invites, used - agent->invites->open);
	log_info("%s at %s has got a certificate", wait->host, wait->where);
	event_tell(agent, "certificate",
		   json_pack("{s:s,s:s}", "host", wait->host, "address", wait->where));
	wait->answer(wait->ctx, invite_welcome(agent, wait->cert));
	free(wait);
}

/* NULL: he hears when the disk knows that the token was used, without which it would work again. */
static const char *invite_admit(struct agent *agent, struct invite *by, const char *request,
				const struct invite_wait *visit)
{
	const char *why = invite_check_host(agent, by, visit->host);
	struct invite_wait *wait;
	char *cert;

	if (why)
		return why;
	cert = issue_certificate(agent, visit->host, request, &why);
	if (!cert)
		return why;
	wait = malloc(sizeof(*wait));
	if (!wait) {
		free(cert);
		return "out of memory";
	}
	*wait = *visit;
	wait->cert = cert;
	memcpy(wait->digest, by->digest, sizeof(wait->digest));
	by->waits = by->spent = true;
	wait->given_until = invite_note(agent->invites, visit->host, invite_now() + INVITE_GIVEN_S);
	invite_save(wait, invite_on_used);
	return NULL;
}

/* NULL: he is answered later. */
static const char *invite_hear(struct agent *agent, const json_t *o, struct invite_wait *visit)
{
	const char *secret = json_string_value(json_object_get(o, "secret"));
	const char *host = json_string_value(json_object_get(o, "host"));
	const char *request = json_string_value(json_object_get(o, "request"));
	struct invite *by = secret ? invite_find(agent->invites, secret) : NULL;

	/* A stranger without a token learns nothing else. */
	if (!by)
		return "the token is wrong, was used, or has expired: ask for another one";
	if (!host || !cert_is_host(host) || !request)
		return "host or request is missing or malformed";
	snprintf(visit->host, sizeof(visit->host), "%s", host);
	return invite_admit(agent, by, request, visit);
}

void invite_on_visit(struct agent *agent, const char *where, const char *line, size_t length,
		     invite_answer_fn answer, void *ctx)
{
	struct invite_wait visit = { .agent = agent, .answer = answer, .ctx = ctx };
	const char *why;
	json_t *o;

	snprintf(visit.where, sizeof(visit.where), "%s", where);
	if (invite_too_often(agent->invites, where)) {
		why = "too many ask: try again in a second";
	} else if (!invite_is_open(agent)) {
		why = "no invitation is open: the token was used, or has expired";
	} else {
		o = speech_object(line, length, NULL);
		why = invite_hear(agent, o, &visit);
		json_decref(o);
	}
	if (why)
		answer(ctx, invite_refuse(where, visit.host, why));
}
