// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"

int notify_datagram(const char *path, const void *bytes, size_t length)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const size_t n = strlen(path);
	int fd, err = 0;

	if (n < 2 || n >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, path, n);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, bytes, length, MSG_NOSIGNAL, (struct sockaddr *)&to,
		   offsetof(struct sockaddr_un, sun_path) + n) < 0)
		err = -errno;
	close(fd);
	return err;
}

static void notify_send(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	int err = path ? notify_datagram(path, text, strlen(text)) : 0;

	if (err)
		log_warning("%s: %s", path, strerror(-err));
}

void notify_ready(void)
{
	notify_send("READY=1");
}

void notify_status(const char *format, ...)
{
	char text[512] = "STATUS=";
	va_list args;

	va_start(args, format);
	vsnprintf(text + 7, sizeof(text) - 7, format, args);
	va_end(args);
	/* A line more would be another message. */
	text[strcspn(text, "\n")] = '\0';
	notify_send(text);
}

static void notify_on_time(evutil_socket_t fd, short what, void *arg)
{
	notify_send("WATCHDOG=1");
}

int notify_watch(struct agent *agent)
{
	const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long ms = period ? strtoull(period, NULL, 10) / 2000 : 0;

	/* It may be meant for the process that started this one. */
	if (!ms || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	agent->watchdog = event_new(agent->base, -1, EV_PERSIST, notify_on_time, NULL);
	if (!agent->watchdog || clock_arm(agent->watchdog, ms))
		return -ENOMEM;
	return 0;
}

void notify_exit(struct agent *agent)
{
	agent_free_event(&agent->watchdog);
}
