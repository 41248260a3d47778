// SPDX-License-Identifier: GPL-2.0-or-later
#include "node/stayed.h"

#include <sys/queue.h>
#include <sys/syscall.h>
#include <stdlib.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"

/* A descriptor each: more of them are as good as none for the load. */
#define STAYED_MAX 1024

struct stayed {
	LIST_ENTRY(stayed) link;
	struct event *ended;
	int pidfd;
};

static LIST_HEAD(, stayed) stayed_all = LIST_HEAD_INITIALIZER(stayed_all);
static unsigned int stayed_now;

static void stayed_free(struct stayed *s)
{
	LIST_REMOVE(s, link);
	stayed_now--;
	event_free(s->ended);
	close(s->pidfd);
	free(s);
}

static void stayed_on_end(evutil_socket_t fd, short what, void *arg)
{
	stayed_free(arg);
}

void stayed_add(pid_t pid)
{
	struct stayed *s;

	if (stayed_now == STAYED_MAX)
		return;
	s = calloc(1, sizeof(*s));
	if (!s)
		return;
	/* The stub waits for our answer, so the pid is still its own. */
	s->pidfd = syscall(SYS_pidfd_open, pid, 0u);
	if (s->pidfd < 0)
		goto free;
	s->ended = event_new(the_agent.base, s->pidfd, EV_READ, stayed_on_end, s);
	if (!s->ended || event_add(s->ended, NULL))
		goto close;
	LIST_INSERT_HEAD(&stayed_all, s, link);
	stayed_now++;
	return;

close:
	if (s->ended)
		event_free(s->ended);
	close(s->pidfd);
free:
	free(s);
}

unsigned int stayed_count(void)
{
	return stayed_now;
}

void stayed_exit(void)
{
	while (!LIST_EMPTY(&stayed_all))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list, through prev */
		stayed_free(LIST_FIRST(&stayed_all));
}
