/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file placement_task.h  What a placement is asked for, and the one that is told of the outcome. */
#ifndef AGENT_HOME_PLACEMENT_TASK_H
#define AGENT_HOME_PLACEMENT_TASK_H

#include <jansson.h>
#include <linux/ehsched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "node/kernel.h"
#include "wire/view.h"

struct eligible_who;
struct peer;
struct seen;
struct placement;

/**
 * Asks this node for a place and sends the job with it, to `ctx` of the placement: placement_answered() follows.
 * `request`: the body of POST /v1/reserve. 0, -ECANCELED: nobody waits for the task any more, or another -errno.
 */
typedef int (*placement_send_fn)(void *ctx, struct placement *p, struct peer *to,
				 json_t *request_stolen);

/** What is known of a task when a placement starts. Strings are borrowed. */
struct placement_task {
	/* as the kernel asks; cookie 0: it does not, and the agent uses a number of its own */
	struct kernel_request exec;
	const char *const *argv; /* its arguments; NULL: not known yet */
	const struct eligible_who
		*who; /* by whom it is asked whether it may leave; NULL: the module has said so */
	uint64_t came_us; /* clock_us() when its job came; 0: it is not here */
	placement_send_fn
		send; /* NULL: the job is not here, or too large to be sent before it has a place */
	const struct seen *seen; /* what its process has seen; NULL: it does not say */
	const char *folder; /* of its process, if that has said so */
	const char *node; /* the node to use, as its user names it; NULL: ask the hierarchy */
	enum view view; /* VIEW_UNSET: the configured one */
	bool leaves; /* it leaves whatever the load */
};

/**
 * Called exactly once, perhaps at once. to NULL: the task stays, for `reason`. record.c owns `p`,
 * which stays valid while the task is away.
 */
typedef void (*placement_fn)(void *ctx, struct placement *p, struct peer *to, const char *token,
			     enum ehs_reason reason);

#endif
