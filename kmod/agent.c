// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent of a node: a socket, from its registration until it closes, or until
 * another one is registered.
 *
 * The socket is the agent, not a process: a process that may register opens it,
 * and may give it to one without rights (SCM_RIGHTS, fork). It closes with its
 * last holder.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "agent.h"

#include <linux/cred.h>
#include <linux/elf.h>
#include <linux/file.h>
#include <linux/limits.h>
#include <linux/mount.h>
#include <linux/notifier.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/sock.h>

#include "compat/compat.h"
#include "load.h"
#include "program.h"
#include "request.h"
#include "state.h"

/*
 * Takes the file that the caller has open. Netlink's locks are held, which other
 * families wait for, so nothing here may wait for the file system: no path is
 * looked up, no permission asked for, nothing read. An exec does that.
 */
static int ehs_agent_take_stub(struct ehs_agent *agent, const struct nlattr *fd,
			       struct netlink_ext_ack *extack)
{
	const struct inode *inode;
	char *room;
	const char *path;
	int err = 0;

	agent->stub = fget(nla_get_u32(fd));
	if (!agent->stub) {
		NL_SET_ERR_MSG_ATTR(extack, fd, "not a descriptor of an open file");
		return -EBADF;
	}
	inode = file_inode(agent->stub);
	agent->stub_inode = inode;
	if (!S_ISREG(inode->i_mode) || !(inode->i_mode & 0111)) {
		NL_SET_ERR_MSG_ATTR(extack, fd, "stub is not an executable file");
		return -EACCES;
	}
	if (!(agent->stub->f_mode & FMODE_READ)) {
		NL_SET_ERR_MSG_ATTR(extack, fd, "stub is not open for reading");
		return -EACCES;
	}
	room = kmalloc(PATH_MAX, GFP_KERNEL);
	if (!room)
		return -ENOMEM;
	path = d_path(&agent->stub->f_path, room, PATH_MAX);
	if (IS_ERR(path)) {
		NL_SET_ERR_MSG_ATTR(extack, fd, "path of the stub is too long");
		err = PTR_ERR(path);
		goto free_room;
	}
	agent->stub_path = kstrdup(path, EHS_GFP);
	if (!agent->stub_path)
		err = -ENOMEM;
free_room:
	kfree(room);
	return err;
}

static void ehs_agent_free(struct rcu_head *rcu)
{
	struct ehs_agent *agent = container_of(rcu, struct ehs_agent, rcu);

	/* execs look at it under RCU, and find it by the agent only */
	kfree(rcu_dereference_raw(agent->programs));
	kfree(agent->stub_path);
	kfree(agent);
}

/*
 * Nobody has a reference. The files are put here and not after the grace period,
 * where the system's one worker for that would close them: who waits if a file system
 * does not answer then is the process that ends the agent, or its last exec.
 */
static void ehs_agent_close(struct ehs_agent *agent)
{
	if (agent->stub)
		fput(agent->stub);
	ehs_view_drop(&agent->view);
}

/**
 * ehs_agent_register - make a socket the agent of a node
 * @node: node of the socket's namespace
 * @sock: the socket; the caller is sending with it, so it is not closing
 * @port: its port
 * @stub_fd: attribute with an open descriptor of the stub
 * @extack: for the text of a refusal
 *
 * An agent that the node has is replaced, be it another socket or the same.
 * Execs that wait ask the new one, within their time.
 *
 * Return: 0, -EBADF, -EACCES or -ENAMETOOLONG for a bad stub, -ENOMEM, -ENFILE.
 */
int ehs_agent_register(struct ehs_node *node, const struct sock *sock, u32 port,
		       const struct nlattr *stub_fd, struct netlink_ext_ack *extack)
{
	struct ehs_agent *agent, *old;
	int err;

	agent = kzalloc(sizeof(*agent), EHS_GFP);
	if (!agent)
		return -ENOMEM;
	refcount_set(&agent->refs, 1);
	agent->sock = sock;
	agent->port = port;
	err = ehs_view_take(&agent->view);
	if (err)
		goto free_agent;
	err = ehs_agent_take_stub(agent, stub_fd, extack);
	if (err)
		goto free_agent;

	raw_spin_lock(&node->lock);
	old = rcu_replace_pointer(node->agent, agent, lockdep_is_held(&node->lock));
	/* a socket that is registered again does not begin without a past */
	if (old && old->sock == sock) {
		memcpy(agent->breakers, old->breakers, sizeof(agent->breakers));
		agent->unread = old->unread;
	}
	/* under the same lock, so that none is asked by two */
	ehs_request_hand_over(node, !old || old->sock != sock);
	ehs_state_update(node);
	raw_spin_unlock(&node->lock);
	if (old && old->sock != sock && ehs_node_is_host(node))
		pr_info_ratelimited("agent of port %u replaced by port %u, process %d\n", old->port,
				    port, task_tgid_nr(current));
	if (old)
		ehs_agent_put(old);
	ehs_load_wake(node);
	return 0;

free_agent:
	ehs_agent_close(agent);
	/* nobody has seen it, so no grace period is needed */
	ehs_agent_free(&agent->rcu);
	return err;
}

/*
 * Whether the agent is a socket that is being closed. Its port alone does not say
 * so: it is free a moment before the module is told of the close, and an agent
 * that was registered since then may have it. While an agent is registered, its
 * socket is there: it is not freed before all are told.
 */
static bool ehs_agent_closes(const struct ehs_agent *agent, u32 port)
{
	return agent->port == port && sock_flag(agent->sock, SOCK_DEAD);
}

/* Removes the agent if it is closing and has @port, or whatever it is if @port is 0. */
static void ehs_agent_unregister(struct ehs_node *node, u32 port)
{
	struct ehs_agent *agent;

	raw_spin_lock(&node->lock);
	agent = rcu_dereference_protected(node->agent, lockdep_is_held(&node->lock));
	if (agent && (!port || ehs_agent_closes(agent, port))) {
		/* under the same lock, so that none is the next agent's */
		ehs_request_release(node, EHS_REASON_AGENT_GONE);
		RCU_INIT_POINTER(node->agent, NULL);
		ehs_state_update(node);
	} else {
		agent = NULL;
	}
	raw_spin_unlock(&node->lock);
	if (agent)
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
	/*
	 * The last reference is put after another has taken its place: each further look
	 * finds a later one.
	 */
	do
		agent = rcu_dereference(node->agent);
	while (agent && !refcount_inc_not_zero(&agent->refs));
	rcu_read_unlock();
	return agent;
}

/**
 * ehs_agent_put - release a reference
 * @agent: from ehs_agent_get()
 *
 * In process context. The memory is freed after a grace period, for those who look
 * at the node's agent under RCU.
 */
void ehs_agent_put(struct ehs_agent *agent)
{
	if (!refcount_dec_and_test(&agent->refs))
		return;
	ehs_agent_close(agent);
	call_rcu(&agent->rcu, ehs_agent_free);
}

/**
 * ehs_agent_is_socket - whether a socket is the agent
 * @node: node of the socket's namespace
 * @sock: the socket that a message came from, which its sender holds open
 *
 * The address is enough: an agent is unregistered when its socket closes, before
 * the memory of that may be another's. So if a registered agent has this address,
 * it is of this socket. A port would not be enough, because another socket can be
 * bound to it as soon as it is free. Which process sends does not matter: to hold the
 * socket is the right.
 */
bool ehs_agent_is_socket(const struct ehs_node *node, const struct sock *sock)
{
	const struct ehs_agent *agent;
	bool is;

	rcu_read_lock();
	agent = rcu_dereference(node->agent);
	is = agent && agent->sock == sock;
	rcu_read_unlock();
	return is;
}

/**
 * ehs_agent_is_stub - whether @file is the stub that was registered
 * @node: node
 * @file: a program
 *
 * @file holds its own inode. That of the stub may have been freed if the agent has
 * just gone, but then a grace period ago at the earliest, as inodes are found under
 * RCU by others, too. So in this RCU read section its address means no other file.
 */
bool ehs_agent_is_stub(const struct ehs_node *node, const struct file *file)
{
	const struct ehs_agent *agent;
	bool is;

	rcu_read_lock();
	agent = rcu_dereference(node->agent);
	is = agent && agent->stub_inode == file_inode(file);
	rcu_read_unlock();
	return is;
}

/* Whether the kernel's own loader will take the file, as far as its head says. */
static int ehs_agent_check_head(struct file *file)
{
	struct elfhdr elf;
	loff_t at = 0;
	ssize_t n;

	n = kernel_read(file, &elf, sizeof(elf), &at);
	if (n < 0)
		return n;
	if (n != sizeof(elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) || !elf_check_arch(&elf) ||
	    (elf.e_type != ET_EXEC && elf.e_type != ET_DYN))
		return -ENOEXEC;
	return 0;
}

/**
 * ehs_agent_open_stub - open the stub for the exec of the current task
 * @agent: agent
 *
 * A fresh file for each exec, as binfmt_misc makes for its flag F, with the
 * rights of the current task. It makes sure beforehand of what would fail the
 * exec later, when the program that was asked for cannot be had back any more:
 * that the task may execute it, and that it begins like a program. What a
 * security module says to the exec of the stub is not known before.
 *
 * Return: the file, which may not be written to; an error pointer.
 */
struct file *ehs_agent_open_stub(const struct ehs_agent *agent)
{
	struct file *file;
	int err;

	file = dentry_open(&agent->stub->f_path, O_RDONLY | O_LARGEFILE | __FMODE_EXEC,
			   current_cred());
	if (IS_ERR(file))
		return file;
	err = -EACCES;
	if (file->f_path.mnt->mnt_flags & MNT_NOEXEC ||
	    file_inode(file)->i_sb->s_iflags & SB_I_NOEXEC)
		goto put_file;
	err = file_permission(file, MAY_EXEC);
	if (err)
		goto put_file;
	/* first, so that nobody writes another head after it was read */
	err = ehs_exe_deny_write(file);
	if (err)
		goto put_file;
	err = ehs_agent_check_head(file);
	if (err)
		goto allow_write;
	return file;

allow_write:
	ehs_exe_allow_write(file);
put_file:
	fput(file);
	return ERR_PTR(err);
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
