/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file group.h
 * The controller's role: lib/eh fed with the members' reports. There is a
 * group only while this agent is the controller; it is rebuilt from reports.
 */
#ifndef AGENT_GROUP_H
#define AGENT_GROUP_H

#include <jansson.h>
#include <linux/ehsched.h>
#include "peer.h"
#include "report.h"

int group_begin(void); /**< 0 or -ENOMEM */
void group_end(void);
bool group_active(void);
void group_leave(struct peer *member);
void group_tick(void);

/** What a member is told in return. */
struct group_order {
	uint64_t epoch, threshold, length;
};
/** `seen`: array of placement ids, or NULL. 0, -ENOENT (no controller), -ENOMEM. */
int group_report(struct peer *from, const struct report *r, const json_t *seen,
		 struct group_order *order);

struct group_choice {
	struct peer *to; /**< NULL: it stays, for `reason` */
	enum ehs_reason reason;
	unsigned int probes;
	enum eh_state found;
};
/** 0, or -ENOENT: no controller, or the asker has not reported yet. */
int group_ask(struct peer *from, const char *id, uint64_t size, uint64_t load,
	      struct peer *const *tried, unsigned int ntried, struct group_choice *out);
void group_failed(const char *id, struct peer *to);

json_t *group_nodes(void);
uint64_t group_epoch(void);

#endif
