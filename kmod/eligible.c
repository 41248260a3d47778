// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which tasks may leave, and which execs may be transferred: those that another node
 * would run the same way.
 */

#include "eligible.h"

#include <linux/binfmts.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/namei.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/security.h>
#include <linux/tty.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "agent.h"
#include "confine.h"
#include "format.h"
#include "subject.h"
#include "view.h"

/* Descriptors 0 to 2 are always handed over. */
#define EHS_STDIO 3
/* As many others a job can have: JOB_DESCRIPTORS_MAX of lib/wire/job.h. */
#define EHS_DESCRIPTORS 128
/* Parents that wait for one another in vfork() are followed so far. */
#define EHS_VFORKS 8

/* null, zero, full, random, urandom: the other node has the same */
static bool ehs_eligible_is_same_device(unsigned int minor)
{
	return minor == 3 || minor == 5 || (minor >= 7 && minor <= 9);
}

static bool ehs_eligible_is_terminal(unsigned int major)
{
	return major == TTY_MAJOR || major == TTYAUX_MAJOR ||
	       (major >= UNIX98_PTY_SLAVE_MAJOR &&
		major < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT);
}

/*
 * Whether the stub can hand over such an open file. It looks again, and closer:
 * which file it is matters only where it is to be opened. What cannot be is seen
 * here, so that no agent is asked in vain. Does not sleep.
 */
static bool ehs_eligible_carries(struct file *file)
{
	const struct inode *inode = file_inode(file);
	const struct socket *sock;
	const struct sock *sk;

	if (file->f_mode & FMODE_PATH)
		return false;
	switch (inode->i_mode & S_IFMT) {
	case S_IFIFO:
	case S_IFDIR:
		return true;
	case S_IFREG:
		/*
		 * a namespace, a process, a message queue: they look like files, of a file
		 * system that the kernel made for itself, as it has one for memory
		 */
		if (inode->i_sb->s_flags & SB_KERNMOUNT && inode->i_sb->s_magic != TMPFS_MAGIC)
			return false;
		/* without a name, as memory and here-documents: the bytes can be read */
		return inode->i_nlink || !(file->f_mode & FMODE_WRITE);
	case S_IFCHR:
		return (imajor(inode) == MEM_MAJOR && ehs_eligible_is_same_device(iminor(inode))) ||
		       ehs_eligible_is_terminal(imajor(inode));
	case S_IFSOCK:
		sock = sock_from_file(file);
		sk = sock ? sock->sk : NULL;
		return sk && sock->type == SOCK_STREAM && READ_ONCE(sk->sk_state) != TCP_LISTEN;
	default:
		return false;
	}
}

/* Whether one of these stays open that cannot be carried, or too many do. */
static bool ehs_eligible_table_keeps(struct files_struct *files)
{
	unsigned int i, fd, n = 0;
	struct fdtable *fdt;
	struct file *file;
	unsigned long kept;
	bool keeps = false;

	/* other threads may open and close files meanwhile */
	spin_lock(&files->file_lock);
	fdt = files_fdtable(files);
	for (i = 0; i < fdt->max_fds / BITS_PER_LONG && !keeps; i++) {
		kept = fdt->open_fds[i] & ~fdt->close_on_exec[i];
		for (; kept && !keeps; kept &= kept - 1) {
			fd = i * BITS_PER_LONG + __ffs(kept);
			/* the lock keeps it in the table, which holds it; NULL: being opened */
			file = rcu_dereference_protected(fdt->fd[fd],
							 lockdep_is_held(&files->file_lock));
			if (fd >= EHS_STDIO && file)
				keeps = ++n > EHS_DESCRIPTORS || !ehs_eligible_carries(file);
		}
	}
	spin_unlock(&files->file_lock);
	return keeps;
}

/*
 * The same for the files of a task. Those of a task that has ended cannot be seen.
 * task_lock() keeps the table of another task, and is outside of the lock of the
 * table, as in the kernel. Both are spinlocks, and no file is put: to put the last
 * reference to one would close it.
 */
static bool ehs_eligible_keeps_files(struct task_struct *task)
{
	bool keeps;

	task_lock(task);
	keeps = !task->files || ehs_eligible_table_keeps(task->files);
	task_unlock(task);
	return keeps;
}

/*
 * Whether the path leads every process to this file. A magic link of /proc does
 * not: /proc/self/exe is another file in each process, and a link of /proc/self/fd
 * may be the only way to a file in memory or one that was removed.
 */
static bool ehs_eligible_has_path(const struct linux_binprm *bprm)
{
	struct path path;
	bool same;

	if (kern_path(bprm->filename, LOOKUP_FOLLOW | LOOKUP_NO_MAGICLINKS, &path))
		return false;
	same = d_backing_inode(path.dentry) == file_inode(bprm->file);
	path_put(&path);
	return same;
}

/*
 * Whether the task is the init process of a pid namespace, be it the host's, or a
 * thread of it. The caller is in an RCU section.
 */
static bool ehs_eligible_is_init(struct task_struct *task)
{
	/* any thread of it; NULL if it was killed and is gone */
	struct pid *tgid = READ_ONCE(task->signal->pids[PIDTYPE_TGID]);

	return tgid && is_child_reaper(tgid);
}

/*
 * Whether a parent waits in vfork() for this task, or for the leader of its group: if
 * another thread calls exec, the leader ends only when that is nearly over.
 */
static bool ehs_eligible_is_waited_for(struct task_struct *task)
{
	return READ_ONCE(task->vfork_done) || READ_ONCE(task->group_leader->vfork_done);
}

/*
 * Whether the init process of a pid namespace, be it the host's, stands still until
 * this exec is over: it has called vfork(), or its child has, and so on. While it
 * does, it takes care of no other process.
 *
 * A parent stops waiting before the exec is over only when it is killed: it clears
 * vfork_done and ends after that, so an init process that is the next parent is not
 * taken to wait. If all of that comes between the two reads here, one exec more
 * stays. The field is compared and not followed, so it takes no task_lock(); RCU
 * keeps the parents. Does not sleep.
 */
static bool ehs_eligible_holds_init(void)
{
	struct task_struct *task = current;
	bool holds = false;
	int i;

	rcu_read_lock();
	for (i = 0; ehs_eligible_is_waited_for(task) && !holds; i++) {
		task = rcu_dereference(task->real_parent);
		holds = ehs_eligible_is_init(task) || i == EHS_VFORKS;
	}
	rcu_read_unlock();
	return holds;
}

/**
 * ehs_eligible_task - whether a task may leave its node, whatever program it is to be
 * @node: its node
 * @agent: agent of the node
 * @subject: the task, current or another one
 *
 * Does not sleep, and waits for nothing but spinlocks: the locks of netlink may be
 * held. A task that ends meanwhile may not leave, for whatever reason.
 *
 * Return: EHS_REASON_NONE if it may, else why not.
 */
enum ehs_reason ehs_eligible_task(struct ehs_node *node, const struct ehs_agent *agent,
				  const struct ehs_subject *subject)
{
	bool init;

	if (READ_ONCE(subject->task->ptrace))
		return EHS_REASON_TRACED;
	if (ehs_eligible_keeps_files(subject->task))
		return EHS_REASON_OPEN_FILES;
	if (!ehs_view_is_of(&agent->view, subject))
		return EHS_REASON_NAMESPACE;
	/* a stub would reap no child of others, and while its exec waits nobody does */
	rcu_read_lock();
	init = ehs_eligible_is_init(subject->task);
	rcu_read_unlock();
	if (init)
		return EHS_REASON_INIT;
	return ehs_confine(node, agent, subject);
}

/**
 * ehs_eligible - whether the exec under way may be transferred
 * @node: node of the current task
 * @agent: agent of the node
 * @bprm: the exec, in its first round
 *
 * May sleep, for the file systems of the program and its interpreter. Nothing can
 * begin to trace the task until the exec is over, because it holds its
 * cred_guard_mutex. What other threads of the task change meanwhile is not guarded
 * against.
 *
 * Return: EHS_REASON_NONE if it may, else why not.
 */
enum ehs_reason ehs_eligible(struct ehs_node *node, const struct ehs_agent *agent,
			     const struct linux_binprm *bprm)
{
	struct ehs_subject subject = ehs_subject_current();
	enum ehs_reason reason;

	/*
	 * execveat() relative to a descriptor: the name is one in /dev/fd, which
	 * neither the stub nor the other node would find
	 */
	if (bprm->fdpath)
		return EHS_REASON_REDIRECT;
	if (bprm->unsafe & LSM_UNSAFE_PTRACE)
		return EHS_REASON_TRACED;
	/* that process may change both at any time, also when the last look is over */
	if (bprm->unsafe & LSM_UNSAFE_SHARE)
		return EHS_REASON_SHARED;
	if (ehs_eligible_holds_init())
		return EHS_REASON_INIT;
	reason = ehs_format_rights(&bprm->file->f_path);
	if (reason != EHS_REASON_NONE)
		return reason;
	reason = ehs_eligible_task(node, agent, &subject);
	if (reason != EHS_REASON_NONE)
		return reason;
	reason = ehs_confine_program(bprm, &subject);
	if (reason != EHS_REASON_NONE)
		return reason;
	/* last, because they cost most */
	reason = ehs_format(bprm);
	if (reason == EHS_REASON_NONE && !ehs_eligible_has_path(bprm))
		return EHS_REASON_REDIRECT;
	return reason;
}
