// SPDX-License-Identifier: GPL-2.0-only
/*
 * Placement of execs. The module is the first handler in the kernel's list of
 * binary formats: it sees every exec, may sleep, and can name an interpreter as
 * binfmt_script does. It never loads a program itself.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "place.h"

#include <linux/binfmts.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "agent.h"
#include "eligible.h"
#include "leave.h"
#include "programs.h"
#include "request.h"
#include "task.h"
#include "trace.h"
#include "walk.h"

static bool ehs_place_intercept = true;
static DEFINE_SPINLOCK(ehs_place_watch_lock);
static bool ehs_place_watches; /* our format is in the list, for good */

/*
 * Puts the stub in place of the program, as binfmt_script does with the
 * interpreter, but keeps argv[0]: the stub gets
 *   { stub, token, path, argv[0], argv[1] ... }
 * These are also what /proc/PID/cmdline and audit show. On failure @bprm is as
 * it was.
 */
static int ehs_place_redirect(struct linux_binprm *bprm, const struct ehs_agent *agent,
			      const char *token)
{
	unsigned long p = bprm->p;
	struct file *file;
	int err;

	err = copy_string_kernel(bprm->filename, bprm);
	if (err)
		goto pop_strings;
	err = copy_string_kernel(token, bprm);
	if (err)
		goto pop_strings;
	err = copy_string_kernel(agent->stub_path, bprm);
	if (err)
		goto pop_strings;
	/* on failure it leaves a NULL, which the next format would follow */
	err = bprm_change_interp(agent->stub_path, bprm);
	if (err)
		goto restore_interp;
	file = ehs_agent_open_stub(agent);
	if (IS_ERR(file)) {
		err = PTR_ERR(file);
		goto restore_interp;
	}
	bprm->argc += 3;
	bprm->interpreter = file;
	return 0;

restore_interp:
	kfree(bprm->interp);
	bprm->interp = bprm->filename;
pop_strings:
	bprm->p = p;
	return err;
}

/*
 * The same, and the log is told of the host's node why it failed: a stub that does not
 * start keeps every task at home. Return: whether the stub is in place.
 */
static bool ehs_place_stub(const struct ehs_node *node, struct linux_binprm *bprm,
			   const struct ehs_agent *agent, const char *token)
{
	int err = ehs_place_redirect(bprm, agent, token);

	/* a user can have as many arguments, or as little memory, that there is no room */
	if (err && err != -E2BIG && err != -ENOMEM && ehs_node_is_host(node))
		pr_notice_ratelimited("cannot use the stub %s: error %d\n", agent->stub_path, err);
	return !err;
}

/*
 * Whether the exec may still be transferred: while it waited, the task may have been
 * moved to another cgroup, another thread may have changed its root directory or
 * its files, and the path may have become that of another program. The stub is
 * asked for nothing of this later. Return: EHS_REASON_NONE, or why not.
 */
static enum ehs_reason ehs_place_look_again(struct ehs_node *node, const struct ehs_agent *agent,
					    const struct linux_binprm *bprm)
{
	if (!ehs_kind_is_managed(ehs_node_kind(node, current)))
		return EHS_REASON_MOVED;
	return ehs_eligible(node, agent, bprm);
}

/*
 * Asks the agent, and each that takes its place meanwhile: another one may see
 * the system otherwise, and has a stub of its own. Return: true if the stub is in
 * place, false if the program is to run here; *reason is set in both cases.
 */
static bool ehs_place_ask(struct ehs_node *node, struct ehs_task *rec, struct linux_binprm *bprm,
			  u64 cookie, enum ehs_reason *reason)
{
	struct ehs_agent *agent, *last = NULL;
	enum ehs_reason changed;
	struct ehs_request req;
	bool remote = false;
	bool over;

	ehs_request_init(&req, cookie, bprm->filename);
	do {
		agent = ehs_agent_get(node);
		/* nothing refers to the one before: it has gone, or the request is over */
		if (last)
			ehs_agent_put(last);
		last = agent;
		over = true;
		if (!agent) {
			ehs_request_give_up(node, &req, EHS_REASON_NO_AGENT);
			break;
		}
		*reason = ehs_eligible(node, agent, bprm);
		if (*reason == EHS_REASON_NONE) {
			ehs_task_wait(rec);
			over = ehs_request_ask(node, agent, &req);
		} else {
			ehs_request_give_up(node, &req, *reason);
		}
	} while (!over);

	*reason = req.reason;
	if (req.started_at)
		trace_ehs_verdict(cookie, req.verdict, req.reason, ktime_get_ns() - req.started_at);
	if (agent && req.verdict == EHS_VERDICT_REMOTE) {
		changed = ehs_place_look_again(node, agent, bprm);
		remote = changed == EHS_REASON_NONE && ehs_place_stub(node, bprm, agent, req.token);
		if (!remote)
			*reason = changed != EHS_REASON_NONE ? changed : EHS_REASON_REDIRECT;
	}
	if (agent)
		ehs_agent_put(agent);
	return remote;
}

/*
 * Why the agent is not asked, or EHS_REASON_NONE. Samples know of a processor that has become
 * free only later than a script starts its next command, and a compiler its next part: so when
 * they say that none is, the exec looks for itself. What costs least comes first.
 */
static enum ehs_reason ehs_place_unasked(const struct ehs_node *node, enum ehs_kind kind,
					 const struct ehs_arrival *arrival,
					 const struct file *program)
{
	bool always = kind == EHS_KIND_ALWAYS;

	if (!always && !arrival->full)
		return EHS_REASON_NOT_SENDER;
	if (ehs_programs_has(node, program))
		return EHS_REASON_STAYS;
	if (!always && arrival->walk && !ehs_walk_is_full(node, arrival->walk))
		return EHS_REASON_NOT_SENDER;
	return EHS_REASON_NONE;
}

/*
 * An exec in a managed or guest cgroup of the node. Return: as a binary format
 * does; 0 makes the kernel try again with the interpreter, which is our stub.
 */
static int ehs_place_arrival(struct ehs_node *node, struct linux_binprm *bprm, enum ehs_kind kind)
{
	struct ehs_arrival arrival = {
		.cookie = ehs_request_cookie(node),
		.path = bprm->filename,
	};
	enum ehs_task_state where = EHS_TASK_LOCAL;
	enum ehs_reason reason;
	struct ehs_task *rec;
	bool remote = false;

	ehs_leave_exec(node);
	rec = ehs_task_enter(node, &arrival);
	reason = arrival.reason;
	trace_ehs_arrival(node, &arrival);
	if (kind == EHS_KIND_GUEST) {
		where = EHS_TASK_GUEST;
		reason = EHS_REASON_GUEST;
	} else if (ehs_agent_is_stub(node, bprm->file)) {
		/* started by hand: here until the agent says that its work is elsewhere */
		reason = EHS_REASON_STUB;
	} else if (reason == EHS_REASON_NONE) {
		/* first, because the other checks cost more */
		reason = ehs_place_unasked(node, kind, &arrival, bprm->file);
		if (reason == EHS_REASON_NONE)
			remote = ehs_place_ask(node, rec, bprm, arrival.cookie, &reason);
		/* moved while it waited */
		if (ehs_node_kind(node, current) == EHS_KIND_GUEST)
			where = EHS_TASK_GUEST;
	}
	if (remote)
		where = EHS_TASK_AWAY;

	if (rec) {
		ehs_task_settle(rec, where, reason);
		/* it may have been moved while it waited */
		ehs_leave_settled(rec);
		ehs_task_put(rec);
	}
	atomic64_inc(&node->counters[reason]);
	trace_ehs_decision(node, arrival.cookie, where, reason);

	/* it has a fatal signal: there is no point in loading the program */
	if (reason == EHS_REASON_KILLED)
		return -EINTR;
	return remote ? 0 : -ENOEXEC;
}

static int ehs_place_load_binary(struct linux_binprm *bprm)
{
	struct ehs_node *node;
	enum ehs_kind kind;
	int err;

	/*
	 * The two names differ in the later rounds of an exec: for the
	 * interpreter of a script, an emulator, or our stub. The kernel's own
	 * helpers have no memory map yet; they belong to no user.
	 */
	if (bprm->interp != bprm->filename || !current->mm)
		return -ENOEXEC;
	node = ehs_node_of(current->nsproxy->net_ns);
	kind = ehs_node_kind(node, current);
	if (likely(kind == EHS_KIND_OTHER)) {
		/* a container's first process, say, or the program that a stub falls back to */
		if (ehs_task_any())
			ehs_leave_exec(NULL);
		return -ENOEXEC;
	}
	if (!READ_ONCE(ehs_place_intercept))
		return -ENOEXEC;
	err = ehs_place_arrival(node, bprm, kind);
	/*
	 * For a file of unknown format the kernel loads a module and goes
	 * through its list again, with the same interpreter. A copy of the name
	 * tells the second round from the first. If there is no memory for the
	 * copy, such a file is counted twice.
	 */
	if (err == -ENOEXEC && bprm_change_interp(bprm->filename, bprm))
		bprm->interp = bprm->filename;
	return err;
}

static struct linux_binfmt ehs_place_format = {
	.module = THIS_MODULE,
	.load_binary = ehs_place_load_binary,
};

static int ehs_place_set_intercept(const char *value, const struct kernel_param *param)
{
	int err = param_set_bool(value, param);

	if (err)
		return err;
	if (READ_ONCE(ehs_place_intercept))
		ehs_request_start();
	else
		ehs_request_stop();
	return 0;
}

static const struct kernel_param_ops ehs_place_intercept_ops = {
	.set = ehs_place_set_intercept,
	.get = param_get_bool,
};

/*
 * An exec in the handler holds the module, so rmmod fails with "in use" while a
 * request waits. With many of them that may be so at any time. N lets the
 * waiting ones go on and admits no new ones; then the module can be removed.
 */
module_param_cb(intercept, &ehs_place_intercept_ops, &ehs_place_intercept, 0644);
MODULE_PARM_DESC(intercept, "look at execs in managed cgroups; N before removing a busy module");

/**
 * ehs_place_watch - a node is about to have managed or guest cgroups
 *
 * Only from the first such node on does the module see execs: each entry of the
 * list of formats costs every exec of the host a reference to its module. Every
 * user can get here, for a node of his own: once there is such a node, none takes the
 * lock. Does not sleep.
 */
void ehs_place_watch(void)
{
	/* pairs with the release below: the format is in the list */
	if (smp_load_acquire(&ehs_place_watches))
		return;
	spin_lock(&ehs_place_watch_lock);
	if (!ehs_place_watches) {
		insert_binfmt(&ehs_place_format);
		/* pairs with the acquire above */
		smp_store_release(&ehs_place_watches, true);
	}
	spin_unlock(&ehs_place_watch_lock);
}

/*
 * Called when no exec is in the handler: each call holds a reference to the
 * module, taken under the lock of the list of formats. And when there is no
 * family any more through which a node could get cgroups.
 */
void ehs_place_exit(void)
{
	if (ehs_place_watches)
		unregister_binfmt(&ehs_place_format);
}
