/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file build_walk.h
 * From targets to tasks. A target may have no command, one, or several, and may stand for many; the
 * graph of a plan only has commands.
 */
#ifndef EHPLAN_BUILD_WALK_H
#define EHPLAN_BUILD_WALK_H

#include "build.h"

/** A list of numbers that grows. */
struct walk_list {
	uint32_t *at;
	uint32_t n, room;
};

struct build_walk {
	struct plan_names *names; /**< of nodes */
	struct walk_node *nodes;
	uint32_t nodes_room;
	struct walk_group *groups; /**< tasks of the makes that a recipe starts */
	uint32_t ngroups;
	struct dag_draft draft;
	struct build_line *lines; /**< by task */
	uint32_t nlines, lines_room;
	uint32_t *stamp, turn; /**< of tasks: found in this turn */
};

int walk_open(struct build_walk *walk); /**< 0 or -ENOMEM; close it in either case */
void walk_close(struct build_walk *walk);
/** The number of a target, which is made if it is new, or -ENOMEM. */
int64_t walk_node(struct build_walk *walk, const char *name);
/** `node` comes after `other`. 0 or -ENOMEM. */
int walk_need(struct build_walk *walk, int64_t node, int64_t other);
/** What the node needs, if that is one thing; else -1. */
int64_t walk_only_need(const struct build_walk *walk, int64_t node);
/** The next command of a node, in a group. The texts are copied. 0, -ENOMEM or -E2BIG. */
int walk_task(struct build_walk *walk, int64_t node, uint32_t group, const char *name,
	      const char *where, const char *text);
/** All tasks of a group are the next command of the node. 0 or -ENOMEM. */
int walk_group(struct build_walk *walk, int64_t node, uint32_t group);
/** Makes the graph, and what `b` has of commands. 0 or an exit code after a message. */
int walk_finish(struct build_walk *walk, struct build *b, struct workflow *w);

#endif
