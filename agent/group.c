// SPDX-License-Identifier: GPL-2.0-or-later
/* The controller's role: lib/eh fed with the members' reports. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent.h"
#include "clock.h"
#include "control.h"
#include "group.h"
#include "h2.h"

struct group_member {
	struct peer *peer;
	bool joined;
	uint64_t told; /* epoch of the last threshold meant for it */
	struct report last;
};

static struct eh_group *group;
static struct group_member *group_members;
static unsigned int group_size;
/* Epochs go on where the controller before us, or we in an earlier life, had got to. */
static uint64_t group_base;

/* What a step wants done. It is done after the step: it may lead to the next one. */
struct group_updates {
	struct eh_update *list;
	size_t n;
	bool lost;
};

static void group_emit(void *ctx, const struct eh_update *update)
{
	struct group_updates *to = ctx;
	struct eh_update *more = realloc(to->list, (to->n + 1) * sizeof(*more));

	if (!more) {
		to->lost = true;
		return;
	}
	to->list = more;
	to->list[to->n++] = *update;
}

static struct group_member *group_member_of(const struct peer *peer)
{
	return &group_members[eh_code_digit(&agent.config->topology, peer->code)];
}

uint64_t group_epoch(void)
{
	struct eh_sums sums;

	if (!group)
		return 0;
	eh_group_sums(group, &sums);
	return group_base + sums.epoch;
}

static void group_on_told(void *ctx, int status, const json_t *reply)
{
	/* if it was lost: the member's next report shows the old epoch and is answered with this */
}

static void group_tell(const struct eh_update *update)
{
	struct group_member *m = &group_members[update->child];
	json_t *body;

	if (!m->joined)
		return;
	m->told = group_base + update->epoch;
	body = json_pack("{s:I,s:I,s:I}", "epoch", (json_int_t)m->told, "threshold",
			 (json_int_t)update->threshold, "length", (json_int_t)update->length);
	if (!body)
		return;
	if (m->peer->self) {
		int status = 200;

		json_decref(control_on_threshold(m->peer, body, &status));
		json_decref(body);
		return;
	}
	h2_request(m->peer, "/v1/threshold", body, agent.config->heartbeat, group_on_told, NULL);
}

/* One event; `choice` is for arrivals. */
static int group_step(const struct eh_event *event, struct group_choice *choice)
{
	struct group_updates updates = { 0 };
	int err = eh_step(group, event, clock_ms(), group_emit, &updates);

	if (updates.lost)
		log_error("no memory for all a step of the controller wants done");
	for (size_t i = 0; i < updates.n; i++) {
		const struct eh_update *u = &updates.list[i];

		if (u->type == EH_UP_THRESHOLD) {
			group_tell(u);
		} else if (u->type == EH_UP_PLACE && choice) {
			choice->to = group_members[u->child].peer;
			choice->probes = u->probes;
			choice->found = u->found;
		} else if (u->type == EH_UP_NONE && choice) {
			choice->probes = u->probes;
		}
	}
	free(updates.list);
	return err;
}

int group_begin(void)
{
	struct eh_group_options options = {
		.n = agent.config->topology.n,
		.least = true,
		.grant_ms = agent.config->lease,
		.calm_ms = agent.config->lease,
	};

	if (group)
		return 0;
	if (getrandom(&options.seed, sizeof(options.seed), GRND_NONBLOCK) < 0)
		options.seed = clock_us();
	group_size = 1u << options.n;
	group_members = calloc(group_size, sizeof(*group_members));
	if (!group_members)
		return -ENOMEM;
	group = eh_group_new(&options);
	if (!group) {
		free(group_members);
		return -ENOMEM;
	}
	group_base = control_epoch();
	return 0;
}

void group_end(void)
{
	if (!group)
		return;
	eh_group_free(group);
	free(group_members);
	group = NULL;
	group_members = NULL;
}

bool group_active(void)
{
	return group;
}

void group_leave(struct peer *peer)
{
	struct group_member *m;

	if (!group)
		return;
	m = group_member_of(peer);
	if (!m->joined)
		return;
	m->joined = false;
	group_step(&(struct eh_event){ .type = EH_EV_LEAVE, .child = m - group_members }, NULL);
}

void group_tick(void)
{
	if (group)
		group_step(&(struct eh_event){ .type = EH_EV_TICK }, NULL);
}

static int group_join(struct group_member *m, const struct report *r)
{
	int err = group_step(&(struct eh_event){ .type = EH_EV_JOIN,
						 .child = m - group_members,
						 .load = r->load,
						 .threshold = r->threshold,
						 .length = r->length,
						 .floor = r->floor,
						 .capacity = r->capacity },
			     NULL);

	if (!err && !m->joined && r->epoch > m->told)
		m->told = r->epoch;
	m->joined = !err;
	return err;
}

static int group_seen(const json_t *seen, uint64_t ids[REPORT_SEEN_MAX])
{
	const json_t *id;
	size_t i;
	int n = 0;

	json_array_foreach((json_t *)seen, i, id)
		if (json_is_string(id) && n < REPORT_SEEN_MAX)
			ids[n++] = report_id(json_string_value(id));
	return n;
}

int group_report(struct peer *from, const struct report *r, const json_t *seen,
		 struct group_order *order)
{
	uint64_t ids[REPORT_SEEN_MAX];
	struct group_member *m;
	struct eh_child child;
	int err = 0;

	if (!group)
		return -ENOENT;
	m = group_member_of(from);
	m->peer = from;
	*order = (struct group_order){ r->epoch, r->threshold, r->length };
	/* a member we cannot reach would get neither thresholds nor tasks */
	if (!from->up && !from->self)
		return 0;
	if (r->epoch > group_epoch())
		group_base += r->epoch - group_epoch();
	/* With our last epoch in force, another threshold is its user's wish. */
	if (!m->joined || eh_group_child(group, m - group_members, &child) ||
	    child.capacity != r->capacity || child.floor != r->floor ||
	    (r->epoch >= m->told && (child.threshold != r->threshold || child.length != r->length)))
		err = group_join(m, r);
	if (err)
		return err;
	if (m->last.draining != r->draining || eh_group_child(group, m - group_members, &child) ||
	    child.draining != r->draining)
		err = group_step(&(struct eh_event){ .type = EH_EV_DRAIN,
						     .child = m - group_members,
						     .flag = r->draining },
				 NULL);
	m->last = *r;
	if (!err)
		err = group_step(&(struct eh_event){ .type = EH_EV_REPORT,
						     .child = m - group_members,
						     .load = r->load,
						     .seen = ids,
						     .nseen = group_seen(seen, ids) },
				 NULL);
	if (!err && m->joined && !eh_group_child(group, m - group_members, &child))
		*order = (struct group_order){ m->told, child.threshold, child.length };
	return err;
}

int group_ask(struct peer *from, const char *id, uint64_t size, uint64_t load,
	      struct peer *const *tried, unsigned int ntried, struct group_choice *out)
{
	uint64_t bitmap[(1u << EH_N_MAX) / 64] = { 0 };
	struct group_member *m;
	struct eh_child home;
	unsigned int child;
	int err;

	memset(out, 0, sizeof(*out));
	if (!group)
		return -ENOENT;
	m = group_member_of(from);
	if (!m->joined)
		return -ENOENT;
	child = m - group_members;
	for (unsigned int i = 0; i < ntried; i++) {
		unsigned int digit = eh_code_digit(&agent.config->topology, tried[i]->code);

		bitmap[digit / 64] |= 1ull << digit % 64;
	}
	m->last.load = load;
	group_step(&(struct eh_event){ .type = EH_EV_REPORT, .child = child, .load = load }, NULL);
	err = group_step(&(struct eh_event){ .type = EH_EV_ARRIVE,
					     .child = child,
					     .id = report_id(id),
					     .size = size,
					     .tried = bitmap },
			 out);
	if (err)
		return err;
	/* at home it is best off when home is no sender, be it by a threshold raised just now */
	if (out->to)
		out->reason = EHS_REASON_SENDER;
	else if (!eh_group_child(group, child, &home) && home.state != EH_SENDER)
		out->reason = EHS_REASON_NOT_SENDER;
	else
		out->reason = EHS_REASON_NO_RECEIVER;
	return 0;
}

void group_failed(const char *id, struct peer *to)
{
	struct group_member *m;

	if (!group)
		return;
	m = group_member_of(to);
	if (m->joined)
		group_step(&(struct eh_event){ .type = EH_EV_FAILED,
					       .child = m - group_members,
					       .id = report_id(id) },
			   NULL);
}

json_t *group_nodes(void)
{
	json_t *nodes = json_array();
	struct peer *p;

	if (!group) {
		json_decref(nodes);
		return NULL;
	}
	for (p = peer_next(NULL); p; p = peer_next(p)) {
		struct group_member *m = group_member_of(p);
		struct eh_child child;
		struct report r;

		if (p->self) {
			json_array_append_new(nodes, control_own_node());
			continue;
		}
		if (!m->joined || m->peer != p ||
		    eh_group_child(group, m - group_members, &child)) {
			json_array_append_new(nodes,
					      report_node(NULL, p->text, peer_host(p), NULL));
			continue;
		}
		r = m->last;
		json_array_append_new(nodes, report_node(&r, p->text, peer_host(p), NULL));
	}
	return nodes;
}
