// SPDX-License-Identifier: GPL-2.0-or-later
/* An agent ends while something of it is under way: nothing is used that is gone, nothing is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>

#include "base/agent.h"
#include "cluster/leave.h"
#include "helpers/common/agent_address.h"
#include "home/away_inside.h"
#include "home/placement.h"
#include "home/record.h"
#include "node/node.h"
#include "wiring.h"
#include "two_agents.h"
#include "wire/frame.h"

static struct event_base *base;
static struct agent agents[2];

static void begin(void)
{
	base = event_base_new();
	assert_non_null(base);
	for (int i = 0; i < 2; i++)
		two_start(&agents[i], base, i);
	two_run_until(base, two_agreed, agents);
}

static void finish(void)
{
	wiring_stop(&agents[1]);
	wiring_stop(&agents[0]);
	event_base_free(base);
}

/* The answer to POST /v1/leave has not come. */
static void test_leave(void **state)
{
	begin();
	leave_start(&agents[1], true);
	event_base_loop(base, EVLOOP_ONCE);
	finish();
}

/* ehctl status waits for the other node. */
static void test_status(void **state)
{
	const char *text = "{\"command\":\"status\"}";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint8_t header[FRAME_HEADER];
	struct ucred who;

	begin();
	assert_int_equal(agent_reach(fd, agents[1].socket, &who), 0);
	assert_int_equal(who.pid, getpid());
	frame_header(header, FRAME_REQUEST, strlen(text));
	assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	event_base_loop(base, EVLOOP_ONCE);
	finish();
	close(fd);
}

static bool has_executor(void *ctx)
{
	const struct placement *p = ctx;

	return p->to || p->phase != PLACEMENT_OPEN;
}

static void set_threshold(struct agent *agent, uint32_t threshold, uint32_t length)
{
	struct node_settings set = *node_settings(agent);
	char why[160];

	set.threshold = threshold;
	set.length = length;
	assert_int_equal(node_set(agent, &set, why), 0);
}

/* A reservation is being asked for. */
static void test_place(void **state)
{
	struct placement_task task = {
		.exec.cookie = 7,
		.exec.pid = getpid(),
		.exec.uid = getuid(),
		.exec.path = "/bin/true",
		.exec.time_ms = TWO_LIMIT_S * 1000,
		.node = "0.0",
		.view = VIEW_SHARED,
	};
	struct two_outcome first = { false }, second = { false };

	begin();
	/* digests the program, so that the next one has only to ask */
	assert_int_equal(placement_start(&agents[1], &task, two_on_decided, &first), 0);
	two_run_until(base, two_was_decided, &first);
	set_threshold(&agents[0], 100000, 50000);
	set_threshold(&agents[1], 0, 0);
	for (int i = 0; i < 200; i++)
		event_base_loop(base, EVLOOP_ONCE);
	task.exec.cookie = 8;
	task.node = NULL;
	assert_int_equal(placement_start(&agents[1], &task, two_on_decided, &second), 0);
	two_run_until(base, has_executor, record_by_cookie(&agents[1], 8));
	finish();
}

/* A stub has gone in the round of the loop that the signal ended. */
static void test_exited(void **state)
{
	struct away *a;
	int pair[2];

	begin();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	a = away_new(&agents[1], pair[0], getpid(), getuid());
	assert_non_null(a);
	a->state = AWAY_OVER;
	away_later(a);
	finish();
	close(pair[1]);
}

#define TIMERS_MAX 256

static struct {
	struct event *list[TIMERS_MAX];
	size_t n;
} timers;

static int note_timer(const struct event_base *from, const struct event *e, void *ctx)
{
	if (!event_pending(e, EV_TIMEOUT, NULL))
		return 0;
	assert_true(timers.n < TIMERS_MAX);
	timers.list[timers.n++] = (struct event *)e;
	return 0;
}

/* Each of its timers is due in the round of the loop in which it ends. */
static void test_timers(void **state)
{
	begin();
	timers.n = 0;
	assert_int_equal(event_base_foreach_event(base, note_timer, NULL), 0);
	assert_true(timers.n > 0);
	for (size_t i = 0; i < timers.n; i++)
		event_active(timers.list[i], EV_TIMEOUT, 0);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_leave, two_set_up, two_tear_down),
		cmocka_unit_test_setup_teardown(test_status, two_set_up, two_tear_down),
		cmocka_unit_test_setup_teardown(test_place, two_set_up, two_tear_down),
		cmocka_unit_test_setup_teardown(test_exited, two_set_up, two_tear_down),
		cmocka_unit_test_setup_teardown(test_timers, two_set_up, two_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
