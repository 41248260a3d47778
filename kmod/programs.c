// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that stay: the agent names them, because they are so short that to ask
 * would cost more than it gains. Their execs are counted and run here, and neither
 * the agent nor anything of the task is looked at.
 *
 * They are the agent's and end with its registration. A program is known by device,
 * inode number and change time. No reference to the file is held, which would keep
 * its file system mounted. A program that was changed or replaced is another one, and
 * the agent is asked.
 */

#include "programs.h"

#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/genetlink.h>
#include <net/netlink.h>

#include "agent.h"
#include "compat/compat.h"
#include "node.h"
#include "program.h"

/*
 * Reads what the kernel has of the inode in memory: nothing is asked of the file system.
 * A change of the time meanwhile makes a program that is none, at worst.
 */
static struct ehs_program ehs_programs_of(const struct file *file)
{
	const struct inode *inode = file_inode(file);
	struct timespec64 changed = ehs_inode_ctime(inode);

	return (struct ehs_program){
		.ino = inode->i_ino,
		.sec = changed.tv_sec,
		.nsec = changed.tv_nsec,
		.dev = inode->i_sb->s_dev,
	};
}

/* A descriptor for the path only (O_PATH) will do: not every program can be read. */
static int ehs_programs_take(struct ehs_program_set *set, const struct nlattr *fd,
			     struct netlink_ext_ack *extack)
{
	struct file *file = fget_raw(nla_get_u32(fd));
	struct ehs_program program;
	int err = 0;

	if (!file) {
		NL_SET_ERR_MSG_ATTR(extack, fd, "not a descriptor of an open file");
		return -EBADF;
	}
	if (S_ISREG(file_inode(file)->i_mode)) {
		program = ehs_programs_of(file);
		ehs_program_add(set, &program);
	} else {
		NL_SET_ERR_MSG_ATTR(extack, fd, "a program that stays is a regular file");
		err = -EINVAL;
	}
	/* the last reference is put by the task on its way back to user space */
	fput(file);
	return err;
}

/* The number of programs that the message names, -E2BIG if there are too many. */
static int ehs_programs_number(const struct nlmsghdr *nlh, struct netlink_ext_ack *extack)
{
	const struct nlattr *attr;
	int rem, n = 0;

	nlmsg_for_each_attr(attr, nlh, GENL_HDRLEN, rem) {
		if (nla_type(attr) != EHS_A_AGENT_PROGRAM_FD)
			continue;
		if (n++ == EHS_MAX_PROGRAMS) {
			NL_SET_ERR_MSG_ATTR(extack, attr, "at most 256 programs stay");
			return -E2BIG;
		}
	}
	return n;
}

/* The set that the message names; NULL if it names none, or an error pointer. */
static struct ehs_program_set *ehs_programs_read(const struct nlmsghdr *nlh,
						 struct netlink_ext_ack *extack)
{
	struct ehs_program_set *set;
	const struct nlattr *attr;
	unsigned int bits;
	int rem, err, n;

	n = ehs_programs_number(nlh, extack);
	if (n <= 0)
		return ERR_PTR(n);
	bits = ehs_program_bits(n);
	set = kzalloc(struct_size(set, slots, 1UL << bits), EHS_GFP);
	if (!set)
		return ERR_PTR(-ENOMEM);
	set->bits = bits;
	nlmsg_for_each_attr(attr, nlh, GENL_HDRLEN, rem) {
		if (nla_type(attr) != EHS_A_AGENT_PROGRAM_FD)
			continue;
		err = ehs_programs_take(set, attr, extack);
		if (err) {
			kfree(set);
			return ERR_PTR(err);
		}
	}
	return set;
}

/**
 * ehs_programs_set - replace the programs that stay
 * @node: node of the socket's namespace
 * @sock: the socket that asks, which must be the agent's
 * @nlh: the message, with an attribute for each program; without any none stays
 * @extack: for the text of a refusal
 *
 * Netlink's locks are held, which other families wait for. Nothing sleeps here except
 * for memory: of a file only the inode in memory is read.
 *
 * Return: 0, -EPERM if the socket is not the agent's, -EBADF or -EINVAL for what is no
 * program, -E2BIG if there are too many, -ENOMEM.
 */
int ehs_programs_set(struct ehs_node *node, const struct sock *sock, const struct nlmsghdr *nlh,
		     struct netlink_ext_ack *extack)
{
	struct ehs_program_set *set = ehs_programs_read(nlh, extack);
	struct ehs_agent *agent;
	int err = 0;

	if (IS_ERR(set))
		return PTR_ERR(set);
	raw_spin_lock(&node->lock);
	agent = rcu_dereference_protected(node->agent, lockdep_is_held(&node->lock));
	/* another may have been registered since the rights were looked at */
	if (agent && agent->sock == sock)
		set = rcu_replace_pointer(agent->programs, set, lockdep_is_held(&node->lock));
	else
		err = -EPERM;
	raw_spin_unlock(&node->lock);
	if (err)
		NL_SET_ERR_MSG_MOD(extack, "only the socket registered as agent may do this");
	/* the set of before, which execs may still look at; or, refused, the new one */
	if (set)
		kfree_rcu(set, rcu);
	return err;
}

/**
 * ehs_programs_has - whether execs of a program stay
 * @node: node
 * @file: the program; of a script the script, not its interpreter
 *
 * Takes no lock and does not sleep.
 */
bool ehs_programs_has(const struct ehs_node *node, const struct file *file)
{
	const struct ehs_program_set *set;
	const struct ehs_agent *agent;
	struct ehs_program program;
	bool has = false;

	rcu_read_lock();
	agent = rcu_dereference(node->agent);
	set = agent ? rcu_dereference(agent->programs) : NULL;
	if (set) {
		program = ehs_programs_of(file);
		has = ehs_program_in(set, &program);
	}
	rcu_read_unlock();
	return has;
}
