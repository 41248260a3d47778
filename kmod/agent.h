/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_AGENT_H
#define _EHS_AGENT_H

#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/refcount.h>

#include "node.h"

/**
 * struct ehs_agent - the socket that answers the placement requests of a node
 * @refs: one of the node while registered, one of each exec that asks
 * @rcu: frees it
 * @port: netlink port in the node's namespace
 * @tgid: the process that registered; tasks that share its namespaces and root
 *	may be placed
 * @stub_dev: file system of the stub
 * @stub_ino: inode number of the stub
 * @stub: absolute path of the stub, the program that stands in for a task that
 *	runs on another node
 */
struct ehs_agent {
	refcount_t refs;
	struct rcu_head rcu;
	u32 port;
	struct pid *tgid;
	dev_t stub_dev;
	unsigned long stub_ino;
	char stub[];
};

int ehs_agent_register(struct ehs_node *node, u32 port, const struct nlattr *stub,
		       struct netlink_ext_ack *extack);
void ehs_agent_drop(struct ehs_node *node);
struct ehs_agent *ehs_agent_get(struct ehs_node *node);
void ehs_agent_put(struct ehs_agent *agent);
bool ehs_agent_is_stub(const struct ehs_node *node, const struct file *file);

int ehs_agent_init(void);
void ehs_agent_exit(void);

#endif /* _EHS_AGENT_H */
