// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/invite.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/event.h"
#include "base/log.h"
#include "cert/make.h"
#include "cert/name.h"
#include "cert/read.h"
#include "cert/token.h"
#include "cluster/address.h"
#include "cluster/enrol.h"
#include "cluster/roster.h"
#include "net/tls.h"

#define INVITE_OPEN 64 /* at most */
#define INVITE_GIVEN 64 /* names whose certificates were made last */
#define INVITE_GIVEN_S 86400 /* for which a name is not given a second time */
#define INVITE_DAYS 3650
#define INVITE_ADDRESSES 8
#define INVITE_RATE 10 /* requests in a second from one source; a token cannot be guessed anyway */
#define INVITE_SOURCES 64

struct invite {
	unsigned char digest[CERT_DIGEST]; /* of the secret */
	int64_t until; /* s since 1970 */
	char host[CERT_HOST_MAX + 1]; /* "": any that is no member */
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
	char why[512];
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

static bool invite_path(const struct agent *agent, const char *after, char path[PATH_MAX])
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", agent->config->state);
	return snprintf(path, PATH_MAX, "%s/invites.json%s", dirname(folder), after) < PATH_MAX;
}

static json_t *invite_to_json(const struct invites *in)
{
	json_t *open = json_array(), *given = json_array();
	char digest[2 * CERT_DIGEST + 1];

	for (size_t i = 0; i < in->nopen; i++)
		json_array_append_new(
			open, json_pack("{s:s,s:I,s:s}", "digest",
					cert_hex(in->open[i].digest, CERT_DIGEST, digest), "until",
					(json_int_t)in->open[i].until, "host", in->open[i].host));
	for (size_t i = 0; i < in->ngiven; i++)
		json_array_append_new(given, json_pack("{s:s,s:I}", "host", in->given[i].host,
						       "until", (json_int_t)in->given[i].until));
	return json_pack("{s:o,s:o}", "open", open, "given", given);
}

static int invite_write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	ssize_t length = strlen(text);
	int err = 0;

	if (fd < 0)
		return -errno;
	errno = EIO;
	/* On disk before anything else happens: a token that was used stays used. */
	if (write(fd, text, length) != length || fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* The new name, too, must be on disk. */
static int invite_sync_folder(const struct agent *agent)
{
	char path[PATH_MAX];
	int fd, err;

	if (!invite_path(agent, "", path))
		return -ENAMETOOLONG;
	fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

static int invite_save(struct agent *agent)
{
	char path[PATH_MAX], work[PATH_MAX];
	json_t *o = invite_to_json(agent->invites);
	char *text = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
	int err = text ? 0 : -ENOMEM;

	if (!err && (!invite_path(agent, "", path) || !invite_path(agent, ".new", work)))
		err = -ENAMETOOLONG;
	if (!err) {
		mkdir(dirname(path), 0755);
		invite_path(agent, "", path);
		err = invite_write_text(work, text);
	}
	if (!err && rename(work, path))
		err = -errno;
	if (!err)
		err = invite_sync_folder(agent);
	if (err)
		log_error("invitations cannot be kept beside %s: %s", agent->config->state,
			  strerror(-err));
	free(text);
	json_decref(o);
	return err;
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
	if (!*agent->config->authority_key || !invite_path(agent, "", path) || access(path, F_OK))
		return 0;
	o = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (o)
		invite_read(agent->invites, o);
	else
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

/* ---- the authority ---- */

/* Read each time: few ask, and the key is in memory only while it is used. */
static EVP_PKEY *invite_key(struct agent *agent, X509 *authority)
{
	EVP_PKEY *key = NULL;
	char text[CERT_PEM_MAX];
	ssize_t n = -1;
	int fd;

	fd = open(agent->config->authority_key, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text));
		close(fd);
	}
	if (n > 0)
		key = cert_key_from_pem(text, n);
	OPENSSL_cleanse(text, sizeof(text));
	if (key && X509_check_private_key(authority, key) == 1)
		return key;
	ERR_clear_error();
	EVP_PKEY_free(key);
	log_error("%s: not the key of the authority that signed this host's certificate",
		  agent->config->authority_key);
	return NULL;
}

/* Whether this host can invite, or why not. */
static bool invite_can(struct agent *agent, const char **why)
{
	struct invites *in = agent->invites;
	char origin[CERT_HOST_MAX + 1];
	X509 *authority;
	EVP_PKEY *key;

	tls_own(agent->tls, &authority);
	*why = "the authority's certificate did not sign this host's";
	if (!authority)
		return false;
	if (!*agent->config->authority_key) {
		if (!cert_origin(authority, origin, sizeof(origin)) ||
		    !strcmp(origin, agent->config->host))
			strcpy(origin, "the host that has the authority's key");
		snprintf(in->why, sizeof(in->why),
			 "this host has not got the authority's key (`authority-key`): "
			 "run `ehctl invite` on %s",
			 origin);
		*why = in->why;
		return false;
	}
	key = invite_key(agent, authority);
	EVP_PKEY_free(key);
	*why = "`authority-key` is not the key of the cluster's authority";
	return key;
}

/* ---- an invitation ---- */

json_t *invite_make(struct agent *agent, unsigned int seconds, const char *host, const char **why)
{
	struct invites *in = agent->invites;
	struct cert_token token = { 0 };
	struct invite *to;
	char text[TOKEN_TEXT];
	json_t *reply = NULL;
	X509 *authority;

	if (!invite_can(agent, why))
		return NULL;
	invite_expire(in);
	*why = "too many invitations are open: wait until some are used, or end";
	if (in->nopen == INVITE_OPEN)
		return NULL;
	*why = "out of memory";
	to = &in->open[in->nopen];
	memset(to, 0, sizeof(*to));
	tls_own(agent->tls, &authority);
	snprintf(token.host, sizeof(token.host), "%s", agent->config->host);
	snprintf(token.address, sizeof(token.address), "%s", agent->config->address.text);
	if (RAND_bytes(token.secret, TOKEN_SECRET) != 1 ||
	    !cert_digest(authority, token.authority) ||
	    !cert_token_digest(token.secret, to->digest) || !cert_token_format(&token, text))
		goto cleanse;
	to->until = invite_now() + seconds;
	snprintf(to->host, sizeof(to->host), "%s", host ?: "");
	in->nopen++;
	if (invite_save(agent)) {
		invite_drop(in, in->nopen - 1);
		*why = "it cannot be kept: see the agent's log";
		goto cleanse;
	}
	log_info("invited a host, for %u s%s%s", seconds, host ? ": " : "", host ?: "");
	reply = json_pack("{s:i,s:s,s:I,s:s,s:s*}", "version", 1, "token", text, "seconds",
			  (json_int_t)seconds, "address", token.address, "host", host);
cleanse:
	OPENSSL_cleanse(&token, sizeof(token));
	OPENSSL_cleanse(text, sizeof(text));
	return reply;
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
		/* where it is not known: in the place of the one that asked first */
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
		if (!CRYPTO_memcmp(in->open[i].digest, digest, CERT_DIGEST))
			found = &in->open[i];
	OPENSSL_cleanse(secret, sizeof(secret));
	return found;
}

static bool invite_is_member(struct agent *agent, const char *host)
{
	const struct roster_entry *e = roster_by_host(enrol_roster(agent), host);

	return e && !e->left;
}

/* Addresses of members, this host's first. */
static json_t *invite_addresses(struct agent *agent)
{
	const struct roster *r = enrol_roster(agent);
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

/* The certificate as text, or NULL with the reason. */
static char *invite_sign(struct agent *agent, const char *host, const char *text, const char **why)
{
	X509_REQ *request = cert_request_from_pem(text, strlen(text));
	EVP_PKEY *theirs = NULL, *key = NULL;
	X509 *authority, *cert = NULL;
	char *pem = NULL;

	*why = "the signing request is malformed";
	if (!request)
		goto free_all;
	theirs = cert_request_key(request, host, why);
	if (!theirs)
		goto free_all;
	*why = "the authority's key cannot be used: see the agent's log on the host that invites";
	tls_own(agent->tls, &authority);
	key = authority ? invite_key(agent, authority) : NULL;
	if (key)
		cert = cert_node_new(theirs, host, authority, key, invite_now(), INVITE_DAYS);
	if (cert)
		pem = cert_to_pem(cert);
free_all:
	ERR_clear_error();
	X509_free(cert);
	EVP_PKEY_free(key);
	EVP_PKEY_free(theirs);
	X509_REQ_free(request);
	return pem;
}

static void invite_note(struct invites *in, const char *host)
{
	struct given *to = NULL;

	for (size_t i = 0; i < in->ngiven; i++)
		if (!strcmp(in->given[i].host, host) || (in->ngiven == INVITE_GIVEN && !to))
			to = &in->given[i];
	if (!to)
		to = &in->given[in->ngiven++];
	snprintf(to->host, sizeof(to->host), "%s", host);
	to->until = invite_now() + INVITE_GIVEN_S;
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

static json_t *invite_admit(struct agent *agent, const char *where, struct invite *by,
			    const char *host, const char *request)
{
	const char *why = invite_check_host(agent, by, host);
	struct invite used = *by;
	json_t *answer = NULL;
	char *cert;

	if (why)
		return invite_refuse(where, host, why);
	cert = invite_sign(agent, host, request, &why);
	if (!cert)
		return invite_refuse(where, host, why);
	invite_drop(agent->invites, by - agent->invites->open);
	invite_note(agent->invites, host);
	/* Without this it would work again after a restart. */
	if (invite_save(agent)) {
		agent->invites->open[agent->invites->nopen++] = used;
		free(cert);
		return invite_refuse(where, host, "the host that invites cannot write to its disk");
	}
	answer = invite_welcome(agent, cert);
	log_info("%s at %s has got a certificate", host, where);
	event_tell(agent, "certificate", json_pack("{s:s,s:s}", "host", host, "address", where));
	return answer;
}

json_t *invite_on_visit(struct agent *agent, const char *where, const char *line, size_t length)
{
	const char *secret, *host, *request;
	struct invites *in = agent->invites;
	json_t *o, *answer;
	struct invite *by;

	if (invite_too_often(in, where))
		return invite_refuse(where, "", "too many ask: try again in a second");
	if (!invite_is_open(agent))
		return invite_refuse(where, "",
				     "no invitation is open: the token was used, or has ended");
	o = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	secret = json_string_value(json_object_get(o, "secret"));
	host = json_string_value(json_object_get(o, "host"));
	request = json_string_value(json_object_get(o, "request"));
	by = secret ? invite_find(in, secret) : NULL;
	/* Who has no token learns nothing else. */
	if (!by)
		answer = invite_refuse(
			where, "",
			"the token is wrong, was used, or has ended: ask for another one");
	else if (!host || !cert_is_host(host) || !request)
		answer = invite_refuse(where, "", "host or request is missing or malformed");
	else
		answer = invite_admit(agent, where, by, host, request);
	json_decref(o);
	return answer;
}
