// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two agents that speak different versions of the protocol, over loopback: they use the highest that
 * is common, or refuse each other, and each knows which of them is too old.
 */
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/agent.h"
#include "base/config.h"
#include "cluster/versions.h"
#include "ctl/doctor.h"
#include "net/peer.h"
#include "net/peers.h"
#include "wiring.h"
#include "two_agents.h"

static struct peer *other(struct agent *agents, int i)
{
	return peers_by_text(&agents[i], i ? "0.0" : "0.1");
}

static bool both_know(void *ctx)
{
	return other(ctx, 0)->speaks.max && other(ctx, 1)->speaks.max;
}

static bool both_know_and_agree(void *ctx)
{
	return both_know(ctx) && two_agreed(ctx);
}

/* Whether doctor says this in a check of that name. */
static bool doctor_says(struct agent *agent, const char *name, const char *level, const char *what)
{
	json_t *report = doctor_report(agent), *check;
	bool found = false;
	size_t i;

	json_array_foreach(json_object_get(report, "checks"), i, check)
		found |= !strcmp(json_string_value(json_object_get(check, "name")), name) &&
			 !strcmp(json_string_value(json_object_get(check, "level")), level) &&
			 strstr(json_string_value(json_object_get(check, "what")), what);
	json_decref(report);
	return found;
}

static void run(struct versions first, struct versions second, void (*look)(struct agent *agents),
		bool (*until)(void *ctx))
{
	struct event_base *base = event_base_new();
	struct agent agents[2];

	two.speaks[0] = first;
	two.speaks[1] = second;
	for (int i = 0; i < 2; i++)
		two_start(&agents[i], base, i);
	two_run_until(base, until, agents);
	look(agents);
	for (int i = 0; i < 2; i++)
		wiring_stop(&agents[i]);
	event_base_free(base);
}

static void look_common(struct agent *agents)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(other(agents, i)->protocol, 2);
		assert_int_equal(other(agents, i)->fit, VERSIONS_FIT);
		assert_true(doctor_says(&agents[i], i ? "version 0.0" : "version 0.1",
					agents[i].protocol.max == 2 ? "ok" : "note",
					"they use protocol 2"));
	}
}

/* Each of them is the one that calls, and the one that is called. */
static void test_common(void **state)
{
	run((struct versions){ 1, 2 }, (struct versions){ 2, 9 }, look_common, both_know_and_agree);
	run((struct versions){ 2, 9 }, (struct versions){ 1, 2 }, look_common, both_know_and_agree);
}

static void look_apart(struct agent *agents)
{
	const int old = agents[0].protocol.max < agents[1].protocol.max ? 0 : 1;
	char text[64];

	snprintf(text, sizeof(text), "upgrade n%d, which is too old: ", old);
	for (int i = 0; i < 2; i++) {
		const struct peer *p = other(agents, i);

		assert_false(peer_is_up(p));
		assert_int_equal(p->protocol, 0);
		assert_int_equal(p->fit, i == old ? VERSIONS_TOO_NEW : VERSIONS_TOO_OLD);
		assert_true(
			doctor_says(&agents[i], i ? "version 0.0" : "version 0.1", "error", text));
	}
	/* The one below calls its controller: it has the text. */
	assert_non_null(strstr(other(agents, 1)->trouble, text));
}

static bool called_and_refused(void *ctx)
{
	return both_know(ctx) && *other(ctx, 1)->trouble;
}

static void test_apart(void **state)
{
	run((struct versions){ 1, 2 }, (struct versions){ 3, 4 }, look_apart, called_and_refused);
	run((struct versions){ 3, 4 }, (struct versions){ 1, 2 }, look_apart, called_and_refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_common, two_set_up, two_tear_down),
		cmocka_unit_test_setup_teardown(test_apart, two_set_up, two_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
