// SPDX-License-Identifier: GPL-2.0-only
/*
 * What confines a task here and would not confine it on another node. A guest
 * runs with what the agents give it: a task that has less, or is watched by
 * something else than the agent, stays at home.
 */

#include "confine.h"

#include <linux/binfmts.h>
#include <linux/bpf-cgroup.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <linux/security.h>
#include <linux/string.h>

#include "agent.h"
#include "compat/compat.h"
#include "legacy.h"
#include "node.h"
#include "subject.h"

/*
 * Whether the node lets tasks with no_new_privs go. Where Landlock has rules for the
 * network and scopes, none does: no_new_privs is how a process without CAP_SYS_ADMIN
 * gets into a domain, and a domain without rules for files is not seen.
 */
static bool ehs_confine_nnp_may_go(struct ehs_node *node)
{
	bool may;

	if (EHS_LANDLOCK_HIDES)
		return false;
	raw_spin_lock(&node->lock);
	may = node->set.no_new_privs;
	raw_spin_unlock(&node->lock);
	return may;
}

/*
 * Whether the task is under what it cannot leave again, and what it starts inherits:
 * seccomp, no memory that was written and is executed (PR_SET_MDWE), processor cores
 * that it shares with few others (PR_SCHED_CORE), speculation that is off for good
 * (PR_SPEC_FORCE_DISABLE). PR_SPEC_DISABLE is no limit, because the task can undo it,
 * and PR_SPEC_DISABLE_NOEXEC ends with the exec. Another thread may set seccomp for
 * all of them.
 *
 * task_lock() keeps the memory of another task; it goes when the task ends.
 */
static bool ehs_confine_is_limited(struct task_struct *task)
{
	bool mdwe;

#ifdef CONFIG_SECCOMP
	if (READ_ONCE(task->seccomp.mode))
		return true;
#endif
	if (ehs_task_has_core_cookie(task) || task_spec_ssb_force_disable(task) ||
	    task_spec_ib_force_disable(task))
		return true;
	task_lock(task);
	mdwe = !task->mm || ehs_mm_has_mdwe(task->mm);
	task_unlock(task);
	return mdwe;
}

/*
 * Whether a cgroup of version 1 forbids devices to the task or classes its packets. It
 * is not known which: its rules are the controller's own. What the agent was under when
 * it registered guests are under, too.
 */
static bool ehs_confine_has_legacy(struct task_struct *task, const struct ehs_agent *agent)
{
	const struct ehs_legacy legacy = ehs_legacy_of(task);

	return ehs_legacy_has_more(&legacy, &agent->view.legacy);
}

/* Whether the kernel would start a program with these ids in secure mode (AT_SECURE). */
static bool ehs_confine_is_secure(const struct cred *cred)
{
	return !uid_eq(cred->uid, cred->euid) || !gid_eq(cred->gid, cred->egid) ||
	       !uid_eq(cred->euid, cred->fsuid) || !gid_eq(cred->egid, cred->fsgid);
}

/*
 * Whether the task has other capabilities than its user has by default. Root
 * that has put some down gets them back by an exec only without no_new_privs.
 */
static bool ehs_confine_has_caps(const struct cred *cred, const struct cred *agent)
{
	return !cap_issubset(agent->cap_bset, cred->cap_bset) || !cap_isclear(cred->cap_ambient) ||
	       cred->securebits != SECUREBITS_DEFAULT ||
	       (uid_eq(cred->uid, make_kuid(cred->user_ns, 0)) &&
		!cap_issubset(cred->cap_bset, cred->cap_permitted));
}

/*
 * The domain that the security modules (SELinux, AppArmor, Smack) give a task with these
 * credentials. AppArmor knows no other task's and no other credentials' id,
 * only that of the current ones; so these are put on for a moment.
 */
static void ehs_confine_lsm_id(const struct cred *cred, struct ehs_lsm_id *id)
{
	const struct cred *own = override_creds(cred);

	ehs_lsm_current_id(id);
	revert_creds(own);
}

/* Whether the security modules take the two for different. */
static bool ehs_confine_other_domain(const struct cred *a, const struct cred *b)
{
	struct ehs_lsm_id its, mine;

	ehs_confine_lsm_id(a, &its);
	ehs_confine_lsm_id(b, &mine);
	return memcmp(&its, &mine, sizeof(its));
}

/*
 * Whether the credentials are of a Landlock domain. No exported function says so,
 * but Landlock refuses every remount in a domain that handles the file system, and
 * of the kernel's other security modules only SELinux looks at remounts, of
 * which it does nothing without options. Nothing is remounted. SELinux and the
 * audit record of newer kernels, which log the refusal, want a real file system:
 * that of the agent's root directory, which the agent holds. The record is made
 * without waiting for memory or for the audit daemon.
 *
 * Not seen: a domain that has rules for the network or scopes only. Its task has
 * no_new_privs, which is looked at before, or had CAP_SYS_ADMIN when it made it.
 */
static bool ehs_confine_has_landlock(const struct cred *cred, const struct ehs_agent *agent)
{
	const struct cred *own = override_creds(cred);
	bool has;

	has = security_sb_remount(file_inode(agent->view.root)->i_sb, NULL);
	revert_creds(own);
	return has;
}

#ifdef CONFIG_CGROUP_BPF
static bool ehs_confine_runs(const struct cgroup *cgrp, unsigned int type,
			     const struct bpf_prog *prog)
{
	const struct bpf_prog_array_item *item;
	const struct bpf_prog *other;

	item = rcu_dereference(cgrp->bpf.effective[type])->items;
	for (; (other = READ_ONCE(item->prog)); item++)
		if (other == prog)
			return true;
	return false;
}

/*
 * Whether all programs of the task's cgroup are programs of @than, too. Under RCU.
 * The arrays of a cgroup are freed, a grace period later, after it goes offline,
 * and the pointers to them stay: so that is looked at in the same read section. A
 * living task's own cgroup cannot go, but another task may be moved out of it, or
 * end, while this looks at it: then the programs cannot be seen.
 */
static bool ehs_confine_has_more_bpf(struct task_struct *task, const struct cgroup *than)
{
	const struct cgroup *mine = task_dfl_cgroup(task);
	bool online = READ_ONCE(than->self.flags) & CSS_ONLINE;
	const struct bpf_prog_array_item *item;
	const struct bpf_prog *prog;
	unsigned int type;

	if (mine == than)
		return false;
	if (!(READ_ONCE(mine->self.flags) & CSS_ONLINE))
		return true;
	for (type = 0; type < ARRAY_SIZE(mine->bpf.effective); type++) {
		item = rcu_dereference(mine->bpf.effective[type])->items;
		for (; (prog = READ_ONCE(item->prog)); item++)
			if (!online || !ehs_confine_runs(than, type, prog))
				return true;
	}
	return false;
}

/*
 * Guests have the BPF programs of their guest cgroup. What those here have is
 * taken to be what others give to theirs.
 */
static bool ehs_confine_has_bpf(const struct ehs_node *node, const struct ehs_agent *agent,
				struct task_struct *task)
{
	const struct ehs_cgroups *cgroups;
	bool has;

	rcu_read_lock();
	cgroups = rcu_dereference(node->cgroups);
	has = ehs_confine_has_more_bpf(task, cgroups && cgroups->guest ? cgroups->guest
								       : agent->view.cgroup);
	rcu_read_unlock();
	return has;
}
#else
static bool ehs_confine_has_bpf(const struct ehs_node *node, const struct ehs_agent *agent,
				struct task_struct *task)
{
	return false;
}
#endif /* CONFIG_CGROUP_BPF */

/**
 * ehs_confine - whether something confines a task that would not on another node
 * @node: its node
 * @agent: agent of the node, which has the same user namespace as the task
 * @subject: the task
 *
 * Does not sleep, and waits for nothing but spinlocks.
 *
 * Return: EHS_REASON_NONE if nothing does, else what.
 */
enum ehs_reason ehs_confine(struct ehs_node *node, const struct ehs_agent *agent,
			    const struct ehs_subject *subject)
{
	const struct cred *its = agent->view.cred, *cred = subject->cred;
	struct task_struct *task = subject->task;

	if (ehs_confine_is_limited(task) || ehs_confine_has_legacy(task, agent))
		return EHS_REASON_CONFINED;
	if (task_no_new_privs(task) && !ehs_confine_nnp_may_go(node))
		return EHS_REASON_NO_NEW_PRIVS;
	if (ehs_confine_is_secure(cred))
		return EHS_REASON_SECUREEXEC;
	if (ehs_confine_has_caps(cred, its))
		return EHS_REASON_CAPABILITIES;
	/* guests are in the domain of the agents */
	if (ehs_confine_other_domain(its, cred))
		return EHS_REASON_LSM;
	if (ehs_confine_has_landlock(cred, agent))
		return EHS_REASON_LANDLOCK;
	if (ehs_confine_has_bpf(node, agent, task))
		return EHS_REASON_CGROUP_BPF;
	return EHS_REASON_NONE;
}

/**
 * ehs_confine_program - whether a program is confined otherwise than its task
 * @bprm: the exec, in its first round
 * @subject: the task, which is current
 *
 * A security module has asked for a start in secure mode by now; for the ids the
 * kernel does it later, for whatever program is executed then, which would be the
 * stub. bprm->cred is what the task is to become: the stub would run in the program's
 * domain, without the program.
 *
 * Return: EHS_REASON_NONE if it is not, else how.
 */
enum ehs_reason ehs_confine_program(const struct linux_binprm *bprm,
				    const struct ehs_subject *subject)
{
	if (bprm->secureexec)
		return EHS_REASON_SECUREEXEC;
	if (ehs_confine_other_domain(subject->cred, bprm->cred))
		return EHS_REASON_LSM;
	return EHS_REASON_NONE;
}
