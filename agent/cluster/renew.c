// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/renew.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <event2/event.h>
#include <openssl/err.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/event.h"
#include "base/log.h"
#include "cert/make.h"
#include "cert/name.h"
#include "cert/read.h"
#include "cluster/own_roster.h"
#include "cluster/issue.h"
#include "net/client.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/renewed.h"
#include "net/tls.h"

#define RENEW_ASK_MS 5000
#define RENEW_AGAIN_S 30 /* after an attempt that failed, when it has expired */
#define RENEW_LOOK_S 600 /* looks at least this often, because the clock may be set */
#define RENEW_FLOOD 20 /* requests of one host in RENEW_FLOOD_MS */
#define RENEW_FLOOD_MS 60000
#define RENEW_DAY 86400

struct renew {
	struct event *timer;
	EVP_PKEY *key; /* of the request that is under way; NULL: there is none */
	char why[ISSUE_WHY]; /* "": the last attempt was good */
};

static struct log_limit renew_log;

static void renew_later(struct agent *agent, int64_t seconds)
{
	if (seconds < 1)
		seconds = 1;
	if (seconds > RENEW_LOOK_S)
		seconds = RENEW_LOOK_S;
	clock_arm(agent->renew->timer, (uint64_t)seconds * 1000);
}

static int64_t renew_until(struct agent *agent, int64_t *from)
{
	int64_t until = 0;
	char cn[256];

	*from = 0;
	tls_own_validity(agent->tls, from, &until, cn, sizeof(cn));
	return until;
}

/* Is this host's certificate not valid yet? */
static bool renew_is_early(struct agent *agent)
{
	int64_t from;

	renew_until(agent, &from);
	return clock_wall_ms() / 1000 < from;
}

static void renew_fail(struct agent *agent, const char *why)
{
	struct renew *r = agent->renew;
	int64_t from, left = renew_until(agent, &from) - clock_wall_ms() / 1000;

	EVP_PKEY_free(r->key);
	r->key = NULL;
	snprintf(r->why, sizeof(r->why), "%s", why);
	if (log_allowed(&renew_log))
		log_warning("the certificate of this host %s %lld s%s and could not be renewed: %s",
			    left < 0 ? "expired" : "expires in", llabs(left),
			    left < 0 ? " ago" : "", why);
	renew_later(agent, left < 0 ? RENEW_AGAIN_S : left / 20);
}

/* ---- what comes back ---- */

static void renew_take_effect(struct agent *agent)
{
	char *errors = NULL;
	struct tls *tls;
	size_t size;
	FILE *out = open_memstream(&errors, &size);

	tls = out ? tls_new(agent->config, out) : NULL;
	if (out)
		fclose(out);
	if (tls) {
		tls_use(agent, tls);
		own_roster_renewed(agent);
		agent->renew->why[0] = '\0';
	} else {
		if (errors)
			errors[strcspn(errors, "\n")] = '\0';
		renew_fail(agent, errors ?: "out of memory");
	}
	free(errors);
}

/* NULL, or why it cannot be used. */
static const char *renew_check(struct agent *agent, X509 *cert)
{
	X509 *authority, *own = tls_own(agent->tls, &authority);
	char host[CERT_HOST_MAX + 1];

	if (!cert || X509_check_private_key(cert, agent->renew->key) != 1)
		return "the answer has no certificate of the key that was sent";
	if (!cert_host(cert, host, sizeof(host)) || strcmp(host, agent->config->host) != 0)
		return "the answer has a certificate of another host";
	if (!authority || X509_verify(cert, X509_get0_pubkey(authority)) != 1)
		return "the answer has a certificate of another authority";
	/* Made while the clock was ahead, it is of no use however long it lasts. */
	if (!renew_is_early(agent) && cert_until(cert, NULL) <= cert_until(own, NULL))
		return "a new one would not last longer: the authority's own certificate expires then, "
		       "and must be replaced";
	return NULL;
}

static void renew_on_kept(void *ctx, int err)
{
	struct agent *agent = ctx;
	struct renew *r = agent->renew;
	int64_t from, now = clock_wall_ms() / 1000;

	if (!r)
		return;
	if (err) {
		renew_fail(agent, strerror(-err));
		return;
	}
	EVP_PKEY_free(r->key);
	r->key = NULL;
	renew_take_effect(agent);
	if (*r->why)
		return;
	log_info("the certificate of this host was renewed, for %lld days",
		 (long long)(renew_until(agent, &from) - now) / RENEW_DAY);
	event_tell(agent, "certificate", json_pack("{s:s}", "host", agent->config->host));
	renew_later(agent, RENEW_LOOK_S);
}

static void renew_install(struct agent *agent, const char *pem)
{
	X509 *cert = cert_from_pem(pem, strlen(pem));
	const char *why = renew_check(agent, cert);
	int err = why ? 0 : renewed_keep(agent, cert, agent->renew->key, renew_on_kept);

	ERR_clear_error();
	X509_free(cert);
	if (why || err)
		renew_fail(agent, why ?: strerror(-err));
}

static void renew_on_answer(void *ctx, int status, const json_t *reply)
{
	const char *cert = json_string_value(json_object_get(reply, "certificate"));
	const char *error = json_string_value(json_object_get(reply, "error"));
	const struct peer *from = ctx;
	struct agent *agent = from->agent;
	char why[ISSUE_WHY];

	if (!agent->renew || !agent->renew->key)
		return;
	if (status == 200 && cert) {
		renew_install(agent, cert);
		return;
	}
	snprintf(why, sizeof(why), "%s: %s", from->host,
		 error		  ? error
		 : status	  ? "it does not renew certificates"
		 : *from->trouble ? from->trouble
				  : "no answer");
	renew_fail(agent, why);
}

/* ---- what is asked ---- */

static char *renew_request(struct agent *agent)
{
	X509_REQ *request;
	char *text;

	agent->renew->key = cert_key_new();
	request =
		agent->renew->key ? cert_request_new(agent->renew->key, agent->config->host) : NULL;
	text = request ? cert_request_to_pem(request) : NULL;
	X509_REQ_free(request);
	return text;
}

static void renew_ask(struct agent *agent, struct peer *to, const char *request)
{
	json_t *body = json_pack("{s:s}", "request", request);

	if (!body || link_request(to, "/v1/renew", body, RENEW_ASK_MS, renew_on_answer, to))
		renew_fail(agent, "out of memory");
}

static void renew_sign(struct agent *agent, const char *request)
{
	const char *why;
	char *cert = issue_certificate(agent, agent->config->host, request, &why);

	if (cert)
		renew_install(agent, cert);
	else
		renew_fail(agent, why);
	free(cert);
}

static void renew_now(struct agent *agent)
{
	char origin[CERT_HOST_MAX + 1] = "", why[ISSUE_WHY];
	X509 *authority, *own = tls_own(agent->tls, &authority);
	struct peer *to = NULL;
	char *request;

	if (authority && cert_origin(authority, origin, sizeof(origin)))
		to = peers_by_host(agent, origin);
	if (!own || !EVP_PKEY_is_a(X509_get0_pubkey(own), "EC")) {
		renew_fail(agent, "its key is not one that `ehctl` makes");
		return;
	}
	if (!*agent->config->authority_key && (!to || to->self)) {
		snprintf(why, sizeof(why), "no member is known that has the authority's key%s%s",
			 *origin ? ": the authority was made on " : "", origin);
		renew_fail(agent, why);
		return;
	}
	request = renew_request(agent);
	if (!request)
		renew_fail(agent, "out of memory");
	else if (*agent->config->authority_key)
		renew_sign(agent, request);
	else
		renew_ask(agent, to, request);
	free(request);
}

static void renew_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	int64_t from, until = renew_until(agent, &from), now = clock_wall_ms() / 1000;
	int64_t due = from + (until - from) / 3 * 2;

	/* an answer is waited for: it sets the timer */
	if (agent->renew->key)
		return;
	if (now < due && !renew_is_early(agent))
		renew_later(agent, due - now);
	else
		renew_now(agent);
}

/* Each costs signatures, a look at the authority's key, and a line in the log. */
static bool renew_is_flood(struct peer *from)
{
	const uint64_t now = clock_ms();

	if (!from->renewals_since || now - from->renewals_since >= RENEW_FLOOD_MS) {
		from->renewals_since = now;
		from->renewals = 0;
	}
	if (from->renewals == RENEW_FLOOD)
		return true;
	from->renewals++;
	return false;
}

json_t *renew_on_request(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const char *request = json_string_value(json_object_get(body, "request"));
	char reason[ISSUE_WHY], *cert;
	const char *why = "request is missing";
	json_t *reply;

	if (renew_is_flood(from)) {
		*status = 429;
		return json_pack("{s:s}", "error", "it was asked too often: wait a minute");
	}
	*status = 400;
	if (!request)
		return json_pack("{s:s}", "error", why);
	if (!*agent->config->authority_key || !issue_can(agent, "ehctl invite", reason)) {
		*status = 409;
		return json_pack("{s:s}", "error", "this host does not have the authority's key");
	}
	cert = issue_certificate(agent, from->host, request, &why);
	if (!cert)
		return json_pack("{s:s}", "error", why);
	log_info("%s (%s) got a new certificate", from->text, from->host);
	event_tell(agent, "certificate", json_pack("{s:s}", "host", from->host));
	reply = json_pack("{s:s}", "certificate", cert);
	free(cert);
	*status = reply ? 200 : 503;
	return reply;
}

/* ---- set-up ---- */

const char *renew_trouble(const struct agent *agent)
{
	return agent->renew && *agent->renew->why ? agent->renew->why : NULL;
}

void renew_reload(struct agent *agent)
{
	agent->renew->why[0] = '\0';
	renew_later(agent, 0);
}

int renew_init(struct agent *agent)
{
	struct renew *r = calloc(1, sizeof(*r));

	agent->renew = r;
	if (!r)
		return -ENOMEM;
	r->timer = evtimer_new(agent->base, renew_on_timer, agent);
	if (!r->timer)
		return -ENOMEM;
	renew_later(agent, 0);
	return 0;
}

void renew_exit(struct agent *agent)
{
	struct renew *r = agent->renew;

	if (!r)
		return;
	agent_free_event(&r->timer);
	EVP_PKEY_free(r->key);
	free(r);
	agent->renew = NULL;
}
