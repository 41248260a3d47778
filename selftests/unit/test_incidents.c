// SPDX-License-Identifier: GPL-2.0-or-later
/* Which events the history keeps, and how many. The clock, the events and the history are of this program. */
#include "home/incidents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/event.h"
#include "home/history.h"
#include "net/names.h"

static uint64_t now = 1000000;
static event_fn on_event;
static void *on_event_ctx;
static json_t *kept;

uint64_t clock_ms(void)
{
	return now;
}

void event_keep(struct agent *agent, event_fn kept_by, void *ctx)
{
	(void)agent;
	on_event = kept_by;
	on_event_ctx = ctx;
}

void history_event(struct agent *agent, json_t *event)
{
	(void)agent;
	json_array_append_new(kept, event);
}

void names_add(const struct agent *agent, json_t *object)
{
	(void)agent;
	(void)object;
}

static void tell(const char *name, int times)
{
	json_t *event = json_pack("{s:s,s:s}", "time", "T", "event", name);

	while (times--)
		on_event(on_event_ctx, event);
	/* it is another's */
	assert_int_equal(json_object_size(event), 2);
	json_decref(event);
}

/* How many events of this name are kept. */
static int count(const char *name)
{
	json_t *one;
	int n = 0;
	size_t i;

	json_array_foreach(kept, i, one)
		n += !strcmp(json_string_value(json_object_get(one, "event")), name);
	return n;
}

static json_t *last(void)
{
	return json_array_get(kept, json_array_size(kept) - 1);
}

static int begin(void **state)
{
	struct agent *agent = calloc(1, sizeof(*agent));

	*state = agent;
	kept = json_array();
	if (!agent || !kept)
		return -1;
	strcpy(agent->code, "0.1");
	agent->history = (struct history *)agent;
	incidents_init(agent);
	return !agent->incidents;
}

static int end(void **state)
{
	incidents_exit(*state);
	free(*state);
	json_decref(kept);
	return on_event != NULL;
}

static void test_which(void **state)
{
	static const char *const names[] = { "peer",   "controller", "join",	    "leave",
					     "drain",  "revoked",    "certificate", "start",
					     "reload", "launcher",   "module" };
	static const char *const others[] = {
		"state", "place", "finish", "threshold", "peers", ""
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		tell(names[i], 1);
		assert_int_equal(count(names[i]), 1);
		assert_string_equal(json_string_value(json_object_get(last(), "self")), "0.1");
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		tell(others[i], 1);
		assert_int_equal(count(others[i]), 0);
	}
}

static void test_how_many(void **state)
{
	(void)state;
	tell("peer", 150);
	assert_int_equal(count("peer"), 100);
	tell("state", 10);
	now += 59999;
	tell("drain", 1);
	assert_int_equal(count("drain") + count("left-out"), 0);
	now += 1;
	tell("peer", 1);
	assert_int_equal(count("peer"), 101);
	assert_int_equal(count("left-out"), 1);
	assert_string_equal(json_string_value(json_object_get(last(), "event")), "peer");
	json_array_remove(kept, json_array_size(kept) - 1);
	assert_int_equal(json_integer_value(json_object_get(last(), "events")), 51);
	assert_string_equal(json_string_value(json_object_get(last(), "time")), "T");
	/* a minute that had none too many says nothing */
	tell("peer", 99);
	now += 60000;
	tell("peer", 1);
	assert_int_equal(count("left-out"), 1);
}

static void test_stop(void **state)
{
	(void)state;
	tell("stop", 1);
	tell("peer", 3);
	assert_int_equal(count("stop"), 1);
	assert_int_equal(count("peer"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_which, begin, end),
		cmocka_unit_test_setup_teardown(test_how_many, begin, end),
		cmocka_unit_test_setup_teardown(test_stop, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
