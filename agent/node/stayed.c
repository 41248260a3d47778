// SPDX-License-Identifier: GPL-2.0-or-later
#include "node/stayed.h"

#include <sys/queue.h>
#include <sys/syscall.h>
#include <stdlib.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"

/* Each needs a descriptor; more tasks would not change what the load means. */
#define STAYED_MAX 1024

struct stayed {
	struct stayed_tasks *of;
	LIST_ENTRY(stayed) link;
	struct event *ended;
	int pidfd;
	pid_t pid;
};

struct stayed_tasks {
	LIST_HEAD(, stayed) all;
	unsigned int count;
};

static void stayed_free(struct stayed *s)
{
	LIST_REMOVE(s, link);
	s->of->count--;
	event_free(s->ended);
	close(s->pidfd);
	free(s);
}

static void stayed_on_end(evutil_socket_t fd, short what, void *arg)
{
	stayed_free(arg);
}

int stayed_init(struct agent *agent)
{
	agent->stayed = calloc(1, sizeof(*agent->stayed));
	return agent->stayed ? 0 : -ENOMEM;
}

void stayed_add(struct agent *agent, pid_t pid)
{
	struct stayed *s;

	if (agent->stayed->count == STAYED_MAX)
		return;
	s = calloc(1, sizeof(*s));
	if (!s)
		return;
	/* The stub waits for our answer, so the pid has not been reused. */
	s->pidfd = syscall(SYS_pidfd_open, pid, 0u);
	if (s->pidfd < 0)
		goto free;
	s->ended = event_new(agent->base, s->pidfd, EV_READ, stayed_on_end, s);
	if (!s->ended || event_add(s->ended, NULL))
		goto close;
	s->of = agent->stayed;
	s->pid = pid;
	LIST_INSERT_HEAD(&agent->stayed->all, s, link);
	agent->stayed->count++;
	return;

close:
	if (s->ended)
		event_free(s->ended);
	close(s->pidfd);
free:
	free(s);
}

void stayed_each(struct agent *agent, void (*call)(void *ctx, pid_t pid), void *ctx)
{
	const struct stayed *s;

	LIST_FOREACH(s, &agent->stayed->all, link)
		call(ctx, s->pid);
}

unsigned int stayed_count(struct agent *agent)
{
	return agent->stayed->count;
}

void stayed_exit(struct agent *agent)
{
	if (!agent->stayed)
		return;
	while (!LIST_EMPTY(&agent->stayed->all))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list, through prev */
		stayed_free(LIST_FIRST(&agent->stayed->all));
	free(agent->stayed);
	agent->stayed = NULL;
}
