// SPDX-License-Identifier: GPL-2.0-only
/* What a task sees of the system: namespaces and root directory. */

#include "view.h"

#include <linux/cred.h>
#include <linux/fs_struct.h>
#include <linux/nsproxy.h>
#include <linux/path.h>
#include <linux/pid_namespace.h>
#include <linux/sched/task.h>

#include "agent.h"

/* All namespaces that a struct nsproxy has, except for the network's. */
static bool ehs_view_same_namespaces(const struct nsproxy *a, const struct nsproxy *b)
{
	return a->mnt_ns == b->mnt_ns && a->uts_ns == b->uts_ns && a->ipc_ns == b->ipc_ns &&
	       a->pid_ns_for_children == b->pid_ns_for_children && a->time_ns == b->time_ns &&
	       a->time_ns_for_children == b->time_ns_for_children && a->cgroup_ns == b->cgroup_ns;
}

/**
 * ehs_view_is_agents - whether the current task sees the same system as the agent
 * @agent: agent
 *
 * Only then do a path, a pid, a uid and a host name mean the same to both. The
 * agent's task is asked each time because it may change its namespaces; a dead
 * one has none. The network namespace is the node's, whatever the agent's is now.
 */
bool ehs_view_is_agents(const struct ehs_agent *agent)
{
	struct path mine, its = {};
	struct task_struct *task;
	bool same = false;

	get_fs_root(current->fs, &mine);
	rcu_read_lock();
	task = pid_task(agent->tgid, PIDTYPE_TGID);
	if (!task)
		goto unlock;
	task_lock(task);
	if (task->nsproxy && task->fs) {
		get_fs_root(task->fs, &its);
		same = ehs_view_same_namespaces(task->nsproxy, current->nsproxy) &&
		       ns_of_pid(agent->tgid) == task_active_pid_ns(current) &&
		       task_cred_xxx(task, user_ns) == current_user_ns() && path_equal(&its, &mine);
	}
	task_unlock(task);
unlock:
	rcu_read_unlock();
	/* outside, because the last reference to a mount may sleep; none is fine */
	path_put(&its);
	path_put(&mine);
	return same;
}
