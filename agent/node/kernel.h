/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file kernel.h
 * The module's netlink family, if it is there (uapi/ehsched.yaml). Requests are
 * answered by the kernel while they are sent, so they are plain calls.
 */
#ifndef AGENT_NODE_KERNEL_H
#define AGENT_NODE_KERNEL_H

#include <jansson.h>
#include <linux/ehsched.h>
#include <netlink/handlers.h>
#include <stdbool.h>
#include <sys/types.h>
#include "eh/eh.h"

struct agent;
struct frame_exit;
struct nl_msg;

/** Thousandths of a task; milliseconds. */
struct node_settings {
	uint32_t threshold, length, index, weight, time_limit, dwell;
};

struct node_view {
	uint32_t load; /**< without reservations of guests that have not started */
	enum eh_state state; /**< dwell included */
	uint32_t local, guest, away; /**< tasks, when the module counts them */
};

/** An exec that waits for a verdict; strings are borrowed. */
struct kernel_request {
	uint64_t cookie, cgroup_id;
	uint32_t pid, uid, time_ms; /**< the verdict must be there by then */
	const char *path;
};

/** What the kernel tells; main.c fills it in. */
struct kernel_ops {
	void (*changed)(struct agent *agent); /**< the module came or went */
	void (*seen)(struct agent *agent, const struct node_view *view);
	void (*loaded)(struct agent *agent, uint32_t load); /**< a newer load, with a request */
	void (*refresh)(struct agent *agent); /**< notifications were lost */
	/** kernel_verdict() follows, perhaps at once. */
	void (*place)(struct agent *agent, const struct kernel_request *request);
	/** The kernel did not wait for the verdict on this cookie any more. */
	void (*too_late)(struct agent *agent, uint64_t cookie);
};

/** Goes on without the family, and registers when it comes. 0 or -errno (no netlink at all). */
int kernel_init(struct agent *agent, const struct kernel_ops *ops,
		const struct node_settings *settings);
void kernel_exit(struct agent *agent);

/** The settings are kept for a module that comes later, and set now if there is one. 0, or the kernel's -errno with its words in why[]. */
int kernel_set(struct agent *agent, const struct node_settings *set, char why[160]);
/** The answer to a request; token NULL: it runs here, for `reason`. */
void kernel_verdict(struct agent *agent, uint64_t cookie, const char *token,
		    enum ehs_reason reason);
int kernel_get(struct agent *agent, struct node_view *view);
int kernel_bypass(struct agent *agent, pid_t pid);
/** What the task that this stub stands for has used is the stub's; -ESRCH: the module knows of no such stub. */
int kernel_account(struct agent *agent, pid_t pid, const struct frame_exit *used);

/** One task of the module's dump; strings are borrowed. */
struct kernel_task {
	uint64_t id, started_ns;
	uint32_t pid, uid, state, reason;
	const char *command;
};
int kernel_tasks(struct agent *agent, void (*each)(void *ctx, const struct kernel_task *task),
		 void *ctx);

/** Execs by reason since the module was loaded. */
int kernel_counters(struct agent *agent, void (*each)(void *ctx, uint32_t reason, uint64_t count),
		    void *ctx);

/** Version of the family, 0: absent; why we are not registered, or "". */
unsigned int kernel_version(struct agent *agent);
const char *kernel_trouble(struct agent *agent);

/* ---- between knl.c and kernel_task.c ---- */

/** NULL: no memory. */
struct nl_msg *kernel_message(struct agent *agent, uint8_t cmd, int flags);
/** Frees the message (NULL: -ENOMEM); `each` gets the answers. 0, -ENOTCONN or the kernel's -errno. */
int kernel_ask(struct agent *agent, struct nl_msg *msg, nl_recvmsg_msg_cb_t each, void *ctx);

#endif
