// SPDX-License-Identifier: GPL-2.0-only
/*
 * The family's operations on tasks: list them, bypass one, say that one is away, account
 * for one, ask about one.
 */

#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/time_namespace.h>
#include <net/genetlink.h>
#include <net/netlink.h>
#include <net/sock.h>

#include "account.h"
#include "away.h"
#include "bypass.h"
#include "inquiry.h"
#include "netlink.h"
#include "task.h"
#include "usage.h"

/* Records that are looked at for one part of a dump. */
#define EHS_NL_LOOKS 1024

/* The task that the message names, referenced, or NULL with *err set. */
static struct pid *ehs_nl_get_pid(struct genl_info *info, int *err)
{
	struct pid *pid;

	if (GENL_REQ_ATTR_CHECK(info, EHS_A_TASK_PID)) {
		NL_SET_ERR_MSG_MOD(info->extack, "pid is missing");
		*err = -EINVAL;
		return NULL;
	}
	pid = find_get_pid(nla_get_u32(info->attrs[EHS_A_TASK_PID]));
	if (!pid) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[EHS_A_TASK_PID], "no such task");
		*err = -ESRCH;
	}
	return pid;
}

static int ehs_nl_do_task(struct genl_info *info,
			  int (*what)(struct ehs_node *node, struct pid *pid,
				      struct netlink_ext_ack *extack))
{
	struct pid *pid;
	int err;

	pid = ehs_nl_get_pid(info, &err);
	if (!pid)
		return err;
	err = what(ehs_nl_node(info), pid, info->extack);
	put_pid(pid);
	return err;
}

int ehs_nl_task_bypass_doit(struct sk_buff *skb, struct genl_info *info)
{
	return ehs_nl_do_task(info, ehs_bypass);
}

int ehs_nl_task_away_doit(struct sk_buff *skb, struct genl_info *info)
{
	return ehs_nl_do_task(info, ehs_away);
}

static u64 ehs_nl_u64(const struct genl_info *info, int type)
{
	return info->attrs[type] ? nla_get_u64(info->attrs[type]) : 0;
}

int ehs_nl_task_account_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct ehs_usage usage = {
		.utime = ehs_nl_u64(info, EHS_A_TASK_USER_TIME),
		.stime = ehs_nl_u64(info, EHS_A_TASK_SYSTEM_TIME),
		.maxrss = ehs_nl_u64(info, EHS_A_TASK_MAX_RSS),
		.min_flt = ehs_nl_u64(info, EHS_A_TASK_MIN_FAULTS),
		.maj_flt = ehs_nl_u64(info, EHS_A_TASK_MAJ_FAULTS),
		.nvcsw = ehs_nl_u64(info, EHS_A_TASK_VOLUNTARY_SWITCHES),
		.nivcsw = ehs_nl_u64(info, EHS_A_TASK_INVOLUNTARY_SWITCHES),
	};
	struct pid *pid;
	int err;

	pid = ehs_nl_get_pid(info, &err);
	if (!pid)
		return err;
	err = ehs_account(ehs_nl_node(info), pid, &usage, info->extack);
	put_pid(pid);
	return err;
}

static int ehs_nl_put_inquiry(struct sk_buff *msg, struct genl_info *info, struct pid *pid,
			      const struct ehs_inquiry *found)
{
	void *hdr;

	hdr = genlmsg_put_reply(msg, info, &ehs_nl_family, 0, EHS_CMD_TASK_ELIGIBLE);
	/* the time as the caller's /proc has it, which may be that of a time namespace */
	if (!hdr || nla_put_u32(msg, EHS_A_TASK_PID, pid_vnr(pid)) ||
	    nla_put_u32(msg, EHS_A_TASK_REASON, found->reason) ||
	    nla_put_u64_64bit(msg, EHS_A_TASK_START_TIME, timens_add_boottime_ns(found->started),
			      EHS_A_TASK_PAD))
		return -EMSGSIZE;
	genlmsg_end(msg, hdr);
	return 0;
}

/*
 * For the agent only, whatever the caller's rights: the process is compared with the
 * one that registered, and nobody else acts upon the answer.
 */
int ehs_nl_task_eligible_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ehs_inquiry found;
	struct sk_buff *msg;
	struct pid *pid;
	int err;

	pid = ehs_nl_get_pid(info, &err);
	if (!pid)
		return err;
	err = ehs_inquiry(ehs_nl_node(info), NETLINK_CB(skb).sk, pid, &found, info->extack);
	if (err)
		goto put_pid;
	err = -ENOMEM;
	/* three small attributes */
	msg = genlmsg_new(64, GFP_KERNEL);
	if (!msg)
		goto put_pid;
	err = ehs_nl_put_inquiry(msg, info, pid, &found);
	if (err)
		nlmsg_free(msg);
	else
		err = genlmsg_reply(msg, info);
put_pid:
	put_pid(pid);
	return err;
}

static int ehs_nl_put_task(struct sk_buff *msg, struct netlink_callback *cb,
			   const struct ehs_task_info *task)
{
	void *hdr;

	hdr = genlmsg_put(msg, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &ehs_nl_family,
			  NLM_F_MULTI, EHS_CMD_TASK_GET);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(msg, EHS_A_TASK_ID, task->id, EHS_A_TASK_PAD) ||
	    nla_put_u32(msg, EHS_A_TASK_PID, pid_vnr(task->tgid)) ||
	    nla_put_u32(msg, EHS_A_TASK_UID, from_kuid_munged(current_user_ns(), task->uid)) ||
	    nla_put_u32(msg, EHS_A_TASK_STATE, task->state) ||
	    nla_put_u32(msg, EHS_A_TASK_REASON, task->reason) ||
	    nla_put_string(msg, EHS_A_TASK_COMMAND, task->command) ||
	    nla_put_u64_64bit(msg, EHS_A_TASK_STARTED, task->started, EHS_A_TASK_PAD) ||
	    nla_put_u64_64bit(msg, EHS_A_TASK_CGROUP_ID, task->cgroup, EHS_A_TASK_PAD)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/* Anybody may call it; others' tasks are for the namespace's administrator, and the agent. */
int ehs_nl_task_get_start(struct netlink_callback *cb)
{
	struct net *net = sock_net(cb->skb->sk);

	ehs_nl_dump_of(cb)->all = ehs_nl_sees_all(cb->skb, ehs_node_of(net));
	return 0;
}

/*
 * Shows the caller no more than /proc would, even where that is mounted with
 * hidepid: tasks that his pid namespace has, and only his own unless he is the
 * administrator. The user is that of the last exec; a process may change it later.
 */
static bool ehs_nl_shows(struct netlink_callback *cb, const struct ehs_task_info *task)
{
	return pid_vnr(task->tgid) &&
	       (ehs_nl_dump_of(cb)->all || uid_eq(task->uid, NETLINK_CREDS(cb->skb)->uid));
}

/*
 * A part of a dump without a task, because an empty one would be its end: a message
 * that netlink lets receivers pass over.
 */
static int ehs_nl_put_none(struct sk_buff *msg, struct netlink_callback *cb)
{
	if (!nlmsg_put(msg, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, NLMSG_NOOP, 0,
		       NLM_F_MULTI))
		return -EMSGSIZE;
	return msg->len;
}

/*
 * The first part is made with netlink's lock of all families held, so a part ends after
 * EHS_NL_LOOKS records, whether the caller may see any of them or not.
 */
int ehs_nl_task_get_dumpit(struct sk_buff *msg, struct netlink_callback *cb)
{
	struct ehs_node *node = ehs_node_of(sock_net(cb->skb->sk));
	u64 *serial = &ehs_nl_dump_of(cb)->serial;
	struct ehs_task_info task;
	unsigned int looks;
	int err = 0;

	for (looks = 0; looks < EHS_NL_LOOKS; looks++) {
		if (!ehs_task_next(node, *serial, &task))
			return msg->len;
		if (ehs_nl_shows(cb, &task))
			err = ehs_nl_put_task(msg, cb, &task);
		put_pid(task.tgid);
		/* a full message is not an error: the next call goes on after the last record */
		if (err)
			return msg->len;
		*serial = task.serial;
		cond_resched();
	}
	if (fatal_signal_pending(current))
		return -EINTR;
	return msg->len ?: ehs_nl_put_none(msg, cb);
}
