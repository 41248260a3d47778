// SPDX-License-Identifier: GPL-2.0-or-later
#include "node/local_task.h"

#include <sys/queue.h>
#include <sys/syscall.h>
#include <stdlib.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"

/* Each needs a descriptor; more tasks would not change what the load means. */
#define LOCAL_TASK_MAX 1024

struct local_task {
	struct local_tasks *of;
	LIST_ENTRY(local_task) link;
	struct event *ended;
	int pidfd;
	pid_t pid;
};

struct local_tasks {
	LIST_HEAD(, local_task) all;
	unsigned int count;
};

static void local_task_free(struct local_task *t)
{
	LIST_REMOVE(t, link);
	t->of->count--;
	event_free(t->ended);
	close(t->pidfd);
	free(t);
}

static void local_task_on_end(evutil_socket_t fd, short what, void *arg)
{
	local_task_free(arg);
}

int local_task_init(struct agent *agent)
{
	agent->local_tasks = calloc(1, sizeof(*agent->local_tasks));
	return agent->local_tasks ? 0 : -ENOMEM;
}

void local_task_add(struct agent *agent, pid_t pid)
{
	struct local_task *t;

	if (agent->local_tasks->count == LOCAL_TASK_MAX)
		return;
	t = calloc(1, sizeof(*t));
	if (!t)
		return;
	/* The stub waits for our answer, so the pid has not been reused. */
	t->pidfd = syscall(SYS_pidfd_open, pid, 0u);
	if (t->pidfd < 0)
		goto free;
	t->ended = agent_watch(agent, t->pidfd, EV_READ, local_task_on_end, t);
	if (!t->ended)
		goto close;
	t->of = agent->local_tasks;
	t->pid = pid;
	LIST_INSERT_HEAD(&agent->local_tasks->all, t, link);
	agent->local_tasks->count++;
	return;

close:
	close(t->pidfd);
free:
	free(t);
}

void local_task_each(struct agent *agent, void (*call)(void *ctx, pid_t pid), void *ctx)
{
	const struct local_task *t;

	LIST_FOREACH(t, &agent->local_tasks->all, link)
		call(ctx, t->pid);
}

unsigned int local_task_count(struct agent *agent)
{
	return agent->local_tasks->count;
}

void local_task_exit(struct agent *agent)
{
	if (!agent->local_tasks)
		return;
	while (!LIST_EMPTY(&agent->local_tasks->all))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list, through prev */
		local_task_free(LIST_FIRST(&agent->local_tasks->all));
	free(agent->local_tasks);
	agent->local_tasks = NULL;
}
