// SPDX-License-Identifier: GPL-2.0-or-later
#include "executor/view_mount.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/ehlaunch.h"
#include "job/keeper.h"

void view_mount_init(struct view_mount *m)
{
	m->news = m->ns = m->control = -1;
}

/* The paths one after the other, each with its NUL. NULL: no memory. */
static char *mount_paths(const struct view_trees *trees, size_t *size)
{
	char *all, *at;

	*size = 0;
	for (unsigned int i = 0; i < trees->n; i++)
		*size += strlen(trees->paths[i]) + 1;
	all = at = malloc(*size + 1);
	for (unsigned int i = 0; all && i < trees->n; i++)
		at = stpcpy(at, trees->paths[i]) + 1;
	return all;
}

static int mount_ask(struct agent *agent, struct view_mount *m, const struct launch_mount *mount,
		     const struct view_trees *trees)
{
	struct ehlaunch_request q = {
		.head = &mount->head,
		.size = sizeof(*mount),
		.fds = trees->sockets,
		.nfds = trees->n,
	};
	char *paths = mount_paths(trees, &q.tail_size);
	int news;

	if (!paths)
		return -ENOMEM;
	q.tail = paths;
	news = ehlaunch_ask(agent, &q);
	free(paths);
	if (news < 0)
		return news;
	m->news = news;
	return 0;
}

int view_mount_start(struct agent *agent, struct view_mount *m, const struct view_trees *trees,
		     uid_t uid, const char *user, const struct launch_stay *stay)
{
	struct launch_mount mount = {
		.head.kind = LAUNCH_MOUNT,
		.ntrees = trees->n,
		.uid = uid,
		.nice = agent->nice,
		.stay = *stay,
	};

	if (snprintf(mount.user, sizeof(mount.user), "%s", user) >= (int)sizeof(mount.user))
		return -ENAMETOOLONG;
	return mount_ask(agent, m, &mount, trees);
}

int view_mount_try(struct agent *agent, struct view_mount *m)
{
	const struct launch_mount mount = { .head.kind = LAUNCH_MOUNT };
	const struct view_trees none = { .n = 0 };

	return mount_ask(agent, m, &mount, &none);
}

int view_mount_take(struct view_mount *m, char *why, size_t size)
{
	int fds[LAUNCH_MOUNTED], ret;
	struct launch_news news;

	ret = keeper_receive(m->news, &news, fds, LAUNCH_MOUNTED);
	if (!ret)
		return 0;
	if (ret > 0 && news.stage == LAUNCH_READY && m->ns < 0) {
		m->ns = fds[LAUNCH_FD_NAMESPACE];
		m->control = fds[LAUNCH_FD_CONTROL];
		return 1;
	}
	for (int i = 0; ret > 0 && i < LAUNCH_MOUNTED; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (ret > 0 && news.stage != LAUNCH_READY)
		snprintf(why, size, "%s%s%s", ehlaunch_trouble(&news), news.error ? ": " : "",
			 news.error ? strerror(news.error) : "");
	else
		snprintf(why, size, "%s",
			 m->ns < 0 ? "the process that mounts home's files was killed"
				   : "ehview has ended");
	return -1;
}

void view_mount_end(struct view_mount *m)
{
	const int fds[] = { m->control, m->news, m->ns };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	view_mount_init(m);
}
