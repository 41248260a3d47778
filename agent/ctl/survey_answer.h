/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file survey_answer.h
 * What nodes say in a survey: lists of {"node", "items", "rest"} or {"node", "refused"}, as survey.h has
 * them. Members of the cluster may lie; here it is made sure that what they say has the form that it must
 * have, and takes no more room than there is.
 */
#ifndef AGENT_CTL_SURVEY_ANSWER_H
#define AGENT_CTL_SURVEY_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SURVEY_AHEAD_MS 86400000 /**< as far may another clock be ahead */

/** What the member `at` of an item says; the highest are wanted first. */
enum survey_order {
	SURVEY_AGO, /**< minus the ms that have passed since: 0 at most */
	SURVEY_TIME, /**< ms since 1970, by the node's clock; pages go on where one has ended */
	SURVEY_SUM, /**< how much it counts */
};

/** The highest `at` that an item may have in an answer to this question. */
json_int_t survey_answer_newest(enum survey_order order, const json_t *question);
/** The same as this node may say it, for the node with this code; the caller owns it. */
json_t *survey_answer_read(const json_t *said, const char *code, json_int_t newest, size_t most);
/** Whether a node that speaks for itself says that there is more, and could have told it. */
bool survey_answer_holds_back(const json_t *node, size_t most);
/** Makes each `rest` one that a list can have which was cut: below all that is told. */
void survey_answer_check_rest(const json_t *nodes);
/**
 * Leaves out what is too much, so that there are at most so many items, and they fit into an answer.
 * `fair`: the first ones of each node stay, as far as there is room for as many of all.
 */
void survey_answer_cut(const json_t *nodes, size_t most, bool fair);

#endif
