// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/seat.h"

#include <errno.h>
#include <stdlib.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "cluster/patience.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/usage.h"
#include "plan/gang/protocol.h"

#define SEAT_LEAST_MS 3000 /* an offer for less would end while another host is waited for */

/* How long this host stands offered to a home: else one that only asks could keep all others out. */
static const struct patience seat_patience = { SEAT_OFFER_MS, 20 };

struct seat {
	struct gang_host host;
	struct event *timer; /* its lease or offer ends */
	uint32_t home; /* node that may speak for the gang; of no meaning while it is free */
	uint64_t offered_at;
};

struct seats {
	struct seat list[CONFIG_GANGS_MAX];
};

struct seat_sent {
	struct gang_message message;
	bool any;
};

static struct log_limit seat_log;

static void seat_on_message(void *ctx, const struct gang_message *message)
{
	struct seat_sent *sent = ctx;

	sent->message = *message;
	sent->any = true;
}

static struct seat *seat_all(const struct agent *agent)
{
	return agent->seats->list;
}

/* Wakes this agent at the end of the lease, or of the offer. */
static void seat_wait(struct seat *s)
{
	uint64_t now = clock_ms(), ms = s->host.until > now ? s->host.until - now : 1;

	if (s->host.state == GANG_FREE)
		event_del(s->timer);
	else
		clock_arm(s->timer, ms);
}

static void seat_changed(struct agent *agent, struct seat *s, enum gang_host_state was)
{
	struct peer *home = peers_by_code(agent, (struct eh_code){ 0, s->home });

	if (was == GANG_OFFERED && home)
		patience_spend(&seat_patience, &home->offers_back_at, s->offered_at, clock_ms());
	if (s->host.state == GANG_OFFERED)
		s->offered_at = clock_ms();
	if (s->host.state == GANG_OCCUPIED)
		usage_gang_comes(agent);
	if (was == GANG_OCCUPIED)
		usage_gang_ended(agent);
}

static bool seat_step(struct agent *agent, struct seat *s, const struct gang_message *m,
		      struct seat_sent *sent)
{
	const enum gang_host_state was = s->host.state;

	*sent = (struct seat_sent){ 0 };
	gang_host_step(&s->host, m, m && m->type == GANG_REQUEST ? usage_get(agent) : 0, clock_ms(),
		       seat_on_message, sent);
	if (s->host.state != was)
		seat_changed(agent, s, was);
	seat_wait(s);
	return sent->any;
}

/* Lets leases end that are over. */
static void seat_refresh(struct agent *agent)
{
	struct seat_sent none;

	for (struct seat *s = seat_all(agent); s < seat_all(agent) + CONFIG_GANGS_MAX; s++) {
		bool offered = s->host.state == GANG_OFFERED;

		if (s->host.state == GANG_FREE)
			continue;
		seat_step(agent, s, NULL, &none);
		if (s->host.state == GANG_FREE && log_allowed(&seat_log))
			log_info("a gang of node %u %s: this node is free", s->home,
				 offered ? "did not come" : "did not renew its lease");
	}
}

static void seat_on_timer(evutil_socket_t fd, short what, void *arg)
{
	seat_refresh(arg);
}

static struct seat *seat_of(struct agent *agent, const struct peer *home, uint64_t tid)
{
	for (struct seat *s = seat_all(agent); s < seat_all(agent) + CONFIG_GANGS_MAX; s++)
		if (s->host.state != GANG_FREE && s->host.tid == tid && s->home == home->code.index)
			return s;
	return NULL;
}

/* A free place for a gang of that node. With more than one place, no node gets all of them. */
static struct seat *seat_free(struct agent *agent, const struct peer *home)
{
	const unsigned int all = agent->config->gangs, most = all > 1 ? (all + 1) / 2 : all;
	struct seat *found = NULL;
	unsigned int taken = 0, has = 0;

	for (struct seat *s = seat_all(agent); s < seat_all(agent) + CONFIG_GANGS_MAX; s++) {
		if (s->host.state != GANG_FREE) {
			taken++;
			has += s->home == home->code.index;
		} else if (!found) {
			found = s;
		}
	}
	return taken < all && has < most ? found : NULL;
}

bool seat_request(struct agent *agent, const struct peer *home, uint64_t tid, double threshold,
		  uint64_t *offer, double *utilization)
{
	struct gang_message m = { .type = GANG_REQUEST, .tid = tid, .threshold = threshold };
	struct seat_sent sent;
	struct seat *s;
	uint32_t left;

	seat_refresh(agent);
	left = patience_left(&seat_patience, home->offers_back_at, clock_ms());
	s = seat_of(agent, home, tid);
	if (!s && !agent->draining && left >= SEAT_LEAST_MS)
		s = seat_free(agent, home);
	if (!s)
		return false;
	s->host.offer_lease = left;
	if (!seat_step(agent, s, &m, &sent))
		return false;
	s->home = home->code.index;
	*offer = sent.message.offer;
	*utilization = sent.message.utilization;
	return true;
}

int seat_occupy(struct agent *agent, const struct peer *home, uint64_t tid, uint64_t offer,
		uint64_t *stamp, uint32_t *lease)
{
	const struct gang_seat seat = { agent->self.index, offer };
	struct gang_message m = { .type = GANG_OCCUPY,
				  .tid = tid,
				  .stamp = *stamp,
				  .lease = *lease,
				  .seats = &seat,
				  .nseats = offer > 0 };
	struct seat_sent sent;
	struct seat *s;
	bool had;

	seat_refresh(agent);
	s = seat_of(agent, home, tid);
	had = s && s->host.state == GANG_OCCUPIED;
	/* perhaps it was here before this agent started: the machine knows whether to believe that */
	if (!s && offer)
		s = seat_free(agent, home);
	if (!s)
		return -ENOENT;
	/* it may have been set since */
	s->host.lease_most = agent->config->gang_lease;
	if (!seat_step(agent, s, &m, &sent))
		return -ENOENT;
	s->home = home->code.index;
	if (!had && log_allowed(&seat_log))
		log_info("occupied by a gang of %s (%s)", peer_code(home), peer_host(home));
	*stamp = sent.message.stamp;
	*lease = sent.message.lease;
	return 0;
}

void seat_release(struct agent *agent, const struct peer *home, uint64_t tid, uint64_t offer)
{
	struct gang_message m = { .type = GANG_RELEASE,
				  .tid = tid,
				  .host = agent->self.index,
				  .single = offer > 0,
				  .offer = offer };
	struct seat *s = seat_of(agent, home, tid);
	struct seat_sent none;

	if (!s)
		return;
	if (s->host.state == GANG_OCCUPIED && log_allowed(&seat_log))
		log_info("a gang of %s (%s) has ended: this node is free", peer_code(home),
			 peer_host(home));
	seat_step(agent, s, &m, &none);
}

void seat_forget(const struct peer *home)
{
	struct agent *agent = home->agent;

	for (struct seat *s = seat_all(agent); s < seat_all(agent) + CONFIG_GANGS_MAX; s++) {
		if (s->host.state == GANG_FREE || s->home != home->code.index)
			continue;
		if (log_allowed(&seat_log))
			log_info("%s (%s) has left, and its gang with it", peer_code(home),
				 peer_host(home));
		seat_release(agent, home, s->host.tid, 0);
	}
}

json_t *seat_json(struct agent *agent)
{
	json_t *list = json_array();
	uint64_t now = clock_ms();

	seat_refresh(agent);
	for (struct seat *s = seat_all(agent); s < seat_all(agent) + CONFIG_GANGS_MAX; s++) {
		const struct peer *home = peers_by_code(agent, (struct eh_code){ 0, s->home });

		if (s->host.state == GANG_FREE)
			continue;
		json_array_append_new(list, json_pack("{s:I, s:s, s:b, s:f}", "id",
						      (json_int_t)s->host.tid, "home",
						      home ? peer_code(home) : "", "offered",
						      (int)(s->host.state == GANG_OFFERED), "lease",
						      (double)(s->host.until - now) / 1000.0));
	}
	return list;
}

int seat_init(struct agent *agent)
{
	const int64_t wall = clock_wall_ms();

	agent->seats = calloc(1, sizeof(*agent->seats));
	if (!agent->seats)
		return -ENOMEM;
	for (struct seat *s = seat_all(agent); s < seat_all(agent) + CONFIG_GANGS_MAX; s++) {
		s->timer = evtimer_new(agent->base, seat_on_timer, agent);
		if (!s->timer)
			return -ENOMEM;
		gang_host_begin(&s->host, agent->self.index, SEAT_OFFER_MS, SEAT_LEASE_MS);
		/* greater than those of an agent before */
		s->host.offer = wall > 0 ? (uint64_t)wall : 1;
		gang_host_adopts(&s->host, clock_ms() + SEAT_LEASE_MS);
	}
	return 0;
}

void seat_exit(struct agent *agent)
{
	for (unsigned int i = 0; agent->seats && i < CONFIG_GANGS_MAX; i++)
		agent_free_event(&agent->seats->list[i].timer);
	free(agent->seats);
	agent->seats = NULL;
}
