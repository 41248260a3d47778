// SPDX-License-Identifier: GPL-2.0-only
/* The agent of a node: registered by a socket, unregistered when it closes. */

#include "agent.h"

#include <linux/namei.h>
#include <linux/notifier.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netlink.h>

#include "load.h"
#include "request.h"
#include "state.h"

/*
 * The path is looked up under the lock of generic netlink: a file system that
 * does not answer blocks other families' requests, too. Known defect.
 */
static int ehs_agent_check_stub(struct ehs_agent *agent, const struct nlattr *attr,
				struct netlink_ext_ack *extack)
{
	const struct inode *inode;
	struct path path;
	int err;

	if (agent->stub[0] != '/') {
		NL_SET_ERR_MSG_ATTR(extack, attr, "stub path must be absolute");
		return -EINVAL;
	}
	err = kern_path(agent->stub, LOOKUP_FOLLOW, &path);
	if (err) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "stub not found");
		return err;
	}
	inode = d_backing_inode(path.dentry);
	if (!S_ISREG(inode->i_mode) || !(inode->i_mode & 0111)) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "stub is not an executable file");
		err = -EACCES;
	}
	agent->stub_dev = inode->i_sb->s_dev;
	agent->stub_ino = inode->i_ino;
	path_put(&path);
	return err;
}

/**
 * ehs_agent_register - make a socket the agent of a node
 * @node: node of the socket's namespace
 * @port: port of the socket
 * @stub: attribute with the path of the stub
 * @extack: for the text of a refusal
 *
 * Return: 0, -EBUSY if the node has an agent, -EINVAL, -EACCES or the error of
 * the path walk for a bad stub, -ENOMEM.
 */
int ehs_agent_register(struct ehs_node *node, u32 port, const struct nlattr *stub,
		       struct netlink_ext_ack *extack)
{
	struct ehs_agent *agent;
	int err;

	agent = kzalloc(sizeof(*agent) + nla_len(stub) + 1, GFP_KERNEL_ACCOUNT);
	if (!agent)
		return -ENOMEM;
	refcount_set(&agent->refs, 1);
	agent->port = port;
	nla_strscpy(agent->stub, stub, nla_len(stub) + 1);
	agent->tgid = get_task_pid(current, PIDTYPE_TGID);
	err = ehs_agent_check_stub(agent, stub, extack);
	if (err)
		goto put_agent;

	raw_spin_lock(&node->lock);
	if (rcu_access_pointer(node->agent)) {
		raw_spin_unlock(&node->lock);
		NL_SET_ERR_MSG(extack, "this node already has an agent");
		err = -EBUSY;
		goto put_agent;
	}
	rcu_assign_pointer(node->agent, agent);
	ehs_state_update(node);
	raw_spin_unlock(&node->lock);
	ehs_load_wake(node, false);
	return 0;

put_agent:
	ehs_agent_put(agent);
	return err;
}

/* Removes the agent if its port is @port, or whatever its port if @port is 0. */
static void ehs_agent_unregister(struct ehs_node *node, u32 port)
{
	struct ehs_agent *agent;

	raw_spin_lock(&node->lock);
	agent = rcu_dereference_protected(node->agent, lockdep_is_held(&node->lock));
	if (agent && (!port || agent->port == port))
		RCU_INIT_POINTER(node->agent, NULL);
	else
		agent = NULL;
	if (agent)
		ehs_state_update(node);
	raw_spin_unlock(&node->lock);

	if (!agent)
		return;
	/*
	 * No new request of this agent can come in: that is checked under the
	 * lock. But an agent that registers just here has its first requests
	 * released as well.
	 */
	ehs_request_release(node, EHS_REASON_AGENT_GONE);
	ehs_agent_put(agent);
}

/**
 * ehs_agent_drop - remove the agent, if there is one
 * @node: node
 */
void ehs_agent_drop(struct ehs_node *node)
{
	ehs_agent_unregister(node, 0);
}

/**
 * ehs_agent_get - take a reference to the agent of a node
 * @node: node
 *
 * Return: the agent or NULL. It may be unregistered while the reference is held.
 */
struct ehs_agent *ehs_agent_get(struct ehs_node *node)
{
	struct ehs_agent *agent;

	rcu_read_lock();
	agent = rcu_dereference(node->agent);
	if (agent && !refcount_inc_not_zero(&agent->refs))
		agent = NULL;
	rcu_read_unlock();
	return agent;
}

/**
 * ehs_agent_put - release a reference
 * @agent: from ehs_agent_get()
 */
void ehs_agent_put(struct ehs_agent *agent)
{
	if (!refcount_dec_and_test(&agent->refs))
		return;
	put_pid(agent->tgid);
	kfree_rcu(agent, rcu);
}

/**
 * ehs_agent_is_stub - whether @file is the stub that was registered
 * @node: node
 * @file: a program
 *
 * Compares device and inode number. These are not unique across subvolumes of
 * btrfs, and the number may be used again after the stub was replaced.
 */
bool ehs_agent_is_stub(const struct ehs_node *node, const struct file *file)
{
	const struct inode *inode = file_inode(file);
	const struct ehs_agent *agent;
	bool is;

	rcu_read_lock();
	agent = rcu_dereference(node->agent);
	is = agent && agent->stub_ino == inode->i_ino && agent->stub_dev == inode->i_sb->s_dev;
	rcu_read_unlock();
	return is;
}

/* A netlink socket was closed, in whatever way. Its namespace still exists. */
static int ehs_agent_socket_closed(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct netlink_notify *closed = data;

	if (event == NETLINK_URELEASE && closed->protocol == NETLINK_GENERIC)
		ehs_agent_unregister(ehs_node_of(closed->net), closed->portid);
	return NOTIFY_DONE;
}

static struct notifier_block ehs_agent_notifier = {
	.notifier_call = ehs_agent_socket_closed,
};

int ehs_agent_init(void)
{
	return netlink_register_notifier(&ehs_agent_notifier);
}

void ehs_agent_exit(void)
{
	netlink_unregister_notifier(&ehs_agent_notifier);
}
