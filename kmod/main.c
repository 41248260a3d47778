// SPDX-License-Identifier: GPL-2.0-only
/*
 * ehsched: runs new tasks of an overloaded host on hosts that are not. This
 * file only starts and ends the parts in order; docs/kernel.md of the project
 * describes them.
 */

#include <linux/ehsched.h>
#include <linux/genetlink.h>
#include <linux/module.h>
#include <linux/stringify.h>
#include <net/genetlink.h>

#include "agent.h"
#include "compat/bad.h"
#include "load.h"
#include "netlink.h"
#include "node.h"
#include "place.h"
#include "request.h"
#include "task.h"
#include "watch.h"

/* First what the others use; last what brings work in: netlink, and by it execs. */
static int __init ehs_init(void)
{
	int err;

	err = ehs_bad_check();
	if (err)
		return err;
	ehs_load_init();
	ehs_task_init();
	err = ehs_node_init();
	if (err)
		return err;
	err = ehs_agent_init();
	if (err)
		goto exit_node;
	err = ehs_watch_init();
	if (err)
		goto exit_agent;
	/* before a node can have cgroups, and so an exec a cookie */
	ehs_request_setup();
	err = ehs_nl_init();
	if (err)
		goto exit_watch;
	return 0;

exit_watch:
	ehs_watch_exit();
exit_agent:
	ehs_agent_exit();
exit_node:
	ehs_node_exit();
	rcu_barrier();
	return err;
}

/*
 * Runs only when no exec is in the handler and no dump is half done: both hold
 * the module. Managed tasks and stubs run on. Their records are freed with the
 * nodes, when nothing is left that could look them up; of stubs the agent tells a
 * module that is loaded later.
 */
static void __exit ehs_exit(void)
{
	ehs_nl_exit();
	ehs_place_exit();
	ehs_load_exit();
	ehs_watch_exit();
	ehs_agent_exit();
	ehs_node_exit();
	/* what call_rcu() still has to call is code of this module */
	rcu_barrier();
}

module_init(ehs_init);
module_exit(ehs_exit);

MODULE_DESCRIPTION("Load sharing between hosts: placement of new tasks");
MODULE_AUTHOR("ehsched developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(__stringify(EHS_VERSION));

/*
 * A format that is loaded later is asked first: the module would not see what
 * binfmt_misc takes.
 */
MODULE_SOFTDEP("pre: binfmt_misc");
