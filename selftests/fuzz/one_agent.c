// SPDX-License-Identifier: GPL-2.0-or-later
/* The agent itself, its log and local users; one_inside.h has the others. */
#include "one_agent.h"

#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/config.h"
#include "base/log.h"
#include "helpers/common/agent_address.h"
#include "one_inside.h"
#include "wiring.h"
#include "wire/frame.h"

struct one one;

/* ---- the log: made, and thrown away ---- */

void log_set_levels(const struct log_levels *levels)
{
}

void log_message(enum log_level level, const char *file, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
}

bool log_allowed(struct log_limit *limit)
{
	return true;
}

/* ---- connections ---- */

struct end *one_end_new(int fd)
{
	struct end *e = &one.ends[one.nends];

	if (one.nends == ONE_ENDS) {
		close(fd);
		return NULL;
	}
	one.nends++;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	*e = (struct end){ .fd = fd };
	return e;
}

void one_send(const struct end *e, const void *bytes, size_t n)
{
	if (e && e->fd >= 0)
		send(e->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void one_turn(void)
{
	static uint8_t waste[65536];

	for (int i = 0; i < 3; i++)
		event_base_loop(one.agent.base, EVLOOP_NONBLOCK);
	for (unsigned int i = 0; i < one.nends; i++)
		while (one.ends[i].fd >= 0 &&
		       recv(one.ends[i].fd, waste, sizeof(waste), MSG_DONTWAIT) > 0)
			;
}

/* ---- local users ---- */

int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	int err = syscall(SYS_getsockopt, fd, level, name, value, length);

	if (!err && level == SOL_SOCKET && name == SO_PEERCRED)
		((struct ucred *)value)->uid = one.caller;
	return err;
}

static void one_local(struct input *in)
{
	static const uid_t users[] = { 0, 1000, 1001, 65534 };
	struct sockaddr_un to;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	one.caller = users[input_byte(in) & 3];
	if (fd < 0 || agent_address(fd, one.dir, &to) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		exit(1);
	one_end_new(fd);
}

static void one_frame(struct input *in, const struct end *e)
{
	const unsigned int type = input_byte(in) % FRAME_TYPES;
	uint8_t header[FRAME_HEADER];
	size_t n;
	const uint8_t *payload = input_bytes(in, &n);

	frame_header(header, type, n);
	one_send(e, header, sizeof(header));
	one_send(e, payload, n);
}

/* ---- the agent ---- */

static void one_ready(void)
{
}

static void one_remove(void)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	char name[128];

	snprintf(name, sizeof(name), "%s/state", one.dir);
	unlink(name);
	snprintf(name, sizeof(name), "%s/conf", one.dir);
	unlink(name);
	if (!agent_address(fd, one.dir, &at)) {
		unlink(at.sun_path);
		snprintf(name, sizeof(name), "%s.lock", at.sun_path);
		unlink(name);
	}
	close(fd);
	rmdir(one.dir);
}

static void one_prepare(void)
{
	char name[128];
	FILE *f;

	strcpy(one.dir, "/dev/shm/ehs-fuzz-XXXXXX");
	if (!mkdtemp(one.dir))
		exit(1);
	atexit(one_remove);
	signal(SIGPIPE, SIG_IGN);
	snprintf(name, sizeof(name), "%s/conf", one.dir);
	f = fopen(name, "we");
	if (!f)
		exit(1);
	fprintf(f,
		"cluster = \"c\"\ntopology = \"2,1\"\nnode = \"0.1\"\naddress = \"10.0.0.1:2\"\n"
		"certificate = \"/dev/null\"\nkey = \"/dev/null\"\nauthority = \"/dev/null\"\n"
		"cgroup = \"%s/none\"\nstub = \"/bin/true\"\nstate = \"%s/state\"\n"
		"heartbeat = 2000\nlog = \"error\"\n"
		"peer \"0.0\" { host = \"n0\" address = \"10.0.0.1:5\" }\n"
		"peer \"0.1\" { host = \"n1\" address = \"10.0.0.1:2\" }\n"
		"peer \"0.2\" { host = \"n2\" address = \"10.0.0.1:6\" }\n",
		one.dir, one.dir);
	fclose(f);
}

static void one_start(void)
{
	char name[128];

	snprintf(name, sizeof(name), "%s/conf", one.dir);
	one.agent = (struct agent){ .base = event_base_new(), .socket = one.dir };
	one.agent.config = config_read(name, NULL, stderr);
	if (!one.agent.config || !one.agent.base || wiring_start(&one.agent, NULL, one_ready))
		exit(1);
}

static void one_end(void)
{
	char name[128];

	wiring_stop(&one.agent);
	event_base_free(one.agent.base);
	for (unsigned int i = 0; i < one.nends; i++)
		if (one.ends[i].fd >= 0)
			close(one.ends[i].fd);
	for (unsigned int i = 0; i < one.nnews; i++)
		close(one.news[i]);
	one.nends = one.nnews = 0;
	memset(one.hosts, 0, sizeof(one.hosts));
	snprintf(name, sizeof(name), "%s/state", one.dir);
	unlink(name);
}

static void one_step(struct input *in, unsigned int steps)
{
	const unsigned int step = input_byte(in) % ONE_STEPS;
	struct end *e;

	if (!(steps & 1u << step))
		return;
	switch (step) {
	case ONE_LOCAL:
		one_local(in);
		return;
	case ONE_HOST:
		one_host(in);
		return;
	case ONE_LAUNCHED:
		one_launched(in);
		return;
	case ONE_KERNEL:
		one_kernel(in);
		return;
	}
	/* the last ones first: an input that begins something goes on with it */
	e = one.nends ? &one.ends[one.nends - 1 - input_byte(in) % one.nends] : NULL;
	if (!e || e->fd < 0)
		return;
	switch (step) {
	case ONE_BYTES: {
		size_t n;
		const uint8_t *bytes = input_bytes(in, &n);

		one_send(e, bytes, n);
		return;
	}
	case ONE_FRAME:
		one_frame(in, e);
		return;
	case ONE_REQUEST:
		one_request(in, e);
		return;
	case ONE_RESPONSE:
		one_response(in, e);
		return;
	case ONE_DATA:
		one_data(in, e);
		return;
	default:
		close(e->fd);
		e->fd = -1;
	}
}

int one_agent_play(const uint8_t *data, size_t size, unsigned int steps)
{
	struct input in = { data, size };

	if (!*one.dir)
		one_prepare();
	one.datagram = NULL;
	one.module = steps & 1u << ONE_KERNEL;
	one_start();
	one_turn();
	while (in.left && !event_base_got_exit(one.agent.base) &&
	       !event_base_got_break(one.agent.base)) {
		one_step(&in, steps);
		one_turn();
	}
	one_end();
	return 0;
}
