// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether the memory of a task fits beside that of the other reservations. */

#include "executor/reserve.h"

#include <inttypes.h>
#include <stdint.h>

#include "base/log.h"
#include "executor/admit.h"
#include "net/peer.h"

/* Memory that a home has reserved for jobs that have not come. */
static uint64_t reserve_memory_waits(const struct peer *from)
{
	uint64_t sum = 0;

	for (const struct reservation *r = reserve_next(from->agent, NULL); r;
	     r = reserve_next(from->agent, r))
		if (r->state == RESERVE_WAITING && r->from == from)
			sum += r->claim.peak;
	return sum;
}

/*
 * As with places: memory that only waits for its job is taken from a home that has more of it than this
 * one would have. So nobody keeps the others out by what he says that his tasks take.
 */
static bool reserve_memory_make_room(const struct reservation *asking)
{
	static struct log_limit limit;
	const uint64_t ours = reserve_memory_waits(asking->from) + asking->claim.peak;
	struct agent *agent = asking->from->agent;
	struct reservation *loses = NULL;

	for (struct reservation *r = reserve_next(agent, NULL); r; r = reserve_next(agent, r))
		if (r->state == RESERVE_WAITING && r->claim.peak &&
		    reserve_memory_waits(r->from) > ours &&
		    (!loses || r->claim.peak > loses->claim.peak))
			loses = r;
	if (!loses)
		return false;
	if (log_allowed(&limit))
		log_warning("%s (%s) has reserved %" PRIu64 " MiB of memory: it loses %" PRIu64
			    " to %s",
			    peer_code(loses->from), peer_host(loses->from),
			    reserve_memory_waits(loses->from) >> 20, loses->claim.peak >> 20,
			    peer_code(asking->from));
	reserve_end(loses);
	return true;
}

bool reserve_memory_admits(const struct reservation *asking, struct admit_refusal *no)
{
	uint64_t left;

	while (!admit_memory(asking->from->agent, asking->claim.peak, no, &left)) {
		if (!reserve_memory_make_room(asking)) {
			no->memory_left = left;
			return false;
		}
	}
	return true;
}
