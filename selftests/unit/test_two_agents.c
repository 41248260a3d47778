// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two agents in one process, on one event loop: no state is shared between them. They find each
 * other over loopback, agree on a controller, and one reserves a place on the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/config.h"
#include "cluster/hierarchy.h"
#include "executor/reserve.h"
#include "home/placement.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/tls.h"
#include "node/node.h"
#include "wiring.h"
#include "two_agents.h"

static void test_two_agents(void **state)
{
	struct event_base *base = event_base_new();
	const struct placement_task task = {
		.exec.cookie = 7, /* as one of the module's: its token waits for a stub */
		.exec.pid = getpid(),
		.exec.uid = getuid(),
		.exec.path = "/bin/true",
		.exec.time_ms = TWO_LIMIT_S * 1000,
		.node = "0.1",
		.view = VIEW_SHARED,
	};
	struct two_outcome outcome = { 0 };
	enum ehs_reason reason;
	struct node_settings set;
	struct agent agents[2];
	char why[160];

	assert_non_null(base);
	for (int i = 0; i < 2; i++)
		two_start(&agents[i], base, i);
	assert_string_equal(agents[0].code, "0.0");
	assert_string_equal(agents[1].code, "0.1");
	two_run_until(base, two_agreed, agents);

	/* a setting of one is not the other's */
	set = *node_settings(&agents[0]);
	set.length += 500;
	assert_int_equal(node_set(&agents[0], &set, why), 0);
	assert_int_equal(node_settings(&agents[0])->length,
			 node_settings(&agents[1])->length + 500);

	/* a place on the other is there alone */
	assert_int_equal(placement_start(&agents[0], &task, two_on_decided, &outcome), 0);
	two_run_until(base, two_was_decided, &outcome);
	assert_int_equal(outcome.reason, EHS_REASON_EXPLICIT);
	assert_ptr_equal(outcome.to, peers_by_text(&agents[0], "0.1"));
	assert_true(reserve_load(&agents[1]) > 0);
	assert_int_equal(reserve_load(&agents[0]), 0);
	assert_null(placement_claim(&agents[1], "7", getpid(), getuid(), &reason));
	assert_int_equal(reason, EHS_REASON_LEASE_OVER);
	assert_non_null(placement_claim(&agents[0], "7", getpid(), getuid(), &reason));

	/* one ends, the other goes on */
	wiring_stop(&agents[1]);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_non_null(peers_self(&agents[0]));
	wiring_stop(&agents[0]);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_two_agents) };

	return cmocka_run_group_tests(tests, two_set_up, two_tear_down);
}
