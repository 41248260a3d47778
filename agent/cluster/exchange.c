// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/exchange.h"

#include <errno.h>
#include <stdlib.h>

#include "base/agent.h"
#include "base/log.h"
#include "cluster/own_roster.h"
#include "cluster/parts.h"
#include "cluster/report.h"
#include "cluster/roster.h"
#include "cluster/roster_json.h"
#include "cluster/vouch.h"
#include "net/client.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/server_answer.h"

#define EXCHANGE_ASK_MS 2000
#define EXCHANGE_PARTS 65536 /* of one exchange: a peer may say that anything differs */

struct exchange {
	struct peer *with;
	json_t *differ; /* parts */
	size_t next; /* of these */
	exchange_done_fn done;
};

static struct log_limit exchange_log;

static void exchange_end(struct exchange *x, bool reached)
{
	json_decref(x->differ);
	if (x->done)
		x->done(x->with, reached);
	free(x);
}

/* False: it cannot be used, which is in the log. */
static bool exchange_hear(struct peer *from, const json_t *body, const char **why)
{
	*why = own_roster_hear(from->agent, from, body);
	if (*why && log_allowed(&exchange_log))
		log_warning("%s (%s) sent an unusable roster: %s", from->text, from->host, *why);
	return !*why;
}

/* ---- this side asks ---- */

static void exchange_on_part(void *ctx, int status, const json_t *reply);

static void exchange_ask(struct exchange *x)
{
	const struct roster *ours = own_roster(x->with->agent);
	const json_t *part = json_array_get(x->differ, x->next);
	json_t *body;

	if (!part || x->next >= EXCHANGE_PARTS) {
		exchange_end(x, true);
		return;
	}
	x->next++;
	body = parts_entries(ours, (uint32_t)json_integer_value(part), NULL);
	if (!body ||
	    link_request(x->with, "/v1/roster/parts", body, EXCHANGE_ASK_MS, exchange_on_part, x))
		exchange_end(x, false);
}

static void exchange_on_part(void *ctx, int status, const json_t *reply)
{
	struct exchange *x = ctx;
	const char *why;

	if (status == 200 && exchange_hear(x->with, reply, &why))
		exchange_ask(x);
	else
		exchange_end(x, false);
}

static void exchange_on_all(void *ctx, int status, const json_t *reply)
{
	struct exchange *x = ctx;
	const char *why;

	exchange_end(x, status == 200 && exchange_hear(x->with, reply, &why));
}

/* An older release knows no parts. */
static void exchange_all(struct exchange *x)
{
	json_t *ours = vouch_json(own_roster(x->with->agent));

	if (!ours || link_request(x->with, "/v1/roster", ours, EXCHANGE_ASK_MS, exchange_on_all, x))
		exchange_end(x, false);
}

static void exchange_on_sums(void *ctx, int status, const json_t *reply)
{
	struct exchange *x = ctx;
	const char *why;

	if (status == 404) {
		exchange_all(x);
	} else if (status == 200 && exchange_hear(x->with, reply, &why)) {
		x->differ = json_incref(json_object_get(reply, "differ"));
		exchange_ask(x);
	} else {
		exchange_end(x, false);
	}
}

int exchange_begin(struct peer *with, exchange_done_fn done)
{
	struct exchange *x = calloc(1, sizeof(*x));
	json_t *sums = x ? parts_sums(own_roster(with->agent)) : NULL;

	if (!sums)
		goto free_exchange;
	*x = (struct exchange){ .with = with, .done = done };
	if (!link_request(with, "/v1/roster/parts", sums, EXCHANGE_ASK_MS, exchange_on_sums, x))
		return 0;
free_exchange:
	free(x);
	return -ENOMEM;
}

/* ---- this side is asked ---- */

static json_t *exchange_refuse(const char *why, int *status)
{
	*status = 400;
	return server_answer_error(why);
}

json_t *exchange_on_get(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	json_t *reply = vouch_json(own_roster(agent));

	if (!reply)
		*status = 503;
	return reply;
}

json_t *exchange_on_whole(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const char *why;

	return exchange_hear(from, body, &why) ? exchange_on_get(agent, from, NULL, status)
					       : exchange_refuse(why, status);
}

json_t *exchange_on_parts(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const json_t *sums = json_object_get(body, "sums");
	struct roster *has;
	const char *why;
	uint64_t part;
	json_t *reply;

	if (!sums && report_number(body, "part", UINT32_MAX, &part))
		return exchange_refuse("sums or part is missing", status);
	if (!exchange_hear(from, body, &why))
		return exchange_refuse(why, status);
	if (sums) {
		reply = parts_differ(own_roster(agent), sums, &why);
		return reply ?: exchange_refuse(why, status);
	}
	has = roster_from_json(body, &why);
	reply = has ? parts_entries(own_roster(agent), (uint32_t)part, has) : NULL;
	roster_free(has);
	if (!reply)
		*status = 503;
	return reply;
}
