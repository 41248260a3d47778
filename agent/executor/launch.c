// SPDX-License-Identifier: GPL-2.0-or-later
#include "executor/launch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/ehlaunch.h"
#include "wire/launch.h"
#include "wire/reason.h"

#define LAUNCH_OOM_NONE 1000 /* added to each oom_score_adj on its way */

int launch_start(struct agent *agent, struct launch *l, const struct caller *who, const char *id,
		 const char *user, int view, int socket, bool must_tell)
{
	struct launch_start start = {
		.head.kind = LAUNCH_START,
		.uid = who->uid,
		.gid = who->gid,
		.ngroups = who->ngroups,
		.loginuid = who->loginuid,
		.nice = who->nice,
		.oom_score = agent->oom_score_adj,
	};
	int fds[LAUNCH_START_FDS] = { socket };
	struct ehlaunch_request q = {
		.head = &start.head,
		.size = sizeof(start),
		.tail = who->groups,
		.tail_size = who->ngroups * sizeof(uint32_t),
		.fds = fds,
		.nfds = 1,
	};
	const int least = agent->config->guest_oom_score;
	int news;

	snprintf(start.id, sizeof(start.id), "%s", id);
	snprintf(start.user, sizeof(start.user), "%s", user);
	/* The end lowers soft limits for its program. */
	for (int i = 0; i < JOB_RLIMITS; i++)
		start.rlimit[i][0] = start.rlimit[i][1] = who->hard[i];
	memcpy(start.traits, who->traits, sizeof(start.traits));
	/* When there is no memory guests go before tasks of this node. */
	if (start.oom_score < least)
		start.oom_score = least;
	if (start.traits[JOB_OOM_SCORE] < LAUNCH_OOM_NONE + (uint64_t)least)
		start.traits[JOB_OOM_SCORE] = LAUNCH_OOM_NONE + least;
	if (who->no_new_privs)
		start.flags |= LAUNCH_NO_NEW_PRIVS;
	/* The ehlaunch that is asked may be the next one, of which nothing is known yet. */
	l->tells = must_tell || ehlaunch_tells(agent);
	if (l->tells)
		start.flags |= LAUNCH_TELLS;
	if (view >= 0) {
		start.flags |= LAUNCH_VIEW;
		fds[q.nfds++] = view;
	}
	news = ehlaunch_ask(agent, &q);
	if (news < 0)
		return news;
	l->news = news;
	return 0;
}

int launch_read(struct launch *l, struct launch_result *result)
{
	struct launch_news m;
	ssize_t n;

	n = recv(l->news, &m, sizeof(m), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	*result = (struct launch_result){ .what = "its process died before the start",
					  .reason = EHS_REASON_START_FAILED };
	if (n != sizeof(m))
		return 1;
	if (m.stage == LAUNCH_READY)
		*result = (struct launch_result){ .pid = m.pid };
	else
		*result = (struct launch_result){
			.what = ehlaunch_trouble(&m),
			.error = m.error,
			.reason = m.stage == LAUNCH_RULES     ? EHS_REASON_REFUSED
				  : m.stage == LAUNCH_DENIED  ? REASON_GUEST_USER
				  : m.stage == LAUNCH_UNKNOWN ? EHS_REASON_UNKNOWN_USER
							      : EHS_REASON_START_FAILED,
			.view_unknown = m.stage == LAUNCH_FOREIGN,
		};
	return 1;
}

void launch_close(struct launch *l)
{
	if (l->news >= 0)
		close(l->news);
	l->news = -1;
}
