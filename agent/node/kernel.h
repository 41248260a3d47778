/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file knl.h
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
#include "node/node.h"

struct frame_exit;
struct nl_msg;

/** Goes on without the family, and registers when it comes. 0 or -errno (no netlink at all). */
int kernel_init(void);
void kernel_exit(void);

/** 0, -ENOTCONN (no module) or the kernel's -errno, its words in why[]. */
int kernel_set(const struct node_settings *set, char why[160]);
int kernel_get(struct node_view *view);
int kernel_bypass(pid_t pid);
/** What the task that this stub stands for has used is the stub's; -ESRCH: the module knows of no such stub. */
int kernel_account(pid_t pid, const struct frame_exit *used);

/** One task of the module's dump; strings are borrowed. */
struct kernel_task {
	uint64_t id, started_ns;
	uint32_t pid, uid, state, reason;
	const char *command;
};
int kernel_tasks(void (*each)(void *ctx, const struct kernel_task *task), void *ctx);

/** Execs by reason since the module was loaded. */
int kernel_counters(void (*each)(void *ctx, uint32_t reason, uint64_t count), void *ctx);

/** Version of the family, 0: absent; why we are not registered, or "". */
unsigned int kernel_version(void);
const char *kernel_trouble(void);

/* ---- between knl.c and kernel_task.c ---- */

/** NULL: no memory. */
struct nl_msg *kernel_message(uint8_t cmd, int flags);
/** Frees the message (NULL: -ENOMEM); `each` gets the answers. 0, -ENOTCONN or the kernel's -errno. */
int kernel_ask(struct nl_msg *msg, nl_recvmsg_msg_cb_t each, void *ctx);

#endif
