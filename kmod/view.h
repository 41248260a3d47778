/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_VIEW_H
#define _EHS_VIEW_H

#include <linux/nsproxy.h>
#include <linux/types.h>

#include "legacy.h"

struct cgroup;
struct cred;
struct ehs_subject;
struct file;
struct pid;

/**
 * struct ehs_view - what a process sees of the system and what it is, at one moment
 * @ns: its namespaces, to compare with; no reference is held
 * @root: its root directory, open
 * @tgid: the process, referenced, and with it its pid namespace
 * @cred: its credentials, referenced, and with them its user namespace
 * @cgroup: its cgroup, referenced
 * @legacy: its cgroups of version 1, to compare with
 *
 * It outlives the process: others may hold the agent's socket.
 */
struct ehs_view {
	struct nsproxy ns;
	struct file *root;
	struct pid *tgid;
	const struct cred *cred;
	struct cgroup *cgroup;
	struct ehs_legacy legacy;
};

int ehs_view_take(struct ehs_view *view);
void ehs_view_drop(struct ehs_view *view);
bool ehs_view_is_of(const struct ehs_view *view, const struct ehs_subject *subject);

#endif /* _EHS_VIEW_H */
