// SPDX-License-Identifier: GPL-2.0-only
/* The family's operations on tasks: list them, bypass one, account for one. */

#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <net/genetlink.h>
#include <net/netlink.h>
#include <net/sock.h>

#include "account.h"
#include "netlink.h"
#include "task.h"

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

/* Needs CAP_NET_ADMIN. */
int ehs_nl_task_bypass_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pid *pid;
	int err;

	pid = ehs_nl_get_pid(info, &err);
	if (!pid)
		return err;
	err = ehs_task_bypass(ehs_nl_node(info), pid, info->extack);
	put_pid(pid);
	return err;
}

static u64 ehs_nl_u64(const struct genl_info *info, int type)
{
	return info->attrs[type] ? nla_get_u64(info->attrs[type]) : 0;
}

/* Needs CAP_NET_ADMIN. */
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

struct ehs_nl_task_msg {
	struct sk_buff *msg;
	struct netlink_callback *cb;
};

static int ehs_nl_put_task(const struct ehs_task *rec, void *data)
{
	struct ehs_nl_task_msg *to = data;
	struct netlink_callback *cb = to->cb;
	struct sk_buff *msg = to->msg;
	void *hdr;

	hdr = genlmsg_put(msg, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &ehs_nl_family,
			  NLM_F_MULTI, EHS_CMD_TASK_GET);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(msg, EHS_A_TASK_ID, rec->id, EHS_A_TASK_PAD) ||
	    nla_put_u32(msg, EHS_A_TASK_PID, pid_nr_ns(rec->tgid, task_active_pid_ns(current))) ||
	    nla_put_u32(msg, EHS_A_TASK_UID, from_kuid_munged(current_user_ns(), rec->uid)) ||
	    nla_put_u32(msg, EHS_A_TASK_STATE, rec->state) ||
	    nla_put_u32(msg, EHS_A_TASK_REASON, rec->reason) ||
	    nla_put_string(msg, EHS_A_TASK_COMMAND, rec->command) ||
	    nla_put_u64_64bit(msg, EHS_A_TASK_STARTED, rec->started, EHS_A_TASK_PAD) ||
	    nla_put_u64_64bit(msg, EHS_A_TASK_CGROUP_ID, rec->cgroup, EHS_A_TASK_PAD)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/*
 * Anybody may call it. It shows pid, user, command, state and cgroup of every
 * recorded task of the network namespace. This may be more than /proc shows to
 * the caller: tasks of other pid namespaces are listed (with pid 0), those of
 * other users even where /proc is mounted with hidepid.
 */
int ehs_nl_task_get_dumpit(struct sk_buff *msg, struct netlink_callback *cb)
{
	struct ehs_nl_task_msg to = { .msg = msg, .cb = cb };

	/* a full message is not an error: the next call goes on after the last record */
	ehs_task_walk(ehs_node_of(sock_net(cb->skb->sk)), &ehs_nl_dump_of(cb)->serial,
		      ehs_nl_put_task, &to);
	return msg->len;
}
