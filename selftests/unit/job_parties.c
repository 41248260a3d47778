// SPDX-License-Identifier: GPL-2.0-or-later
#include "job_parties.h"

struct party_home party_home;
struct party_away party_away;
uint8_t *party_expect, *party_arrived;

uint8_t party_byte(uint32_t channel, uint64_t at)
{
	return (uint8_t)(at * 2654435761u >> 11) ^ (uint8_t)(channel * 91);
}

void party_leaves(int end)
{
	struct end *s = &job.ends[end];

	if (!s->alive)
		return;
	s->alive = false;
	if (end == AWAY)
		party_away.dead = party_away.left = true;
	if (job.connections[2 * end].up)
		routes_push(routes_queue_out(end), GONE, NULL, 0);
}

int party_says(int end, struct job_message m)
{
	int err = job_end_say(&job.ends[end].e, &m);

	assert_true(!err || err == -11 || err == -32);
	return err;
}

void party_check_lost(const struct end *s)
{
	int64_t limit = s->attached || !s->since ? START : LIMIT;

	if (s->gone)
		return;
	assert_true(s->since + limit <= job.now);
	if (s->attached)
		assert_true(s->before < JOB_RUNNING);
}
