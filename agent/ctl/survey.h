/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file survey.h
 * What all nodes know of tasks, for one viewer. The question goes down the hierarchy, as that for
 * the nodes (cluster/gather.h): each controller asks those below it, all at once.
 */
#ifndef AGENT_CTL_SURVEY_H
#define AGENT_CTL_SURVEY_H

#include <jansson.h>
#include <stddef.h>

#include "ctl/survey_answer.h"
#include "ctl/viewer.h"

struct agent;
struct peer;
struct server_answer;

/** What can be asked. */
struct survey_kind {
	const char *what;
	/** Tells this node's part, once, perhaps later; `question` is borrowed during the call. */
	void (*own)(struct agent *agent, const struct viewer *viewer, const json_t *question,
		    viewer_told_fn told, void *ctx);
	size_t most; /**< items of all nodes together; a question may have a lower `limit` */
	size_t each; /**< of one node, if it could tell more; 0: that is not known */
	enum survey_order order;
	unsigned int slow; /**< as many at a time for one other node; 0: as many as for any kind */
};

/**
 * The answers: a list of {"node", "items"}, or {"node", "refused"}, each node once, and only those that
 * have answered. Each item has a number `at`, a time or what is like one, and the highest come first.
 * If there are items that a node does not tell, `rest` is the `at` of the first of them, or more.
 * Takes over the list. NULL: there was no survey, and why.
 */
typedef void (*survey_done_fn)(void *ctx, json_t *nodes_stolen, const char *why);

/** Asks all nodes. `done` is called exactly once, perhaps at once. */
void survey_all(struct agent *agent, const struct viewer *viewer, const struct survey_kind *kind,
		json_t *question_stolen, survey_done_fn done, void *ctx);

/** Asks one other node, likewise. */
void survey_node(struct agent *agent, struct peer *node, const struct viewer *viewer,
		 const struct survey_kind *kind, json_t *question_stolen, survey_done_fn done,
		 void *ctx);

/** Answers a question of another node; `kind` is NULL if there is no such one. */
void survey_answer(struct agent *agent, struct peer *from, const struct survey_kind *kind,
		   const json_t *question, struct server_answer *answer);

/** The nodes that have not answered, as {"node", "host"}. The caller owns the list. */
json_t *survey_silent(struct agent *agent, const json_t *nodes);

#endif
