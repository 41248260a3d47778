/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ehlaunch.h
 * The connection to ehlaunch, which does what needs root's rights, or another user's.
 */
#ifndef AGENT_BASE_EHLAUNCH_H
#define AGENT_BASE_EHLAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/config_data.h"
#include "wire/launch.h"

struct agent;

/** A request, and what goes with it. */
struct ehlaunch_request {
	const struct launch_head *head; /**< the struct of its kind; version is filled in here */
	size_t size; /**< of that struct */
	const void *tail; /**< the list behind it; NULL: none */
	size_t tail_size;
	const int *fds; /**< that follow the one for the answer; the caller keeps them */
	unsigned int nfds;
};

/** Starts ehlaunch, or connects to it (setting `launcher`); again when it has ended. 0 or -ENOMEM; what else is missing shows when something is asked of it. */
int ehlaunch_init(struct agent *agent);
/** The configuration has changed, and was `old`: ehlaunch enforces what the new one says. */
void ehlaunch_reload(struct agent *agent, const struct config *old);
/** The rules that ehlaunch enforces: those of this agent's configuration, or others; or it does not say. */
enum ehlaunch_rules { EHLAUNCH_SAME, EHLAUNCH_OTHERS, EHLAUNCH_UNKNOWN };
enum ehlaunch_rules ehlaunch_rules(const struct agent *agent);
/** Which ehlaunch it is; 0: it has ended. Another one knows nothing of the views that it has made. */
unsigned int ehlaunch_starts(const struct agent *agent);
/** Whether the ends that it starts may be asked to tell more: LAUNCH_TELLS. */
bool ehlaunch_tells(const struct agent *agent);
/** What failed, in words. */
const char *ehlaunch_trouble(const struct launch_news *news);
/** Whether it was started by somebody else, so that this process need not start programs. */
bool ehlaunch_is_apart(const struct agent *agent);
/** Ends ehlaunch if it was started here; what it has started goes on. */
void ehlaunch_exit(struct agent *agent);
/**
 * Sends a request. Returns a descriptor that becomes readable with the answer, a struct launch_news
 * and perhaps descriptors, or -errno. The caller closes it.
 */
int ehlaunch_ask(struct agent *agent, const struct ehlaunch_request *q);
/** Receives up to `size` bytes of what it says, and `most` descriptors; those that are missing are -1, and
 *  others are closed. The bytes, or -errno: then no descriptor is set. */
ssize_t ehlaunch_take(int news, void *answer, size_t size, int *fds, int most);
/** Receives an answer of up to `size` bytes that begins with struct launch_news. Returns the descriptor
 *  that came with it, or -errno: none, or the step failed; what has come of the answer is there. */
int ehlaunch_receive(int news, void *answer, size_t size);

#endif
