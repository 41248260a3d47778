/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file role.h
 * The inside of struct eh_member (member.h), for lib/eh only. What changes it is
 * in known.h, seek.h, lead.h, report.h and ask.h. Times are milliseconds of the
 * driver's clock.
 */
#ifndef EH_ROLE_H
#define EH_ROLE_H

#include "member.h"

/* A node that is known to be in the cluster, up or not. */
struct known {
	uint32_t node;
	uint32_t backoff; /* ms; doubles while it does not answer */
	uint64_t suspect_until; /* is not contacted before */
	/* of the search for a parent that is under way */
	bool asked, failed;
	uint64_t asked_at, again_at; /* again_at 0: not to be asked again */
};

/* A child of a group this node leads. */
struct slot {
	uint32_t node; /* the one that reports for it; EH_NO_NODE: none */
	uint64_t heard;
	uint32_t claimed; /* the node of it that was claimed last */
};

struct lead {
	struct eh_group *group;
	struct slot *slots;
	unsigned int claim; /* the slot to be looked at first */
};

struct eh_member {
	struct eh_member_options options;
	struct eh_report own;
	struct eh_rule rule;
	unsigned int rank;
	struct lead lead[EH_LEVELS_MAX + 1]; /* 1..rank */

	uint32_t parent;
	uint32_t former; /* the parent before, EH_NO_NODE: none; what it was asked it may answer */
	uint64_t parted_at;
	bool attached; /* the parent has taken a report */
	bool behind; /* it has said an older rule than ours, since: */
	uint64_t behind_since;
	uint64_t heard; /* from the parent */
	struct eh_report told; /* what the parent was told last */
	uint64_t told_at;
	bool due, under_way; /* a report is to be sent; one was sent and not answered */
	uint64_t seen[EH_SEEN_MAX];
	size_t nseen; /* for the next report */

	uint64_t seek_at, claim_at;
	unsigned int seek_round;

	struct known *known; /* by number */
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

/* The parent is the former one from here on. */
static inline void role_part(struct eh_member *m)
{
	if (m->attached) {
		m->former = m->parent;
		m->parted_at = m->now;
	}
	m->parent = EH_NO_NODE;
	m->attached = false;
}

/* ---- emit.c ---- */

/** Sends a message; the rule in force is added to it. */
void eh_member_send(struct eh_member *m, uint32_t to, struct eh_message *message);
/** Tells `who` that `to` leads its group of this level. */
void eh_member_redirect(struct eh_member *m, uint32_t who, unsigned int level, uint32_t to);
/** Tells the driver of the rank and parent. */
void eh_member_role(struct eh_member *m);

#endif
