// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inquiries of the agent: whether a process may leave its node. A process that has
 * itself run on another node without an exec that the module sees is judged here by
 * the same code as such an exec.
 *
 * Netlink's locks are held, which other families wait for. So nothing sleeps here,
 * and nothing waits for what a user can hold: not for a file system, a mutex of the
 * process (cred_guard_mutex, mmap_lock), or the end of an exec. The spinlocks of the
 * process are held by its own calls as briefly as by these.
 */

#include "inquiry.h"

#include <linux/cred.h>
#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "agent.h"
#include "eligible.h"
#include "node.h"
#include "subject.h"

/* A process with more threads is not looked at: netlink's locks would be held for long. */
#define EHS_INQUIRY_THREADS 32

static enum ehs_reason ehs_inquiry_thread(struct ehs_node *node, const struct ehs_agent *agent,
					  struct task_struct *task)
{
	struct ehs_subject subject = { .task = task };
	enum ehs_reason reason;

	/* a thread may have gone into another network namespace by itself */
	if (!ehs_node_has(node, task))
		return EHS_REASON_NAMESPACE;
	subject.cred = get_task_cred(task);
	reason = ehs_eligible_task(node, agent, &subject);
	/* freed by RCU if this was the last reference */
	put_cred(subject.cred);
	return reason;
}

/*
 * Takes references to the threads of a process that have not ended. Return: their
 * number, EHS_INQUIRY_THREADS + 1 if there are more than have room.
 */
static int ehs_inquiry_threads(struct task_struct *leader, struct task_struct **threads)
{
	struct task_struct *task;
	int n = 0;

	rcu_read_lock();
	for_each_thread(leader, task) {
		if (READ_ONCE(task->flags) & PF_EXITING)
			continue;
		if (n < EHS_INQUIRY_THREADS)
			threads[n] = get_task_struct(task);
		if (n++ == EHS_INQUIRY_THREADS)
			break;
	}
	rcu_read_unlock();
	return n;
}

/*
 * Judges all threads: each may have other credentials and namespaces than its
 * leader, and be under seccomp by itself. Those that begin meanwhile are as the ones
 * that started them. Return: 0 or -E2BIG.
 */
static int ehs_inquiry_process(struct ehs_node *node, const struct ehs_agent *agent,
			       struct task_struct *leader, enum ehs_reason *reason)
{
	struct task_struct *threads[EHS_INQUIRY_THREADS];
	int i, n;

	*reason = EHS_REASON_NONE;
	n = ehs_inquiry_threads(leader, threads);
	for (i = 0; i < n && i < EHS_INQUIRY_THREADS; i++) {
		if (*reason == EHS_REASON_NONE)
			*reason = ehs_inquiry_thread(node, agent, threads[i]);
		put_task_struct(threads[i]);
	}
	return n > EHS_INQUIRY_THREADS ? -E2BIG : 0;
}

/*
 * One that is ending is not said to be anything: it has lost its files and namespaces,
 * or is about to. This is looked at last. The leader may end before its threads; then
 * nobody knows which of them would go on elsewhere.
 */
static int ehs_inquiry_leader(struct ehs_node *node, const struct ehs_agent *agent,
			      struct task_struct *leader, struct ehs_inquiry *found,
			      struct netlink_ext_ack *extack)
{
	int err;

	if (READ_ONCE(leader->flags) & PF_KTHREAD) {
		NL_SET_ERR_MSG_MOD(extack, "a kernel thread never leaves");
		return -EINVAL;
	}
	if (!ehs_node_has(node, leader)) {
		NL_SET_ERR_MSG_MOD(extack, "no such process in this network namespace");
		return -ESRCH;
	}
	err = ehs_inquiry_process(node, agent, leader, &found->reason);
	if (err) {
		NL_SET_ERR_MSG_MOD(extack, "the process has more threads than are looked at");
		return err;
	}
	if (READ_ONCE(leader->flags) & PF_EXITING) {
		NL_SET_ERR_MSG_MOD(extack, "the process is ending");
		return -ESRCH;
	}
	/* never changes: a thread that takes the leader's place in an exec gets its time, too */
	found->started = leader->start_boottime;
	return 0;
}

/**
 * ehs_inquiry - whether a process may leave its node
 * @node: node of the socket's namespace
 * @sock: the socket that asks, which must be the agent's
 * @pid: process id; the id of another thread is no process
 * @found: filled in
 * @extack: for the text of a refusal
 *
 * The answer held at some moment of the call. The process may change right after
 * it, but it cannot undo what confines it.
 *
 * Return: 0, -EPERM if the socket is not the agent's, -ESRCH if there is no such
 * process in the node or it is ending, -EINVAL for a kernel thread, -E2BIG if it
 * has too many threads.
 */
int ehs_inquiry(struct ehs_node *node, const struct sock *sock, struct pid *pid,
		struct ehs_inquiry *found, struct netlink_ext_ack *extack)
{
	struct task_struct *leader = get_pid_task(pid, PIDTYPE_TGID);
	struct ehs_agent *agent = ehs_agent_get(node);
	int err;

	/* another may have been registered since the rights were looked at */
	if (!agent || agent->sock != sock) {
		NL_SET_ERR_MSG_MOD(extack, "only the socket registered as agent may ask this");
		err = -EPERM;
	} else if (!leader) {
		NL_SET_ERR_MSG_MOD(extack, "no such process in this network namespace");
		err = -ESRCH;
	} else {
		err = ehs_inquiry_leader(node, agent, leader, found, extack);
	}
	if (agent)
		ehs_agent_put(agent);
	if (leader)
		put_task_struct(leader);
	return err;
}
