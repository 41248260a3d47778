// SPDX-License-Identifier: GPL-2.0-or-later
/* The places of guests, and of those that may come. */

#include "executor/reserve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "cluster/hierarchy.h"
#include "net/peer.h"
#include "wire/attach.h"
#include "wire/clean.h"
#include "wire/view.h"

static struct reservations *reserve_all(const struct peer *from)
{
	return from->agent->reservations;
}

void reserve_free(struct reservation *r)
{
	memory_unclaim(&r->claim);
	agent_free_event(&r->lease);
	free(r->command);
	free(r);
}

void reserve_end(struct reservation *r)
{
	if (!r)
		return;
	LL_DELETE(reserve_all(r->from)->list, r);
	r->from->places--;
	reserve_free(r);
}

void reserve_enter(struct reservation *r)
{
	struct peer *from = r->from;

	memory_claim(from->agent, &r->claim);
	from->places++;
	LL_PREPEND(from->agent->reservations->list, r);
}

/*
 * A place that only waits for its job is taken from the home that has the most, for one that has
 * fewer: so no home keeps the others out by reserving. The task that loses it runs at home. Returns
 * whether there is room now.
 */
static bool reserve_make_room(const struct peer *from)
{
	static struct log_limit limit;
	struct reservation *oldest = NULL;

	/* new ones come first in the list */
	for (struct reservation *r = reserve_all(from)->list; r; r = r->next)
		if (r->state == RESERVE_WAITING && r->from->places > from->places + 1 &&
		    (!oldest || r->from->places >= oldest->from->places))
			oldest = r;
	if (!oldest)
		return false;
	if (log_allowed(&limit))
		log_warning("%s (%s) holds %u places of %u: it loses one to %s",
			    peer_code(oldest->from), peer_host(oldest->from), oldest->from->places,
			    from->agent->config->guests, peer_code(from));
	reserve_end(oldest);
	return true;
}

static void reserve_on_lease(evutil_socket_t fd, short what, void *arg)
{
	struct reservation *r = arg;
	struct agent *agent = r->from->agent;

	log_debug("%s: reservation expired without a job", r->id);
	reserve_end(r);
	hierarchy_touch(agent);
}

struct reservation *reserve_claim(const struct peer *from, const char *token)
{
	struct reservation *r;

	for (r = reserve_all(from)->list; r; r = r->next)
		if (r->state == RESERVE_WAITING && r->from == from && !strcmp(r->token, token))
			break;
	if (!r)
		return NULL;
	event_del(r->lease);
	r->state = RESERVE_CLAIMED;
	return r;
}

struct reservation *reserve_next(const struct agent *agent, const struct reservation *r)
{
	return r ? r->next : agent->reservations->list;
}

unsigned int reserve_waiting(const struct peer *from)
{
	unsigned int n = 0;

	for (const struct reservation *r = reserve_all(from)->list; r; r = r->next)
		n += r->state == RESERVE_WAITING && r->from == from;
	return n;
}

uint64_t reserve_starting_load(struct agent *agent)
{
	uint64_t load = 0;

	for (const struct reservation *r = agent->reservations->list; r; r = r->next)
		if (r->state == RESERVE_CLAIMED)
			load += r->size;
	return load;
}

uint64_t reserve_load(struct agent *agent)
{
	uint64_t load = reserve_starting_load(agent);

	for (const struct reservation *r = agent->reservations->list; r; r = r->next)
		if (r->state == RESERVE_WAITING)
			load += r->size;
	return load;
}

static unsigned int reserve_count(struct agent *agent, enum reserve_state from,
				  enum reserve_state to)
{
	unsigned int n = 0;

	for (const struct reservation *r = agent->reservations->list; r; r = r->next)
		n += r->state >= from && r->state <= to;
	return n;
}

unsigned int reserve_guests(struct agent *agent)
{
	return reserve_count(agent, RESERVE_CLAIMED, RESERVE_RUNNING);
}

bool reserve_has_room(const struct peer *from)
{
	struct agent *agent = from->agent;

	return reserve_count(agent, RESERVE_WAITING, RESERVE_RUNNING) +
			       agent->reservations->checking <
		       agent->config->guests ||
	       reserve_make_room(from);
}

bool reserve_runs(struct agent *agent, const char *id)
{
	for (const struct reservation *r = agent->reservations->list; r; r = r->next)
		if (r->state != RESERVE_WAITING && !strcmp(r->id, id))
			return true;
	return false;
}

int reserve_init(struct agent *agent)
{
	agent->reservations = calloc(1, sizeof(*agent->reservations));
	return agent->reservations ? 0 : -ENOMEM;
}

void reserve_exit(struct agent *agent)
{
	struct reservation *r, *next;

	if (!agent->reservations)
		return;
	while ((r = agent->reservations->list)) {
		next = r->next;
		reserve_end(r);
		agent->reservations->list = next; /* it is; linters do not see that */
	}
	free(agent->reservations);
	agent->reservations = NULL;
}

struct reservation *reserve_new(struct peer *from, const struct reserve_request *q)
{
	struct reservation *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->from = from;
	r->uid = r->here = q->uid;
	r->size = q->size;
	r->claim.peak = q->memory;
	r->claim.guest = r->id;
	r->view = q->view;
	r->by_credit = q->by_credit;
	r->credit = q->credit;
	snprintf(r->id, sizeof(r->id), "%s", q->id);
	snprintf(r->user, sizeof(r->user), "%s", q->user ? q->user : "");
	r->command = strdup(q->command);
	r->lease = evtimer_new(from->agent->base, reserve_on_lease, r);
	if (r->command && r->lease)
		return r;
	reserve_free(r);
	return NULL;
}

struct reservation *reserve_adopt(struct peer *from, const struct attach *who, uid_t uid,
				  uid_t here)
{
	const struct reserve_request q = {
		.id = who->id,
		.command = who->command,
		.uid = uid,
		.view = VIEW_SHARED,
	};
	struct reservation *r;

	if (!reserve_request_id_is_good(from, q.id) || reserve_runs(from->agent, q.id))
		return NULL;
	r = reserve_new(from, &q);
	if (!r)
		return NULL;
	r->here = here;
	/* From a user's process. */
	clean_text(r->command, strlen(r->command) + 1, q.command);
	r->state = who->pid ? RESERVE_RUNNING : RESERVE_CLAIMED;
	reserve_enter(r);
	return r;
}
