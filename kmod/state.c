// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state of a node, and its announcement. Two things are delayed: a node is
 * a receiver only after its load was low (below threshold - length) for the
 * dwell time, and subscribers are told at most every EHS_STATE_TELL_MS, of the
 * latest state.
 */

#include "state.h"

#include <linux/jiffies.h>

#include "agent.h"
#include "load.h"
#include "netlink.h"

#define EHS_STATE_TELL_MS 10

static unsigned long ehs_state_dwell_of(const struct ehs_node *node)
{
	return ehs_state_left(node->low_since, node->set.dwell, get_jiffies_64());
}

/**
 * ehs_state_get - the state as others see it: after the dwell time
 * @node: node, locked
 */
enum ehs_state ehs_state_get(const struct ehs_node *node)
{
	enum ehs_state state;

	lockdep_assert_held(&node->lock);
	state = ehs_state_of(ehs_load_get(node), ehs_node_threshold(node), node->set.length);
	if (state == EHS_STATE_RECEIVER && (!node->low || ehs_state_dwell_of(node)))
		state = EHS_STATE_OK;
	return state;
}

static struct ehs_notice ehs_state_now(const struct ehs_node *node)
{
	const struct ehs_agent *agent;

	agent = rcu_dereference_protected(node->agent, lockdep_is_held(&node->lock));
	return (struct ehs_notice){
		.state = ehs_state_get(node),
		.threshold = ehs_node_threshold(node),
		.length = node->set.length,
		.port = agent ? agent->port : 0,
	};
}

static bool ehs_state_is_news(const struct ehs_node *node, const struct ehs_notice *now)
{
	return memcmp(&node->notice, now, sizeof(*now));
}

/*
 * Lets the worker look in @delay jiffies at the latest. It looks at everything,
 * so an earlier look is enough; the check costs less than moving the timer each
 * time.
 */
static void ehs_state_look_in(struct ehs_node *node, unsigned long delay)
{
	u64 due = get_jiffies_64() + delay;

	if (delayed_work_pending(&node->tell) && node->tell_due <= due)
		return;
	node->tell_due = due;
	mod_delayed_work(ehs_node_queue(node), &node->tell, delay);
}

/**
 * ehs_state_update - something that the state depends on has changed
 * @node: node, locked
 *
 * Cheap when the state stays the same; the worker sends the announcement.
 */
void ehs_state_update(struct ehs_node *node)
{
	struct ehs_notice now;
	bool low;

	lockdep_assert_held(&node->lock);
	low = ehs_state_of(ehs_load_get(node), ehs_node_threshold(node), node->set.length) ==
	      EHS_STATE_RECEIVER;
	if (low && !node->low)
		node->low_since = get_jiffies_64();
	node->low = low;

	now = ehs_state_now(node);
	if (ehs_state_is_news(node, &now)) {
		u64 at = get_jiffies_64();

		ehs_state_look_in(node, ehs_state_left(node->notice_at, EHS_STATE_TELL_MS, at));
	} else if (low && now.state != EHS_STATE_RECEIVER) {
		ehs_state_look_in(node, ehs_state_dwell_of(node));
	}
}

static void ehs_state_tell(struct work_struct *work)
{
	struct ehs_node *node = container_of(to_delayed_work(work), struct ehs_node, tell);
	struct ehs_notice now;
	bool news;

	raw_spin_lock(&node->lock);
	now = ehs_state_now(node);
	news = ehs_state_is_news(node, &now);
	if (news) {
		node->notice = now;
		node->notice_at = get_jiffies_64();
	}
	ehs_state_update(node);
	raw_spin_unlock(&node->lock);

	if (news)
		ehs_nl_node_notify(node);
}

/**
 * ehs_state_init - initialise the state of a node, before others can see it
 * @node: node
 */
void ehs_state_init(struct ehs_node *node)
{
	INIT_DELAYED_WORK(&node->tell, ehs_state_tell);
	raw_spin_lock(&node->lock);
	/* a new node has no load: it has been low since now */
	node->low = true;
	node->low_since = get_jiffies_64();
	node->notice = ehs_state_now(node);
	node->notice_at = get_jiffies_64() - msecs_to_jiffies(EHS_STATE_TELL_MS);
	raw_spin_unlock(&node->lock);
}
