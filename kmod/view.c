// SPDX-License-Identifier: GPL-2.0-only
/* What a task sees of the system: namespaces and root directory. */

#include "view.h"

#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/path.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "compat/compat.h"
#include "subject.h"

/**
 * ehs_view_take - note what the current process sees and is
 * @view: filled in; all zero on failure
 *
 * May sleep for memory, but waits for no file system: to open a path as O_PATH
 * calls nothing of it. The root is kept as an open file, because a file can be
 * put in any context, and a path cannot.
 *
 * Return: 0, -ENOMEM, -ENFILE.
 */
int ehs_view_take(struct ehs_view *view)
{
	const struct nsproxy *ns = current->nsproxy;
	struct file *file;
	struct path root;

	get_fs_root(current->fs, &root);
	file = dentry_open(&root, O_PATH, current_cred());
	path_put(&root);
	if (IS_ERR(file)) {
		*view = (struct ehs_view){};
		return PTR_ERR(file);
	}
	*view = (struct ehs_view){
		.ns = {
			.mnt_ns = ns->mnt_ns,
			.uts_ns = ns->uts_ns,
			.ipc_ns = ns->ipc_ns,
			.pid_ns_for_children = ns->pid_ns_for_children,
			.time_ns = ns->time_ns,
			.time_ns_for_children = ns->time_ns_for_children,
			.cgroup_ns = ns->cgroup_ns,
		},
		.root = file,
		.tgid = get_task_pid(current, PIDTYPE_TGID),
		.cred = get_current_cred(),
		.legacy = ehs_legacy_of(current),
	};
	/* it fails only for a cgroup that the task has just left */
	rcu_read_lock();
	do
		view->cgroup = task_dfl_cgroup(current);
	while (!cgroup_tryget(view->cgroup));
	rcu_read_unlock();
	return 0;
}

/**
 * ehs_view_drop - release what a view holds
 * @view: from ehs_view_take(), whether it failed or not
 *
 * Does not sleep.
 */
void ehs_view_drop(struct ehs_view *view)
{
	if (!view->root)
		return;
	fput(view->root);
	put_pid(view->tgid);
	put_cred(view->cred);
	cgroup_put(view->cgroup);
}

/* All namespaces that a struct nsproxy has, except for the network's. */
static bool ehs_view_same_namespaces(const struct nsproxy *a, const struct nsproxy *b)
{
	return a->mnt_ns == b->mnt_ns && a->uts_ns == b->uts_ns && a->ipc_ns == b->ipc_ns &&
	       a->pid_ns_for_children == b->pid_ns_for_children && a->time_ns == b->time_ns &&
	       a->time_ns_for_children == b->time_ns_for_children && a->cgroup_ns == b->cgroup_ns;
}

/**
 * ehs_view_is_of - whether a task sees the same system
 * @view: what to compare with
 * @subject: the task
 *
 * Only then do a path, a pid, a uid and a host name mean the same to both. The
 * network namespace is the node's, whatever that of @view was.
 *
 * The user and the pid namespace are held, and so is the mount of the root, and
 * below the same mount paths lead to the same files. The others cannot be held
 * by a module. If one of them ends while @view is kept, another may get its
 * address; a task that is in that one, and in all that are held, is taken for an equal.
 *
 * Does not sleep, and takes no reference to the task's root: to put the last one
 * could wait for its file system. task_lock() keeps the namespaces and the root of
 * another task where they are. One that has ended has none, and sees nothing.
 */
bool ehs_view_is_of(const struct ehs_view *view, const struct ehs_subject *subject)
{
	struct task_struct *task = subject->task;
	bool same;

	/* its pid goes when it is reaped, and then it has no pid namespace */
	rcu_read_lock();
	same = ns_of_pid(view->tgid) == task_active_pid_ns(task);
	rcu_read_unlock();
	if (!same || view->cred->user_ns != subject->cred->user_ns)
		return false;
	task_lock(task);
	same = task->nsproxy && ehs_view_same_namespaces(&view->ns, task->nsproxy) && task->fs &&
	       ehs_fs_root_is(task->fs, &view->root->f_path);
	task_unlock(task);
	return same;
}
