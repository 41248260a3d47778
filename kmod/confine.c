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
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <linux/security.h>
#include <linux/string.h>

#include "agent.h"
#include "compat/compat.h"
#include "node.h"

/* Whether the node lets tasks with no_new_privs go. */
static bool ehs_confine_nnp_may_go(void)
{
	struct ehs_node *node = ehs_node_of(current->nsproxy->net_ns);
	bool may;

	raw_spin_lock(&node->lock);
	may = node->set.no_new_privs;
	raw_spin_unlock(&node->lock);
	return may;
}

/*
 * Whether the program starts in secure mode (AT_SECURE). A security module has
 * asked for it by now; for the ids the kernel does it later, for whatever
 * program is executed then, which would be the stub.
 */
static bool ehs_confine_is_secure(const struct linux_binprm *bprm)
{
	const struct cred *cred = current_cred();

	return bprm->secureexec || !uid_eq(cred->uid, cred->euid) ||
	       !gid_eq(cred->gid, cred->egid) || !uid_eq(cred->euid, cred->fsuid) ||
	       !gid_eq(cred->egid, cred->fsgid);
}

/*
 * Whether the task has other capabilities than its user has by default. Root
 * that has put some down gets them back by an exec only without no_new_privs.
 */
static bool ehs_confine_has_caps(const struct cred *agent)
{
	const struct cred *cred = current_cred();

	return !cap_issubset(agent->cap_bset, cred->cap_bset) || !cap_isclear(cred->cap_ambient) ||
	       cred->securebits != SECUREBITS_DEFAULT ||
	       (uid_eq(cred->uid, make_kuid(cred->user_ns, 0)) &&
		!cap_issubset(cred->cap_bset, cred->cap_permitted));
}

/*
 * Who the security modules (SELinux, AppArmor, Smack) take a task with these
 * credentials for. AppArmor knows no other task's and no other credentials' id,
 * only that of the current ones; so these are put on for a moment.
 */
static void ehs_confine_lsm_id(const struct cred *cred, struct ehs_lsm_id *id)
{
	const struct cred *own = override_creds(cred);

	ehs_lsm_current_id(id);
	revert_creds(own);
}

/*
 * Whether a security module has another domain for the task than for the agent,
 * or for the program than for the task: bprm->cred is what the task is to
 * become. The stub would run in the program's domain, without the program, and
 * guests in that of the agents.
 */
static bool ehs_confine_has_domain(const struct linux_binprm *bprm, const struct cred *agent)
{
	struct ehs_lsm_id its, mine, next;

	ehs_confine_lsm_id(agent, &its);
	ehs_lsm_current_id(&mine);
	ehs_confine_lsm_id(bprm->cred, &next);
	return memcmp(&its, &mine, sizeof(its)) || memcmp(&mine, &next, sizeof(mine));
}

/*
 * Whether the task is in a Landlock domain. No exported function says so, but
 * Landlock refuses every remount in a domain that handles the file system, and
 * of the kernel's other security modules only SELinux looks at remounts, of
 * which it does nothing without options. Nothing is remounted. SELinux and the
 * audit record of newer kernels, which log the refusal, want a real file system.
 *
 * Not seen: a domain that has rules for the network or scopes only, made with
 * CAP_SYS_ADMIN and without no_new_privs, which is looked at before.
 */
static bool ehs_confine_has_landlock(const struct linux_binprm *bprm)
{
	return security_sb_remount(file_inode(bprm->file)->i_sb, NULL);
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
 * Whether all programs of the current task's cgroup are programs of @than, too.
 * Under RCU. The arrays of a cgroup are freed, a grace period later, after it
 * goes offline, and the pointers to them stay: so that is looked at in the same
 * read section. The task's own cgroup cannot go.
 */
static bool ehs_confine_has_more_bpf(const struct cgroup *than)
{
	const struct cgroup *mine = task_dfl_cgroup(current);
	bool online = READ_ONCE(than->self.flags) & CSS_ONLINE;
	const struct bpf_prog_array_item *item;
	const struct bpf_prog *prog;
	unsigned int type;

	if (mine == than)
		return false;
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
static bool ehs_confine_has_bpf(const struct ehs_agent *agent)
{
	const struct ehs_node *node = ehs_node_of(current->nsproxy->net_ns);
	const struct ehs_cgroups *cgroups;
	bool has;

	rcu_read_lock();
	cgroups = rcu_dereference(node->cgroups);
	has = ehs_confine_has_more_bpf(cgroups && cgroups->guest ? cgroups->guest
								 : agent->view.cgroup);
	rcu_read_unlock();
	return has;
}
#else
static bool ehs_confine_has_bpf(const struct ehs_agent *agent)
{
	return false;
}
#endif /* CONFIG_CGROUP_BPF */

/**
 * ehs_confine - whether something confines the task that would not on another node
 * @bprm: the exec, in its first round
 * @agent: agent of the node, which has the same user namespace as the task
 *
 * May sleep.
 *
 * Return: EHS_REASON_NONE if nothing does, else what.
 */
enum ehs_reason ehs_confine(const struct linux_binprm *bprm, const struct ehs_agent *agent)
{
	const struct cred *cred = agent->view.cred;

#ifdef CONFIG_SECCOMP
	/* another thread may set it for all of them */
	if (READ_ONCE(current->seccomp.mode))
		return EHS_REASON_CONFINED;
#endif
	if (task_no_new_privs(current) && !ehs_confine_nnp_may_go())
		return EHS_REASON_NO_NEW_PRIVS;
	if (ehs_confine_is_secure(bprm))
		return EHS_REASON_SECUREEXEC;
	if (ehs_confine_has_caps(cred))
		return EHS_REASON_CAPABILITIES;
	if (ehs_confine_has_domain(bprm, cred))
		return EHS_REASON_LSM;
	if (ehs_confine_has_landlock(bprm))
		return EHS_REASON_LANDLOCK;
	if (ehs_confine_has_bpf(agent))
		return EHS_REASON_CGROUP_BPF;
	return EHS_REASON_NONE;
}
