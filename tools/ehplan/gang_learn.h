/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file gang_learn.h  A model for `ehctl gang` of how long the same command took on each number of hosts. */
#ifndef EHPLAN_GANG_LEARN_H
#define EHPLAN_GANG_LEARN_H

#include <jansson.h>
#include <stdbool.h>

#include "gang_run.h"

/** What the user permits. */
struct gang_wish {
	uint64_t least, most, slots;
};

struct gang_learner {
	struct durations *durations;
	uint64_t key; /**< of the command, and how many parts a host has */
	bool tries; /**< too little is known: the document only says how many hosts are tried */
	uint32_t least, most; /**< hosts: beyond twice what was measured nothing is known */
};

/** What is known of the command on up to `hosts` hosts, as a document with a model. The first run is
 *  on all, the second on half of them, or as near to it as --least and --most (0: all) permit. NULL:
 *  no memory. */
json_t *gang_learner_model(struct gang_learner *l, char **words, uint32_t hosts,
			   const struct gang_wish *wish);
/** A table for up to `hosts` hosts, in which `wanted` is the best number of them, however busy they are.
 *  NULL: no memory. */
json_t *gang_learner_try(uint32_t wanted, uint32_t hosts);
/** The run has ended well, after so many seconds without what the launcher takes: keeps how long it
 *  would have taken on idle hosts. */
void gang_learner_put(struct gang_learner *l, const struct gang_run *run, double seconds);
void gang_learner_end(struct gang_learner *l);

#endif
