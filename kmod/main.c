// SPDX-License-Identifier: GPL-2.0-only
/*
 * ehsched: hands new tasks of an overloaded host to hosts that are not. This
 * file only puts the parts in sequence; docs/architecture.md has the picture.
 */

#include <linux/ehsched.h>
#include <linux/genetlink.h>
#include <linux/module.h>
#include <linux/stringify.h>
#include <net/genetlink.h>

#include "agent.h"
#include "load.h"
#include "netlink.h"
#include "node.h"
#include "place.h"
#include "task.h"

/* First what others use, last what brings in work: netlink and execs. */
static int __init ehs_init(void)
{
	int err;

	ehs_load_init();
	err = ehs_node_init();
	if (err)
		return err;
	err = ehs_agent_init();
	if (err)
		goto exit_node;
	err = ehs_task_init();
	if (err)
		goto exit_agent;
	err = ehs_nl_init();
	if (err)
		goto exit_task;
	ehs_place_init();
	return 0;

exit_task:
	ehs_task_exit();
exit_agent:
	ehs_agent_exit();
exit_node:
	ehs_node_exit();
	return err;
}

/*
 * Runs only when no exec is in the handler and no dump is half done: both hold
 * the module. Managed tasks run on; what is recorded of them goes with the
 * nodes, after everybody who could look is gone.
 */
static void __exit ehs_exit(void)
{
	ehs_place_exit();
	ehs_nl_exit();
	ehs_load_exit();
	ehs_task_exit();
	ehs_agent_exit();
	ehs_node_exit();
	/* records and agents freed by kfree_rcu() need none of our code */
}

module_init(ehs_init);
module_exit(ehs_exit);

MODULE_DESCRIPTION("Load sharing between hosts: placement of new tasks");
MODULE_AUTHOR("ehsched developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(__stringify(EHS_VERSION));
MODULE_ALIAS_GENL_FAMILY(EHS_FAMILY_NAME);
/* A format loaded later is asked first: what binfmt_misc takes would not be seen. */
MODULE_SOFTDEP("pre: binfmt_misc");
