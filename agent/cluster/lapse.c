// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/lapse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <event2/event.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/keep.h"
#include "base/log.h"
#include "cluster/own_roster.h"
#include "cluster/roster.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server.h"

#define LAPSE_FILE "unseen.json"
#define LAPSE_FILE_MAX (4u << 20)
#define LAPSE_FORMAT 1
#define LAPSE_BEATS 5 /* heartbeats between two rounds */
#define LAPSE_VAIN 3 /* looks in vain before any code is given away, after a restart, too */
#define LAPSE_ROUND_MAX 60000 /* ms */
#define LAPSE_LOOKS 64 /* hosts in one round */
#define LAPSE_ASK_MS 5000
/* Of one look: while this host slept, nobody was seen. */
#define LAPSE_STEP_MS 900000
/* A host that nobody has looked at for longer may have lived meanwhile. */
#define LAPSE_GAP_S 3600
#define LAPSE_SAVE_MS 600000
#define LAPSE_DAY_MS 86400000.0

struct lapse {
	struct event *timer;
	struct peer *last; /* looked at; NULL: none yet */
	bool watching; /* in the last round this host was the top */
	int64_t watched; /* s since 1970, of the last round as the top; 0: never */
	uint64_t saved_at; /* ms, monotonic */
};

static struct log_limit lapse_log;

static void lapse_schedule(struct agent *agent)
{
	uint64_t ms = (uint64_t)LAPSE_BEATS * agent->config->heartbeat;

	clock_arm(agent->lapse->timer, ms < LAPSE_ROUND_MAX ? ms : LAPSE_ROUND_MAX);
}

/* ---- what is kept ---- */

static void lapse_on_saved(void *ctx, int err)
{
	const struct agent *agent = ctx;

	if (err && log_allowed(&lapse_log))
		log_warning("%s beside %s: %s: after a restart the days for which hosts were not "
			    "seen are counted from the beginning",
			    LAPSE_FILE, agent->config->state, strerror(-err));
}

static void lapse_save(struct agent *agent)
{
	json_t *hosts = json_object(), *file;
	char *text = NULL;
	struct peer *p;
	int err;

	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		if (p->unseen_ms)
			json_object_set_new(hosts, p->host,
					    json_integer((json_int_t)p->unseen_ms / 1000));
	file = json_pack("{s:i,s:I,s:o}", "format", LAPSE_FORMAT, "watched",
			 (json_int_t)agent->lapse->watched, "hosts", hosts);
	if (file)
		text = json_dumps(file, JSON_COMPACT);
	err = text ? keep_note(agent, LAPSE_FILE, text, lapse_on_saved, agent) : -ENOMEM;
	if (err)
		lapse_on_saved(agent, err);
	free(text);
	json_decref(file);
	agent->lapse->saved_at = clock_ms();
}

/* One that cannot be read costs the dead a longer wait, and nothing else. */
static void lapse_load(struct agent *agent)
{
	char *text = keep_read(agent->config, LAPSE_FILE, LAPSE_FILE_MAX);
	json_t *file = text ? json_loads(text, 0, NULL) : NULL, *hosts;
	struct peer *p;

	hosts = json_object_get(file, "hosts");
	if (json_integer_value(json_object_get(file, "format")) != LAPSE_FORMAT)
		goto drop_file;
	agent->lapse->watched = json_integer_value(json_object_get(file, "watched"));
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		const json_int_t s = json_integer_value(json_object_get(hosts, p->host));

		p->unseen_ms = s > 0 && s < INT64_MAX / 1000 ? (uint64_t)s * 1000 : 0;
	}
drop_file:
	json_decref(file);
	free(text);
}

/* ---- looking ---- */

static uint64_t lapse_limit(const struct agent *agent)
{
	return (uint64_t)(agent->config->code_days * LAPSE_DAY_MS);
}

/* Whatever it answers: it has shown its certificate since it was looked at, or is connected. */
static bool lapse_sees(const struct peer *p)
{
	return p->up || (p->identified_at && p->identified_at >= p->watched_at) ||
	       server_hears(p->agent, p);
}

/* On a side of a split that is not the larger one nothing is known of the others. */
static bool lapse_is_majority(const struct agent *agent, unsigned int *alive, unsigned int *all)
{
	struct peer *p;

	*alive = *all = 0;
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		++*all;
		*alive += p->self || p->alive || p->up;
	}
	return 2 * *alive > *all;
}

static void lapse_add(struct peer *p, uint64_t ms)
{
	const uint64_t limit = lapse_limit(p->agent);
	const bool before = p->unseen_ms >= limit;

	p->unseen_ms += ms < LAPSE_STEP_MS ? ms : LAPSE_STEP_MS;
	if (!before && p->unseen_ms >= limit)
		log_info("%s (%s) has not been seen for %u days: its code is given away when no "
			 "other is free",
			 p->text, p->host, p->agent->config->code_days);
}

static void lapse_look(struct peer *p, bool majority)
{
	const uint64_t now = clock_ms();

	if (lapse_sees(p)) {
		p->alive = true;
		p->unseen_ms = 0;
		p->vain = 0;
	} else if (p->probed) {
		p->alive = false;
		if (++p->vain == LAPSE_VAIN)
			log_info("%s (%s) is not seen any more: %s", p->text, p->host, p->trouble);
		if (majority)
			lapse_add(p, now - p->watched_at);
	}
	p->watched_at = now;
	/* If it lives, it is identified, whatever it answers: link.c. */
	p->probed = !p->up && !server_hears(p->agent, p) &&
		    !link_request(p, "/v1/guests", NULL, LAPSE_ASK_MS, NULL, NULL);
}

/* From here on this host is the top. Its knowledge is good if it is fresh. */
static void lapse_begin(struct agent *agent)
{
	struct lapse *l = agent->lapse;
	const int64_t gap = clock_wall_ms() / 1000 - l->watched;
	struct peer *p;

	if (l->watched && (gap < 0 || gap > LAPSE_GAP_S))
		log_info(
			"as the top controller: nobody has checked for %lld s which hosts are dead: "
			"their days are counted from zero again",
			(long long)gap);
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p)) {
		if (gap < 0 || gap > LAPSE_GAP_S)
			p->unseen_ms = 0;
		p->probed = p->alive = false;
		p->watched_at = 0;
		p->vain = 0;
	}
	l->watching = true;
	l->watched = clock_wall_ms() / 1000;
	lapse_save(agent);
}

static void lapse_round(struct agent *agent)
{
	unsigned int alive, all;
	const bool majority = lapse_is_majority(agent, &alive, &all);
	struct lapse *l = agent->lapse;
	struct peer *p = l->last, *first = NULL;

	for (unsigned int i = 0; i < LAPSE_LOOKS; i++) {
		p = (p ? peers_next(agent, p) : NULL) ?: peers_next(agent, NULL);
		if (!p || p == first)
			break;
		first = first ?: p;
		l->last = p;
		if (!p->self)
			lapse_look(p, majority);
	}
	l->watched = clock_wall_ms() / 1000;
	if (clock_ms() - l->saved_at >= LAPSE_SAVE_MS)
		lapse_save(agent);
}

static void lapse_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	struct peer *top = own_roster_top(agent);

	lapse_schedule(agent);
	if (!agent->config->code_days || !top || !top->self) {
		agent->lapse->watching = false;
		return;
	}
	if (!agent->lapse->watching)
		lapse_begin(agent);
	lapse_round(agent);
}

/* ---- deciding ---- */

static bool lapse_is_over(const struct peer *p)
{
	return !p->self && p->vain >= LAPSE_VAIN && !lapse_sees(p) &&
	       clock_ms() - p->watched_at < LAPSE_STEP_MS && p->unseen_ms >= lapse_limit(p->agent);
}

struct peer *lapse_find(const struct agent *agent, const struct roster *held, const char *host)
{
	struct peer *p, *found = NULL;
	unsigned int alive, all;

	if (!agent->lapse || !agent->lapse->watching || !agent->config->code_days)
		return NULL;
	for (p = peers_next(agent, NULL); p; p = peers_next(agent, p))
		if (lapse_is_over(p) && (!found || p->unseen_ms > found->unseen_ms) &&
		    !roster_is_held(own_roster(agent), held, host, p->code.index))
			found = p;
	if (!found || lapse_is_majority(agent, &alive, &all))
		return found;
	if (log_allowed(&lapse_log))
		log_warning("%s (%s) may be dead, but this host has seen %u of %u members, which "
			    "is not a majority: it gives no code to %s",
			    found->text, found->host, alive, all, host);
	return NULL;
}

double lapse_days(const struct peer *p)
{
	return (double)p->unseen_ms / LAPSE_DAY_MS;
}

/* ---- set-up ---- */

int lapse_init(struct agent *agent)
{
	agent->lapse = calloc(1, sizeof(*agent->lapse));
	if (!agent->lapse)
		return -ENOMEM;
	agent->lapse->timer = evtimer_new(agent->base, lapse_on_timer, agent);
	if (!agent->lapse->timer)
		return -ENOMEM;
	agent->lapse->saved_at = clock_ms();
	lapse_load(agent);
	lapse_schedule(agent);
	return 0;
}

void lapse_exit(struct agent *agent)
{
	struct lapse *l = agent->lapse;

	if (!l)
		return;
	if (l->watching && agent->config->code_days)
		lapse_save(agent);
	agent_free_event(&l->timer);
	free(l);
	agent->lapse = NULL;
}
