/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file fit.h
 * Whether a task may go to a node: home's rules about nodes, and the labels that its program needs
 * (`only-on`, `never-on`). Home learns a node's
 * labels from its answers, and believes them for a while.
 */
#ifndef AGENT_HOME_FIT_H
#define AGENT_HOME_FIT_H

#include <jansson.h>
#include <linux/ehsched.h>
#include <stdbool.h>

struct peer;
struct placement;

/** Sets what the program needs; paths as of site_labels_of(). 0, -E2BIG or -ENOMEM. */
int fit_wish(struct placement *p, const char *given, const char *real);
/** Adds what it needs to a request. 0 or -ENOMEM. */
int fit_ask(const struct placement *p, json_t *request);
/** Takes the labels that a node has answered with; not a list: it said none. */
void fit_learn(const struct placement *p, struct peer *node, const json_t *labels);
/** Why a task may not go there, as far as is known: REASON_AWAY_NODE, REASON_LABELS, or EHS_REASON_NONE. */
enum ehs_reason fit_trouble(const struct placement *p, const struct peer *node);
/** Whether a node may have this task, by what it has answered now. */
bool fit_is_sure(const struct placement *p, const json_t *labels);

#endif
