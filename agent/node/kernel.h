/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file kernel.h
 * The module's netlink family (uapi/ehsched.yaml), if the module is loaded. The kernel answers
 * requests while they are sent, so these are plain calls.
 */
#ifndef AGENT_NODE_KERNEL_H
#define AGENT_NODE_KERNEL_H

#include <jansson.h>
#include <linux/ehsched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "node/node_settings.h"

struct agent;
struct config;
struct frame_exit;

/** An exec that waits for a verdict. Strings are borrowed. */
struct kernel_request {
	uint64_t cookie;
	uint32_t pid, uid, time_ms; /**< time_ms: time limit of the verdict */
	const char *path;
};

/** What the kernel reports. wiring.c fills it in. */
struct kernel_ops {
	void (*changed)(struct agent *agent); /**< the module was loaded or removed */
	void (*seen)(struct agent *agent, const struct node_view *view);
	/** the load (thousandths of a task) that came with a request */
	void (*loaded)(struct agent *agent, uint32_t load);
	void (*refresh)(struct agent *agent); /**< notifications were lost */
	/** kernel_verdict() must follow, perhaps at once. */
	void (*place)(struct agent *agent, const struct kernel_request *request);
	/** A verdict was refused: the kernel no longer waited for it. */
	void (*too_late)(struct agent *agent, uint64_t cookie);
};

/**
 * Registers with the module now, or when it is loaded. Settings are copied. 0, or -errno if
 * netlink cannot be used.
 */
int kernel_init(struct agent *agent, const struct kernel_ops *ops,
		const struct node_settings *settings);
void kernel_exit(struct agent *agent);

/** What the administrator lets time-limit be at most, ms: more has no effect. */
uint32_t kernel_time_limit_max(const struct agent *agent);
/** Registers again if the site's rules for the module have changed: ehlaunch brings them. */
void kernel_reload(struct agent *agent, const struct config *old);
/**
 * Sets these in the module, if it is loaded, and keeps them for a module that is loaded later.
 * 0, or the kernel's -errno with a text in why[]; then nothing has changed.
 */
int kernel_set(struct agent *agent, const struct node_settings *set, char why[160]);
/**
 * Answers a request. remote: the stub gets the cookie, in decimal, to name its placement with.
 * Otherwise the task runs here, for `reason`.
 */
void kernel_verdict(struct agent *agent, uint64_t cookie, bool remote, enum ehs_reason reason);
int kernel_get(struct agent *agent, struct node_view *view);
int kernel_bypass(struct agent *agent, pid_t pid);
/**
 * Says that the work of this stub is on another node, which the module knows by itself only of those
 * that it has started since it was loaded. 0; -ESRCH: the stub is not in a managed cgroup;
 * -EOPNOTSUPP: a module of an earlier version; or another -errno.
 */
int kernel_away(struct agent *agent, pid_t pid);
/**
 * Whether a process may leave: EHS_REASON_NONE, or why not; and when it was started, ns since boot, by which it is
 * told from a later one with its number. 0; -ESRCH: there is none, or it is ending; -E2BIG: it has too many threads;
 * -ENOTCONN; -EOPNOTSUPP: a module of an earlier version; or another -errno.
 */
int kernel_eligible(struct agent *agent, pid_t pid, enum ehs_reason *reason, uint64_t *started_ns);
/**
 * Adds what a task used elsewhere to the account of its stub. 0; -ESRCH: the module does not
 * know this stub; or another -errno.
 */
int kernel_account(struct agent *agent, pid_t pid, const struct frame_exit *used);

/** One task of the module's dump. Strings are borrowed. */
struct kernel_task {
	uint64_t id, started_ns;
	uint32_t pid, uid, state, reason;
	const char *command;
};
int kernel_tasks(struct agent *agent, void (*each)(void *ctx, const struct kernel_task *task),
		 void *ctx);

/** Calls `each` with the count of execs by reason since the module was loaded. 0 or -errno. */
int kernel_counters(struct agent *agent, void (*each)(void *ctx, uint32_t reason, uint64_t count),
		    void *ctx);

/** Version of the family, 0 if it is absent; and why the agent is not registered, or "". */
unsigned int kernel_version(struct agent *agent);
const char *kernel_trouble(struct agent *agent);

#endif
