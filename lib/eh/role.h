/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file role.h  Inside of struct eh_member; for lib/eh only. */
#ifndef EH_ROLE_H
#define EH_ROLE_H

#include "member.h"

/* A node that is known to be in the cluster, up or not. */
struct known {
	uint32_t node;
	uint32_t backoff;	/* ms; doubles while it does not answer */
	uint64_t suspect_until;	/* is not contacted before */
	/* of the search for a parent that is under way */
	bool asked, failed;
	uint64_t asked_at, again_at; /* again_at 0: not to be asked again */
};

/* A child of a group this node leads. */
struct slot {
	uint32_t node;		/* who speaks for it; EH_NO_NODE: nobody */
	uint64_t heard;
	uint32_t claimed;	/* the node of it that was claimed last */
};

struct lead {
	struct eh_group *group;
	struct slot *slots;
	unsigned int claim;	/* the slot to be looked at first */
};

struct eh_member {
	struct eh_member_options options;
	struct eh_report own;
	struct eh_rule rule;
	unsigned int rank;
	struct lead lead[EH_LEVELS_MAX + 1]; /* 1..rank */

	uint32_t parent;
	bool attached;		/* the parent has taken a report */
	uint64_t heard;		/* from the parent */
	struct eh_report told;	/* what the parent was told last */
	uint64_t told_at;
	bool due, under_way;	/* a report is to be sent; one was sent and not answered */
	uint64_t seen[EH_SEEN_MAX];
	size_t nseen;		/* for the next report */

	uint64_t seek_at, claim_at;
	unsigned int seek_round;

	struct known *known;	/* by number */
	size_t nknown;

	/* of the step under way */
	uint64_t now;
	eh_member_emit_fn emit;
	void *ctx;
	bool no_memory;
};

static inline unsigned int role_top(const struct eh_member *m)
{
	return m->options.topology.l;
}

/* Number of a node's group of this level. */
static inline uint32_t role_group(const struct eh_member *m, uint32_t node, unsigned int level)
{
	return node >> (m->options.topology.n * level);
}

/* The child of its group of this level (1 or more) that a node is in. */
static inline unsigned int role_digit(const struct eh_member *m, uint32_t node, unsigned int level)
{
	return role_group(m, node, level - 1) & ((1u << m->options.topology.n) - 1);
}

static inline bool role_together(const struct eh_member *m, uint32_t node, unsigned int level)
{
	return role_group(m, node, level) == role_group(m, m->options.self, level);
}

/* ---- member.c ---- */

/* With the rule in force; level and type are the caller's. */
void eh_member_send(struct eh_member *m, uint32_t to, struct eh_message *message);
/* Takes a rule that is newer than ours, here and in the groups below. */
void eh_member_adopt(struct eh_member *m, const struct eh_rule *rule);
void eh_member_role(struct eh_member *m);

/* ---- seek.c: known nodes, the search for a parent ---- */

struct known *eh_known_find(const struct eh_member *m, uint32_t node);
int eh_known_add(struct eh_member *m, uint32_t node);
void eh_known_remove(struct eh_member *m, uint32_t node);
void eh_known_alive(struct eh_member *m, uint32_t node);
void eh_known_suspect(struct eh_member *m, uint32_t node);
void eh_seek_begin(struct eh_member *m, uint32_t first);
void eh_seek_step(struct eh_member *m);
void eh_seek_on_order(struct eh_member *m, uint32_t from, const struct eh_message *msg);
void eh_seek_on_redirect(struct eh_member *m, uint32_t from, const struct eh_message *msg);
void eh_seek_gone(struct eh_member *m, uint32_t node);

/* ---- lead.c: the controller's roles ---- */

int eh_lead_promote(struct eh_member *m);
/* Leads no level above `rank` any more; the children are told that `to` does. */
void eh_lead_demote(struct eh_member *m, unsigned int rank, uint32_t to);
void eh_lead_on_report(struct eh_member *m, uint32_t from, const struct eh_message *msg);
void eh_lead_on_claim(struct eh_member *m, uint32_t from, const struct eh_message *msg);
void eh_lead_gone(struct eh_member *m, uint32_t node);
void eh_lead_claim(struct eh_member *m);
void eh_lead_expire(struct eh_member *m);
/* To all who report to us on this level. */
void eh_lead_tell_all(struct eh_member *m, unsigned int level, struct eh_message *message);
/* Own values have changed at this level (0: the node's own): up through all levels led here. */
void eh_lead_own(struct eh_member *m, unsigned int level, const uint64_t *seen, size_t nseen);
/* One event for a group led here; an arrival's outcome goes to `outcome`. */
int eh_lead_step(struct eh_member *m, unsigned int level, const struct eh_event *event,
	      struct eh_update *outcome);
void eh_lead_free(struct lead *lead);

/* ---- report.c: what the parent is told ---- */

/* What this node (level 0) or the group it leads on this level comes to, and its best nodes if
 * `best` is not NULL. Returns how many these are. */
size_t eh_report_level(const struct eh_member *m, unsigned int level, struct eh_report *out,
		       struct eh_candidate best[EH_BEST_MAX]);
void eh_report_send(struct eh_member *m, uint32_t to);
/* Sends one to the parent when it matters, or in any case. */
void eh_report_due(struct eh_member *m, bool always);
void eh_report_answered(struct eh_member *m);

/* ---- ask.c ---- */

void eh_ask_own(struct eh_member *m, const struct eh_member_event_ask *event);
void eh_ask_on_ask(struct eh_member *m, uint32_t from, const struct eh_message *msg);
void eh_ask_on_answer(struct eh_member *m, const struct eh_message *msg);
void eh_ask_failed(struct eh_member *m, uint64_t id, uint32_t to, const struct eh_probe *who);

#endif
