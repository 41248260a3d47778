/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file rights.h
 * What the caller of a local connection may do, and see.
 */
#ifndef AGENT_CTL_RIGHTS_H
#define AGENT_CTL_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

struct ctl_conn;

pid_t ctl_pid(const struct ctl_conn *c); /**< as ctl_who() has it */
uid_t ctl_uid(const struct ctl_conn *c);
/** Whether the caller is root, or the agent's own user. */
bool ctl_is_admin(const struct ctl_conn *c);
/** Whether the caller is in this group, as the kernel knows it; "": in none. */
bool ctl_in_group(const struct ctl_conn *c, const char *name);
/** Whether the caller is that, or a member of `admin-group`. */
bool ctl_is_operator(const struct ctl_conn *c);
/** Whether the caller is told of tasks of this user. */
bool ctl_may_see(const struct ctl_conn *c, uid_t uid);

#endif
