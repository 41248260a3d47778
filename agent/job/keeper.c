// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/keeper.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/ehlaunch.h"
#include "net/peer.h"

int keeper_token(char token[ATTACH_TOKEN])
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(token, ATTACH_TOKEN, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	return 0;
}

void keeper_stay(struct launch_stay *stay, const struct agent *agent, const struct peer *other,
		 const char *token, uint32_t number)
{
	stay->limit_ms = agent->config->job_limit;
	stay->number = number;
	snprintf(stay->token, sizeof(stay->token), "%s", token);
	snprintf(stay->other, sizeof(stay->other), "%.*s", (int)sizeof(stay->other) - 1,
		 peer_code(other));
}

void keeper_say(int news, enum launch_word word)
{
	const uint32_t said = word;

	send(news, &said, sizeof(said), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void keeper_say_limit(int news, const struct agent *agent)
{
	keeper_say(news, LAUNCH_LIMIT | agent->config->job_limit);
}

int keeper_receive(int socket, struct launch_news *news, int *fds, int most)
{
	ssize_t length = ehlaunch_take(socket, news, sizeof(*news), fds, most);

	if (length == -EAGAIN || length == -EINTR)
		return 0;
	if (length == sizeof(*news))
		return 1;
	for (int i = 0; length >= 0 && i < most; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return -1;
}
