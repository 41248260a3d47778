// SPDX-License-Identifier: GPL-2.0-only
/*
 * The family's operations on nodes: show one or all, and change one. They run with
 * netlink's lock of all families held for reading, which one that comes or goes
 * waits for, and all calls behind it. So nothing here waits for another caller: no
 * mutex, no grace period, no sample. What takes time is left to work of the node.
 */

#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/magic.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/netlink.h>
#include <net/sock.h>

#include "agent.h"
#include "load.h"
#include "netlink.h"
#include "place.h"
#include "state.h"

static int ehs_nl_put_counters(struct sk_buff *msg, const struct ehs_node *node)
{
	struct nlattr *nest;
	u32 reason;

	for (reason = 0; reason <= EHS_REASON_MAX; reason++) {
		nest = nla_nest_start(msg, EHS_A_NODE_COUNTER);
		if (!nest || nla_put_u32(msg, EHS_A_COUNTER_REASON, reason) ||
		    nla_put_u64_64bit(msg, EHS_A_COUNTER_COUNT,
				      atomic64_read(&node->counters[reason]), EHS_A_COUNTER_PAD))
			return -EMSGSIZE;
		nla_nest_end(msg, nest);
	}
	return 0;
}

static int ehs_nl_put_cgroups(struct sk_buff *msg, const struct ehs_node *node)
{
	const struct ehs_cgroups *cgroups;
	int err = 0;
	unsigned int i;

	rcu_read_lock();
	cgroups = rcu_dereference(node->cgroups);
	for (i = 0; cgroups && i < cgroups->n && !err; i++)
		err = nla_put_u64_64bit(msg, EHS_A_NODE_MANAGED_CGROUP_ID,
					cgroup_id(cgroups->managed[i]), EHS_A_NODE_PAD);
	if (cgroups && cgroups->guest && !err)
		err = nla_put_u64_64bit(msg, EHS_A_NODE_GUEST_CGROUP_ID, cgroup_id(cgroups->guest),
					EHS_A_NODE_PAD);
	if (cgroups && cgroups->always && !err)
		err = nla_put_u64_64bit(msg, EHS_A_NODE_ALWAYS_CGROUP_ID,
					cgroup_id(cgroups->always), EHS_A_NODE_PAD);
	rcu_read_unlock();
	return err;
}

/* How old the sampled load is; an exact one, and one that was never sampled, has no age. */
static int ehs_nl_put_load_age(struct sk_buff *msg, const struct ehs_node *node)
{
	u64 age;

	lockdep_assert_held(&node->lock);
	if (node->set.index == EHS_INDEX_TASKS || !node->sampled_at)
		return 0;
	age = div_u64(ktime_get_ns() - node->sampled_at, NSEC_PER_MSEC);
	return nla_put_u32(msg, EHS_A_NODE_LOAD_AGE, min_t(u64, age, U32_MAX));
}

static int ehs_nl_put_node_locked(struct sk_buff *msg, const struct ehs_node *node)
{
	const struct ehs_agent *agent;

	lockdep_assert_held(&node->lock);
	agent = rcu_dereference_protected(node->agent, lockdep_is_held(&node->lock));
	if (nla_put_u32(msg, EHS_A_NODE_LOAD, ehs_load_get(node)) ||
	    nla_put_u32(msg, EHS_A_NODE_THRESHOLD, ehs_node_threshold(node)) ||
	    nla_put_u32(msg, EHS_A_NODE_THRESHOLD_LENGTH, node->set.length) ||
	    nla_put_u32(msg, EHS_A_NODE_STATE, ehs_state_get(node)) ||
	    nla_put_u32(msg, EHS_A_NODE_LOAD_INDEX, node->set.index) ||
	    nla_put_u32(msg, EHS_A_NODE_WEIGHT, node->set.weight) ||
	    nla_put_u32(msg, EHS_A_NODE_TIME_LIMIT, node->set.time_limit) ||
	    nla_put_u32(msg, EHS_A_NODE_DWELL, node->set.dwell) ||
	    nla_put_u32(msg, EHS_A_NODE_NO_NEW_PRIVS, node->set.no_new_privs) ||
	    nla_put_u32(msg, EHS_A_NODE_MAX_TIME_LIMIT, node->set.max_time_limit) ||
	    nla_put_u32(msg, EHS_A_NODE_MAX_REQUESTS, node->set.max_requests) ||
	    nla_put_u32(msg, EHS_A_NODE_PROCESSORS, node->set.processors) ||
	    nla_put_u32(msg, EHS_A_NODE_NETNS, node->net->ns.inum) ||
	    (agent && nla_put_u32(msg, EHS_A_NODE_AGENT_PORT, agent->port)) ||
	    ehs_nl_put_load_age(msg, node) ||
	    nla_put_u32(msg, EHS_A_NODE_TASKS_LOCAL, node->counts[EHS_TASK_LOCAL]) ||
	    nla_put_u32(msg, EHS_A_NODE_TASKS_GUEST, node->counts[EHS_TASK_GUEST]) ||
	    nla_put_u32(msg, EHS_A_NODE_TASKS_AWAY, node->counts[EHS_TASK_AWAY]) ||
	    nla_put_u32(msg, EHS_A_NODE_PENDING, node->nr_requests))
		return -EMSGSIZE;
	return 0;
}

/**
 * ehs_nl_put_node - put one message about a node
 * @msg: where to
 * @node: node
 * @counters: its counters of reasons, too: they tell what others do
 * @port: port of the receiver, 0 for a notification
 * @seq: sequence number of the request, 0 for a notification
 * @flags: of netlink
 * @cmd: EHS_CMD_NODE_GET or EHS_CMD_NODE_NTF
 *
 * Does not sleep.
 *
 * Return: 0, -EMSGSIZE if there is no room.
 */
int ehs_nl_put_node(struct sk_buff *msg, struct ehs_node *node, bool counters, u32 port, u32 seq,
		    int flags, u8 cmd)
{
	void *hdr = genlmsg_put(msg, port, seq, &ehs_nl_family, flags, cmd);
	int err;

	if (!hdr)
		return -EMSGSIZE;
	raw_spin_lock(&node->lock);
	err = ehs_nl_put_node_locked(msg, node);
	raw_spin_unlock(&node->lock);
	if (!err)
		err = ehs_nl_put_cgroups(msg, node);
	if (!err && counters)
		err = ehs_nl_put_counters(msg, node);
	if (err) {
		genlmsg_cancel(msg, hdr);
		return err;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/* Anybody may call it. A node that was not sampled is from now on; see its load's age. */
int ehs_nl_node_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ehs_node *node = ehs_nl_node(info);
	struct sk_buff *msg;
	int err;

	msg = nlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	ehs_load_wake(node);
	err = ehs_nl_put_node(msg, node, ehs_nl_sees_all(skb, node), info->snd_portid,
			      info->snd_seq, 0, EHS_CMD_NODE_GET);
	if (err) {
		nlmsg_free(msg);
		return err;
	}
	return genlmsg_reply(msg, info);
}

/* Anybody may call it; only the administrator of the host sees other nodes. */
int ehs_nl_node_get_start(struct netlink_callback *cb)
{
	struct net *net = sock_net(cb->skb->sk);
	struct ehs_node *node = ehs_node_of(net);

	ehs_nl_dump_of(cb)->all = net == &init_net && netlink_capable(cb->skb, CAP_NET_ADMIN);
	ehs_nl_dump_of(cb)->counters = ehs_nl_sees_all(cb->skb, node);
	ehs_load_wake(node);
	return 0;
}

int ehs_nl_node_get_dumpit(struct sk_buff *msg, struct netlink_callback *cb)
{
	struct ehs_nl_dump *dump = ehs_nl_dump_of(cb);
	u64 serial = dump->serial;
	struct ehs_node *node;

	rcu_read_lock();
	if (dump->all)
		node = ehs_node_next(&serial);
	else
		node = serial ? NULL : ehs_node_of(sock_net(cb->skb->sk));
	while (node && !ehs_nl_put_node(msg, node, dump->counters, NETLINK_CB(cb->skb).portid,
					cb->nlh->nlmsg_seq, NLM_F_MULTI, EHS_CMD_NODE_GET)) {
		dump->serial = node->serial;
		node = dump->all ? ehs_node_next(&serial) : NULL;
	}
	rcu_read_unlock();
	return msg->len;
}

/*
 * Whether the caller may write to the cgroup, as cgroups themselves ask of those
 * who move tasks. Another thread may put another file behind the descriptor at
 * any time, so the file is compared with the cgroup that was found. Nothing here
 * waits for a file system of user space: the file is known to be a cgroup's when
 * its permissions are asked for.
 */
static int ehs_nl_may_write(u32 fd, const struct cgroup *cgroup)
{
	struct file *file = fget(fd);
	const struct inode *inode;
	int err = -EBADF;

	if (!file)
		return err;
	inode = file_inode(file);
	if (inode->i_sb->s_magic == CGROUP2_SUPER_MAGIC && inode->i_ino == cgroup_id(cgroup))
		err = file_permission(file, MAY_WRITE);
	fput(file);
	return err;
}

static int ehs_nl_cgroup(const struct nlattr *attr, struct cgroup **cgroup,
			 struct netlink_ext_ack *extack)
{
	struct cgroup *found = cgroup_get_from_fd(nla_get_u32(attr));
	int err;

	if (IS_ERR(found)) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "not a file descriptor of a cgroup v2 directory");
		return PTR_ERR(found);
	}
	err = ehs_nl_may_write(nla_get_u32(attr), found);
	if (err) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "the caller may not write to this cgroup");
		cgroup_put(found);
		return err;
	}
	*cgroup = found;
	return 0;
}

static bool ehs_nl_names_cgroups(const struct genl_info *info)
{
	return info->attrs[EHS_A_NODE_MANAGED_CGROUP_FD] ||
	       info->attrs[EHS_A_NODE_GUEST_CGROUP_FD] ||
	       info->attrs[EHS_A_NODE_ALWAYS_CGROUP_FD] || info->attrs[EHS_A_NODE_CLEAR_CGROUPS];
}

/*
 * The cgroups that the message names, referenced. Others may change the node
 * meanwhile: what it keeps is added later, under its lock.
 */
static struct ehs_cgroups *ehs_nl_cgroups(const struct genl_info *info)
{
	struct netlink_ext_ack *extack = info->extack;
	struct ehs_cgroups *cgroups;
	const struct nlattr *attr;
	int err, rem;

	cgroups = kzalloc(sizeof(*cgroups), EHS_GFP);
	if (!cgroups)
		return ERR_PTR(-ENOMEM);
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(attr) != EHS_A_NODE_MANAGED_CGROUP_FD)
			continue;
		if (cgroups->n == EHS_MAX_CGROUPS) {
			NL_SET_ERR_MSG_ATTR(extack, attr, "at most 8 managed cgroups per node");
			err = -E2BIG;
			goto free_cgroups;
		}
		err = ehs_nl_cgroup(attr, &cgroups->managed[cgroups->n], extack);
		if (err)
			goto free_cgroups;
		cgroups->n++;
	}
	attr = info->attrs[EHS_A_NODE_GUEST_CGROUP_FD];
	if (attr) {
		err = ehs_nl_cgroup(attr, &cgroups->guest, extack);
		if (err)
			goto free_cgroups;
	}
	attr = info->attrs[EHS_A_NODE_ALWAYS_CGROUP_FD];
	if (attr) {
		err = ehs_nl_cgroup(attr, &cgroups->always, extack);
		if (err)
			goto free_cgroups;
	}
	return cgroups;

free_cgroups:
	ehs_cgroups_free(cgroups);
	return ERR_PTR(err);
}

/* Copies what the message does not replace. To take a reference does not sleep. */
static void ehs_nl_keep_cgroups(const struct genl_info *info, struct ehs_cgroups *to,
				const struct ehs_cgroups *from)
{
	if (!from || info->attrs[EHS_A_NODE_CLEAR_CGROUPS])
		return;
	if (!info->attrs[EHS_A_NODE_MANAGED_CGROUP_FD]) {
		for (; to->n < from->n; to->n++) {
			to->managed[to->n] = from->managed[to->n];
			cgroup_get(to->managed[to->n]);
		}
	}
	if (!info->attrs[EHS_A_NODE_GUEST_CGROUP_FD] && from->guest) {
		to->guest = from->guest;
		cgroup_get(to->guest);
	}
	if (!info->attrs[EHS_A_NODE_ALWAYS_CGROUP_FD] && from->always) {
		to->always = from->always;
		cgroup_get(to->always);
	}
}

static const struct {
	int attr;
	size_t offset;
} ehs_nl_settings[] = {
	{ EHS_A_NODE_THRESHOLD, offsetof(struct ehs_settings, threshold) },
	{ EHS_A_NODE_THRESHOLD_LENGTH, offsetof(struct ehs_settings, length) },
	{ EHS_A_NODE_LOAD_INDEX, offsetof(struct ehs_settings, index) },
	{ EHS_A_NODE_WEIGHT, offsetof(struct ehs_settings, weight) },
	{ EHS_A_NODE_TIME_LIMIT, offsetof(struct ehs_settings, time_limit) },
	{ EHS_A_NODE_DWELL, offsetof(struct ehs_settings, dwell) },
	{ EHS_A_NODE_NO_NEW_PRIVS, offsetof(struct ehs_settings, no_new_privs) },
	{ EHS_A_NODE_MAX_TIME_LIMIT, offsetof(struct ehs_settings, max_time_limit) },
	{ EHS_A_NODE_MAX_REQUESTS, offsetof(struct ehs_settings, max_requests) },
	{ EHS_A_NODE_PROCESSORS, offsetof(struct ehs_settings, processors) },
};

static bool ehs_nl_names_settings(const struct genl_info *info)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ehs_nl_settings); i++) {
		if (info->attrs[ehs_nl_settings[i].attr])
			return true;
	}
	return false;
}

static void ehs_nl_take_settings(const struct genl_info *info, struct ehs_settings *set)
{
	const struct nlattr *attr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ehs_nl_settings); i++) {
		attr = info->attrs[ehs_nl_settings[i].attr];
		if (attr)
			*(u32 *)((char *)set + ehs_nl_settings[i].offset) = nla_get_u32(attr);
	}
}

/* Whether the message sets what bounds the agent, too. To keep more tasks at home is none of it. */
static bool ehs_nl_names_bounds(const struct genl_info *info)
{
	const struct nlattr *no_new_privs = info->attrs[EHS_A_NODE_NO_NEW_PRIVS];

	return info->attrs[EHS_A_NODE_MAX_TIME_LIMIT] || info->attrs[EHS_A_NODE_MAX_REQUESTS] ||
	       (no_new_privs && nla_get_u32(no_new_privs));
}

/* The settings after the message. A limit that was set before is lowered with its bound. */
static int ehs_nl_settings_after(const struct genl_info *info, struct ehs_settings *set)
{
	const struct nlattr *limit = info->attrs[EHS_A_NODE_TIME_LIMIT];

	ehs_nl_take_settings(info, set);
	if (limit && set->time_limit > set->max_time_limit) {
		NL_SET_ERR_MSG_ATTR(info->extack, limit, "time limit above max-time-limit");
		return -ERANGE;
	}
	set->time_limit = min(set->time_limit, set->max_time_limit);
	return 0;
}

/*
 * Changes what the message names and nothing else, because others may change the
 * rest at the same time. @cgroups is from ehs_nl_cgroups(), or NULL if the node
 * keeps its own; it is the node's after success. *old becomes the set that was
 * replaced, which execs may still look at.
 */
static int ehs_nl_change(const struct genl_info *info, struct ehs_node *node,
			 struct ehs_cgroups *cgroups, struct ehs_cgroups **old)
{
	struct ehs_settings set;
	bool empty = false;
	int err;

	raw_spin_lock(&node->lock);
	set = node->set;
	err = ehs_nl_settings_after(info, &set);
	if (err)
		goto unlock;
	/* what was smoothed of another index says nothing */
	if (node->set.index != set.index)
		node->sampled_at = 0;
	node->set = set;
	if (cgroups) {
		*old = rcu_dereference_protected(node->cgroups, lockdep_is_held(&node->lock));
		ehs_nl_keep_cgroups(info, cgroups, *old);
		empty = !cgroups->n && !cgroups->guest && !cgroups->always;
		rcu_assign_pointer(node->cgroups, empty ? NULL : cgroups);
	}
unlock:
	raw_spin_unlock(&node->lock);
	/* nobody has seen it, and it holds nothing */
	if (empty)
		kfree(cgroups);
	return err;
}

/*
 * Everything is checked before anything is changed. The agent's socket may change
 * settings; which tasks are transferred at all, and what bounds the agent, is the
 * administrator's.
 */
int ehs_nl_node_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct ehs_cgroups *cgroups = NULL, *old = NULL;
	struct ehs_node *node = ehs_nl_node(info);
	bool swap = ehs_nl_names_cgroups(info);
	int err;

	if ((swap || ehs_nl_names_bounds(info)) && !ehs_nl_is_admin(skb, info)) {
		/* longer than a line wherever it begins */
		/* clang-format off */
		NL_SET_ERR_MSG_MOD(info->extack,
				   "cgroups, bounds and no-new-privs take CAP_NET_ADMIN and CAP_SYS_ADMIN over the network namespace");
		/* clang-format on */
		return -EPERM;
	}
	if (!swap && !ehs_nl_names_settings(info)) {
		NL_SET_ERR_MSG_MOD(info->extack,
				   "nothing to change: at least one attribute is needed");
		return -EINVAL;
	}
	if (swap) {
		cgroups = ehs_nl_cgroups(info);
		if (IS_ERR(cgroups))
			return PTR_ERR(cgroups);
		/* first, so that no exec after the change is missed */
		if (cgroups->n || cgroups->guest || cgroups->always)
			ehs_place_watch();
	}
	err = ehs_nl_change(info, node, cgroups, &old);
	if (err) {
		ehs_cgroups_free(cgroups);
		return err;
	}
	ehs_node_changed(node, old, swap);
	return 0;
}
