// SPDX-License-Identifier: GPL-2.0-or-later
#include "two_agents.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/config.h"
#include "built.h"
#include "cluster/hierarchy.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/tls.h"
#include "wiring.h"
#include "temp.h"

struct two two = { .topology = "1,1", .group = "0." };
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
	char name[TEMP_PATH + 32];
	FILE *f;

	snprintf(name, sizeof(name), "%s/%d.conf", two.dir, i);
	f = fopen(name, "we");
	assert_non_null(f);
	fprintf(f,
		"cluster = \"two\"\ntopology = \"%s\"\nnode = \"%s%d\"\n"
		"certificate = \"%s/n%d.crt\"\nkey = \"%s/n%d.key\"\nauthority = \"%s/ca.crt\"\n"
		"cgroup = \"%s/none/%d\"\nstub = \"/bin/true\"\nstate = \"%s/%d.state\"\n"
		"heartbeat = 2000\nallow-root = true\nlog = \"error\"\nheadroom = 0\n",
		two.topology, two.group, i, two.dir, i, two.dir, i, two.dir, two.dir, i, two.dir,
		i);
	for (int j = 0; j < 2; j++)
		fprintf(f, "peer \"%s%d\" { host = \"n%d\" address = \"127.0.0.1:%u\" }\n",
			two.group, j, j, ports[j]);
	assert_int_equal(fclose(f), 0);
}

int two_set_up(void **state)
{
	const char *ehctl = built("ehctl");
	char command[1024];
	int held[2];

	if (!mkdtemp(temp_path(two.dir, "two-XXXXXX")))
		return -1;
	snprintf(command, sizeof(command),
		 "%s cert init %s >%s/log 2>&1 && %s cert node %s n0 n1 >>%s/log 2>&1", ehctl,
		 two.dir, two.dir, ehctl, two.dir, two.dir);
	if (system(command))
		return -1;
	for (int i = 0; i < 2; i++)
		held[i] = hold_port(&ports[i]);
	for (int i = 0; i < 2; i++) {
		close(held[i]);
		write_config(i);
	}
	signal(SIGPIPE, SIG_IGN);
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int two_tear_down(void **state)
{
	char command[64];

	/* a process of ehlaunch's may look for guests after it, and is ours then */
	while (wait(NULL) > 0 || errno == EINTR)
		;
	snprintf(command, sizeof(command), "rm -rf %s", two.dir);
	return system(command);
}

static void ready(void)
{
}

void two_start(struct agent *agent, struct event_base *base, int i)
{
	static char names[2][64], folders[2][64];
	struct tls *tls;

	snprintf(names[i], sizeof(names[i]), "%s/%d.conf", two.dir, i);
	*agent = (struct agent){ .base = base, .protocol = two.speaks[i] };
	agent->config = config_read(names[i], NULL, stderr);
	assert_non_null(agent->config);
	tls = tls_new(agent->config, stderr);
	assert_non_null(tls);
	/* of its own: the usual one may be another agent's, and is the same for both */
	snprintf(folders[i], sizeof(folders[i]), "%s/%d.run", two.dir, i);
	assert_true(!mkdir(folders[i], 0755) || errno == EEXIST);
	assert_int_equal(chmod(two.dir, 0711), 0);
	agent->socket = folders[i];
	assert_int_equal(wiring_start(agent, tls, ready), 0);
}

static void over(evutil_socket_t fd, short what, void *arg)
{
	*(bool *)arg = true;
}

void two_run_until(struct event_base *base, bool (*done)(void *ctx), void *ctx)
{
	const struct timeval limit = { TWO_LIMIT_S, 0 };
	bool late = false;
	struct event *timer = evtimer_new(base, over, &late);

	assert_non_null(timer);
	evtimer_add(timer, &limit);
	while (!late && !done(ctx))
		event_base_loop(base, EVLOOP_ONCE);
	event_free(timer);
	assert_false(late);
}

bool two_agreed(void *ctx)
{
	struct agent *agents = ctx;
	const struct peer *other;
	char code[EH_CODE_TEXT];

	snprintf(code, sizeof(code), "%s1", two.group);
	other = peers_by_text(&agents[0], code);
	return hierarchy_rank(&agents[0]) == 1 && hierarchy_rank(&agents[1]) == 0 &&
	       hierarchy_top(&agents[1])->code.index == 0 && other && other->said;
}

void two_on_decided(void *ctx, struct placement *p, struct peer *to, const char *token,
		    enum ehs_reason reason)
{
	struct two_outcome *o = ctx;

	*o = (struct two_outcome){ .decided = true, .placement = p, .to = to, .reason = reason };
	snprintf(o->token, sizeof(o->token), "%s", token ? token : "");
}

bool two_was_decided(void *ctx)
{
	return ((struct two_outcome *)ctx)->decided;
}
