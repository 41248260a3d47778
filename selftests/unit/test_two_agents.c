// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two agents in one process, on one event loop: no state is shared between them. They find each
 * other over loopback, agree on a controller, and one reserves a place on the other.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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
#include "rooms.h"

#define LIMIT_S 60 /* for what takes well under a second */

static char dir[] = "/tmp/ehs-two-XXXXXX";
static unsigned int ports[2];

/* A port that is free now. Both are held until both are known, so that they differ. */
static int hold_port(unsigned int *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static void write_config(int i)
{
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "%s/%d.conf", dir, i);
	f = fopen(name, "we");
	assert_non_null(f);
	fprintf(f,
		"cluster = \"two\"\ntopology = \"1,1\"\nnode = \"0.%d\"\n"
		"certificate = \"%s/n%d.crt\"\nkey = \"%s/n%d.key\"\nauthority = \"%s/ca.crt\"\n"
		"cgroup = \"%s/none/%d\"\nstub = \"/bin/true\"\nstate = \"%s/%d.state\"\n"
		"heartbeat = 2000\nallow-root = true\nlog = \"error\"\nheadroom = 0\n",
		i, dir, i, dir, i, dir, dir, i, dir, i);
	for (int j = 0; j < 2; j++)
		fprintf(f, "peer \"0.%d\" { host = \"n%d\" address = \"127.0.0.1:%u\" }\n", j, j,
			ports[j]);
	assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
	char command[512];
	int held[2];

	if (!mkdtemp(dir))
		return -1;
	snprintf(command, sizeof(command),
		 "tools/ehcert init %s >%s/log 2>&1 && tools/ehcert node %s n0 n1 >>%s/log 2>&1",
		 dir, dir, dir, dir);
	if (system(command))
		return -1;
	for (int i = 0; i < 2; i++)
		held[i] = hold_port(&ports[i]);
	for (int i = 0; i < 2; i++) {
		close(held[i]);
		write_config(i);
	}
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void ready(void)
{
}

static void start(struct agent *agent, struct event_base *base, int i)
{
	char name[64];
	struct tls *tls;

	snprintf(name, sizeof(name), "%s/%d.conf", dir, i);
	*agent = (struct agent){ .base = base };
	agent->config = config_read(name, NULL, stderr);
	assert_non_null(agent->config);
	tls = tls_new(agent->config, stderr);
	assert_non_null(tls);
	agent->socket = strchr(name, 'e'); /* a name of its own, from the test's directory */
	assert_int_equal(rooms_start(agent, tls, ready), 0);
}

static void over(evutil_socket_t fd, short what, void *arg)
{
	*(bool *)arg = true;
}

static void run_until(struct event_base *base, bool (*done)(void *ctx), void *ctx)
{
	const struct timeval limit = { LIMIT_S, 0 };
	bool late = false;
	struct event *timer = evtimer_new(base, over, &late);

	assert_non_null(timer);
	evtimer_add(timer, &limit);
	while (!late && !done(ctx))
		event_base_loop(base, EVLOOP_ONCE);
	event_free(timer);
	assert_false(late);
}

/* Both name node 0.0 as the top, and the top has heard of the other's load. */
static bool agreed(void *ctx)
{
	struct agent *agents = ctx;
	const struct peer *other = peers_by_text(&agents[0], "0.1");

	return hierarchy_rank(&agents[0]) == 1 && hierarchy_rank(&agents[1]) == 0 &&
	       hierarchy_top(&agents[1])->code.index == 0 && other && other->said;
}

struct outcome {
	bool decided;
	struct peer *to;
	enum ehs_reason reason;
	char token[EHS_TOKEN_MAX + 1];
};

static void on_decided(void *ctx, struct placement *p, struct peer *to, const char *token,
		       enum ehs_reason reason)
{
	struct outcome *o = ctx;

	o->decided = true;
	o->to = to;
	o->reason = reason;
	snprintf(o->token, sizeof(o->token), "%s", token ? token : "");
}

static bool was_decided(void *ctx)
{
	return ((struct outcome *)ctx)->decided;
}

static void test_two_agents(void **state)
{
	struct event_base *base = event_base_new();
	const struct placement_task task = {
		.cookie = 7, /* as one of the module's: its token waits for a stub */
		.pid = getpid(),
		.uid = getuid(),
		.path = "/bin/true",
		.time_ms = LIMIT_S * 1000,
		.node = "0.1",
		.view = VIEW_SHARED,
	};
	struct outcome outcome = { 0 };
	struct node_settings set;
	struct agent agents[2];
	char why[160];

	assert_non_null(base);
	for (int i = 0; i < 2; i++)
		start(&agents[i], base, i);
	assert_string_equal(agents[0].code, "0.0");
	assert_string_equal(agents[1].code, "0.1");
	run_until(base, agreed, agents);

	/* a setting of one is not the other's */
	set = *node_settings(&agents[0]);
	set.length += 500;
	assert_int_equal(node_set(&agents[0], &set, why), 0);
	assert_int_equal(node_settings(&agents[0])->length,
			 node_settings(&agents[1])->length + 500);

	/* a place on the other is there alone */
	assert_int_equal(placement_start(&agents[0], &task, on_decided, &outcome), 0);
	run_until(base, was_decided, &outcome);
	assert_int_equal(outcome.reason, EHS_REASON_EXPLICIT);
	assert_ptr_equal(outcome.to, peers_by_text(&agents[0], "0.1"));
	assert_true(reserve_load(&agents[1]) > 0);
	assert_int_equal(reserve_load(&agents[0]), 0);
	assert_non_null(placement_by_token(&agents[0], outcome.token));
	assert_null(placement_by_token(&agents[1], outcome.token));

	/* one ends, the other goes on */
	rooms_stop(&agents[1]);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_non_null(peers_self(&agents[0]));
	rooms_stop(&agents[0]);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_two_agents) };

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
