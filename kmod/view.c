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

/**
 * ehs_view_is_agents - whether the current task sees the same files, processes
 * and users as the agent
 * @agent: agent
 *
 * Only then do a path, a pid and a uid mean the same to both. The agent's task
 * is asked each time because it may change its namespaces; a dead one has none.
 * UTS, IPC and time namespaces and pid_ns_for_children are not compared.
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
		same = task->nsproxy->mnt_ns == current->nsproxy->mnt_ns &&
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
