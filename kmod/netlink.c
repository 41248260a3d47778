// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family, as uapi/ehsched.yaml specifies it: netlink_gen.c has
 * the operations and their policies. Here are the rights, the agent and its verdicts;
 * netlink_node.c and netlink_task.c have the other operations. Everybody may read
 * what is of no user. What else there is takes the agent's socket, or capabilities
 * over the user namespace of the network namespace: docs/kernel.md of the project has
 * a table. Every refusal by this file has an extack text.
 */

#include "netlink.h"

#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/netlink.h>
#include <net/sock.h>

#include "agent.h"
#include "load.h"
#include "programs.h"
#include "request.h"
#include "state.h"
#include "task.h"

/*
 * The number of the family's multicast group must not be used after the family
 * is unregistered. Held for reading over a notification, because the work queue
 * that sends them outlives the family.
 */
static DECLARE_RWSEM(ehs_nl_notify_lock);
static bool ehs_nl_notify_on;

/*
 * Before each operation that is not a dump: its node. There is nothing to
 * release after it, for the socket of the caller holds the namespace, and the
 * namespace the node.
 */
int ehs_nl_pre_doit(const struct genl_split_ops *ops, struct sk_buff *skb, struct genl_info *info)
{
	info->user_ptr[0] = ehs_node_of(genl_info_net(info));
	return 0;
}

/* The socket that the message came from; its sender holds it open. */
static const struct sock *ehs_nl_sender(const struct sk_buff *skb)
{
	return NETLINK_CB(skb).sk;
}

/**
 * ehs_nl_is_admin - whether the caller is an administrator of the namespace
 * @skb: the request
 * @info: the same
 *
 * All tasks there obey what is changed, so it takes CAP_SYS_ADMIN, too:
 * CAP_NET_ADMIN alone is given to containers that share the host's network. Netlink
 * asks both the caller and, of a socket that is not told where to send to, its
 * opener.
 */
bool ehs_nl_is_admin(struct sk_buff *skb, struct genl_info *info)
{
	struct user_namespace *user_ns = genl_info_net(info)->user_ns;

	return netlink_ns_capable(skb, user_ns, CAP_NET_ADMIN) &&
	       netlink_ns_capable(skb, user_ns, CAP_SYS_ADMIN);
}

/**
 * ehs_nl_sees_all - whether the caller may see what all users of the namespace do
 * @skb: the request
 * @node: node of the caller
 */
bool ehs_nl_sees_all(const struct sk_buff *skb, const struct ehs_node *node)
{
	return ehs_agent_is_socket(node, ehs_nl_sender(skb)) ||
	       netlink_ns_capable(skb, node->net->user_ns, CAP_NET_ADMIN);
}

/*
 * Before each operation that changes what the node does to tasks. The agent's
 * socket may, whoever writes to it: who registered it had the right to, and gave
 * it to whom he wanted. So neither the writer's rights count nor the opener's.
 */
int ehs_nl_pre_owner(const struct genl_split_ops *ops, struct sk_buff *skb, struct genl_info *info)
{
	ehs_nl_pre_doit(ops, skb, info);
	if (ehs_agent_is_socket(ehs_nl_node(info), ehs_nl_sender(skb)) ||
	    ehs_nl_is_admin(skb, info))
		return 0;
	/* longer than a line wherever it begins */
	/* clang-format off */
	NL_SET_ERR_MSG_MOD(info->extack,
			   "this takes the agent's socket, or CAP_NET_ADMIN and CAP_SYS_ADMIN over the network namespace");
	/* clang-format on */
	return -EPERM;
}

/*
 * Before what only the agent may do, whatever the caller's rights. Where an answer is
 * the present agent's only, the operation looks again, at an agent that is locked or
 * referenced: another may come meanwhile.
 */
int ehs_nl_pre_agent(const struct genl_split_ops *ops, struct sk_buff *skb, struct genl_info *info)
{
	ehs_nl_pre_doit(ops, skb, info);
	if (ehs_agent_is_socket(ehs_nl_node(info), ehs_nl_sender(skb)))
		return 0;
	NL_SET_ERR_MSG_MOD(info->extack, "only the socket registered as agent may do this");
	return -EPERM;
}

/*
 * Needs CAP_NET_ADMIN over the network namespace, which the owner of its user
 * namespace has from outside of it, too. But the stub runs with the rights of
 * every task that execs and has the same view as the agent. To name the stub
 * takes rights over all of them: CAP_SYS_ADMIN in the caller's user namespace.
 */
int ehs_nl_agent_register_doit(struct sk_buff *skb, struct genl_info *info)
{
	if (GENL_REQ_ATTR_CHECK(info, EHS_A_AGENT_STUB_FD)) {
		NL_SET_ERR_MSG_MOD(info->extack, "descriptor of the stub is missing");
		return -EINVAL;
	}
	if (!netlink_ns_capable(skb, current_user_ns(), CAP_SYS_ADMIN)) {
		NL_SET_ERR_MSG_MOD(info->extack,
				   "an agent needs CAP_SYS_ADMIN in its own user namespace");
		return -EPERM;
	}
	return ehs_agent_register(ehs_nl_node(info), ehs_nl_sender(skb), info->snd_portid,
				  info->attrs[EHS_A_AGENT_STUB_FD], info->extack);
}

/* Reasons of the kernel, whose counters must stay true. */
static bool ehs_nl_is_kernels(u32 reason)
{
	return (reason > EHS_REASON_NONE && reason <= EHS_REASON_REDIRECT) ||
	       reason >= EHS_REASON_NO_NEW_PRIVS;
}

/*
 * The token becomes the first argument of a program that runs with the rights of
 * the task: it must be none of its options, nor what else has a meaning there.
 */
static bool ehs_nl_names_placement(const struct nlattr *token)
{
	return isalnum(*(const char *)nla_data(token));
}

int ehs_nl_place_verdict_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct netlink_ext_ack *extack = info->extack;
	struct nlattr **attrs = info->attrs;
	struct ehs_request answer = {};

	if (GENL_REQ_ATTR_CHECK(info, EHS_A_PLACE_COOKIE) ||
	    GENL_REQ_ATTR_CHECK(info, EHS_A_PLACE_VERDICT)) {
		NL_SET_ERR_MSG_MOD(extack, "cookie or verdict is missing");
		return -EINVAL;
	}
	answer.cookie = nla_get_u64(attrs[EHS_A_PLACE_COOKIE]);
	answer.verdict = nla_get_u32(attrs[EHS_A_PLACE_VERDICT]);
	if (answer.verdict == EHS_VERDICT_REMOTE) {
		answer.reason = EHS_REASON_SENDER;
		if (!attrs[EHS_A_PLACE_TOKEN] || nla_len(attrs[EHS_A_PLACE_TOKEN]) < 2) {
			NL_SET_ERR_MSG_MOD(extack, "a remote verdict needs a token");
			return -EINVAL;
		}
		if (!ehs_nl_names_placement(attrs[EHS_A_PLACE_TOKEN])) {
			NL_SET_ERR_MSG_ATTR(extack, attrs[EHS_A_PLACE_TOKEN],
					    "a token begins with a letter or a digit");
			return -EINVAL;
		}
		nla_strscpy(answer.token, attrs[EHS_A_PLACE_TOKEN], sizeof(answer.token));
	}
	if (attrs[EHS_A_PLACE_REASON]) {
		answer.reason = nla_get_u32(attrs[EHS_A_PLACE_REASON]);
		if (ehs_nl_is_kernels(answer.reason)) {
			NL_SET_ERR_MSG_ATTR(extack, attrs[EHS_A_PLACE_REASON],
					    "only the kernel may give this reason");
			return -EINVAL;
		}
	}
	return ehs_request_answer(ehs_nl_node(info), ehs_nl_sender(skb), &answer, extack);
}

int ehs_nl_programs_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	return ehs_programs_set(ehs_nl_node(info), ehs_nl_sender(skb), info->nlhdr, info->extack);
}

/**
 * ehs_nl_place_request - send a placement request for the current task
 * @node: its node
 * @agent: agent to send it to
 * @req: cookie and path
 * @time_limit: how long the task waits, ms
 *
 * Return: 0, -EAGAIN if the agent's socket is full, -ECONNREFUSED if it is
 * closed, -ENOMEM.
 */
int ehs_nl_place_request(struct ehs_node *node, const struct ehs_agent *agent,
			 const struct ehs_request *req, u32 time_limit)
{
	u64 cgroup;
	struct sk_buff *msg;
	void *hdr;
	u32 load;

	raw_spin_lock(&node->lock);
	load = ehs_load_get(node);
	raw_spin_unlock(&node->lock);
	rcu_read_lock();
	cgroup = cgroup_id(task_dfl_cgroup(current));
	rcu_read_unlock();

	/* seven small attributes and the path */
	msg = genlmsg_new(128 + nla_total_size(strlen(req->path) + 1), GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	hdr = genlmsg_put(msg, 0, 0, &ehs_nl_family, 0, EHS_CMD_PLACE_REQUEST);
	if (!hdr || nla_put_u64_64bit(msg, EHS_A_PLACE_COOKIE, req->cookie, EHS_A_PLACE_PAD) ||
	    nla_put_u32(msg, EHS_A_PLACE_PID,
			pid_nr_ns(task_tgid(current), ns_of_pid(agent->view.tgid))) ||
	    nla_put_u32(msg, EHS_A_PLACE_UID, from_kuid_munged(current_user_ns(), current_uid())) ||
	    nla_put_string(msg, EHS_A_PLACE_PATH, req->path) ||
	    nla_put_u64_64bit(msg, EHS_A_PLACE_CGROUP_ID, cgroup, EHS_A_PLACE_PAD) ||
	    nla_put_u32(msg, EHS_A_PLACE_LOAD, load) ||
	    nla_put_u32(msg, EHS_A_PLACE_TIME_LIMIT, time_limit)) {
		nlmsg_free(msg);
		return -ENOMEM;
	}
	genlmsg_end(msg, hdr);
	return genlmsg_unicast(node->net, msg, agent->port);
}

/**
 * ehs_nl_node_notify - send the node as it is now to its subscribers
 * @node: node
 *
 * Sleeps.
 */
void ehs_nl_node_notify(struct ehs_node *node)
{
	struct sk_buff *msg;

	down_read(&ehs_nl_notify_lock);
	if (!ehs_nl_notify_on || !genl_has_listeners(&ehs_nl_family, node->net, EHSCHED_NLGRP_NODE))
		goto unlock;
	msg = nlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!msg || ehs_nl_put_node(msg, node, false, 0, 0, 0, EHS_CMD_NODE_NTF)) {
		/* as if their buffers were full: then they know that they must ask */
		nlmsg_free(msg);
		genl_set_err(&ehs_nl_family, node->net, 0, EHSCHED_NLGRP_NODE, -ENOBUFS);
		goto unlock;
	}
	genlmsg_multicast_netns(&ehs_nl_family, node->net, msg, 0, EHSCHED_NLGRP_NODE, GFP_KERNEL);
unlock:
	up_read(&ehs_nl_notify_lock);
}

static const struct genl_multicast_group ehs_nl_groups[] = {
	[EHSCHED_NLGRP_NODE] = { .name = EHS_MCGRP_NODE },
};

struct genl_family ehs_nl_family __ro_after_init = {
	.name = EHS_FAMILY_NAME,
	.version = EHS_FAMILY_VERSION,
	.netnsok = true,
	/* verdicts must not wait for the requests of other families */
	.parallel_ops = true,
	.module = THIS_MODULE,
	.mcgrps = ehs_nl_groups,
	.n_mcgrps = ARRAY_SIZE(ehs_nl_groups),
};

int ehs_nl_init(void)
{
	int err;

	err = ehs_genl_set_ops(&ehs_nl_family, ehsched_nl_ops, ARRAY_SIZE(ehsched_nl_ops));
	if (err)
		return err;
	err = genl_register_family(&ehs_nl_family);
	if (err)
		return err;
	down_write(&ehs_nl_notify_lock);
	ehs_nl_notify_on = true;
	up_write(&ehs_nl_notify_lock);
	return 0;
}

void ehs_nl_exit(void)
{
	down_write(&ehs_nl_notify_lock);
	ehs_nl_notify_on = false;
	up_write(&ehs_nl_notify_lock);
	genl_unregister_family(&ehs_nl_family);
}
