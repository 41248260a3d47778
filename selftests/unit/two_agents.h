/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file two_agents.h
 * Two agents of one cluster in this process, on one event loop, over loopback.
 */
#ifndef TEST_TWO_AGENTS_H
#define TEST_TWO_AGENTS_H

#include <stdbool.h>
#include <event2/event.h>

#include "base/agent.h"
#include "cluster/versions.h"
#include "home/placement.h"
#include "temp.h"

#define TWO_LIMIT_S 60 /* for what takes well under a second */

extern struct two {
	const char *topology, *group; /* group: code of the two, without their own digit */
	char dir[TEMP_PATH];
	struct versions speaks[2]; /* of the protocol; {0,0}: as this build does */
} two;

int two_set_up(void **state);
int two_tear_down(void **state);
void two_start(struct agent *agent, struct event_base *base, int i);
void two_run_until(struct event_base *base, bool (*done)(void *ctx), void *ctx);
/* Both name the first as the top, and the top has heard of the other's load. */
bool two_agreed(void *ctx);

/* What placement_start() came to. */
struct two_outcome {
	bool decided;
	struct placement *placement;
	struct peer *to;
	enum ehs_reason reason;
	char token[EHS_TOKEN_MAX + 1];
};

void two_on_decided(void *ctx, struct placement *p, struct peer *to, const char *token,
		    enum ehs_reason reason);
bool two_was_decided(void *ctx);

#endif
