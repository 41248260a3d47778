/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file eligible.h
 * Whether a process may leave this node, or something confines it that would not on another one. The
 * module says that where it is loaded, else ehlaunch, of which users have their turns; execs that the module intercepts it has
 * judged already.
 */
#ifndef AGENT_HOME_ELIGIBLE_H
#define AGENT_HOME_ELIGIBLE_H

#include <linux/ehsched.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;
struct eligible; /* a question that is open */

/** A process that has connected to this agent. */
struct eligible_who {
	int socket; /**< its connection; not used after the question was asked */
	pid_t pid;
	uid_t uid; /**< whose turn it is */
	uint64_t came; /**< when it connected: clock_ticks() */
};

/** EHS_REASON_NONE: it may. `text` says of the process what keeps it. */
typedef void (*eligible_fn)(void *ctx, enum ehs_reason reason, const char *text);

/** `done` is called once, perhaps before this returns; NULL: it was. */
struct eligible *eligible_ask(struct agent *agent, const struct eligible_who *who, eligible_fn done,
			      void *ctx);
/** `done` will not be called. */
void eligible_cancel(struct eligible *e);
/** No question is open any more: nobody is called. */
void eligible_exit(struct agent *agent);

#endif
