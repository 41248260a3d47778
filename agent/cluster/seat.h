/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file seat.h
 * This node as a host of gangs (paper 1): what it offers, and who occupies it. Drives the host's
 * side of lib/plan/gang/protocol.h; gang.h has the initiator's, and the messages.
 */
#ifndef AGENT_CLUSTER_SEAT_H
#define AGENT_CLUSTER_SEAT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct agent;
struct peer;

#define SEAT_OFFER_MS 20000 /**< an offer that is not accepted is void then */
#define SEAT_LEASE_MS 30000 /**< no lease is longer, whatever was wished or configured */

int seat_init(struct agent *agent); /**< 0 or -ENOMEM */
void seat_exit(struct agent *agent);

/** REQUEST of the gang `tid` of that node: true with an offer. */
bool seat_request(struct agent *agent, const struct peer *home, uint64_t tid, double threshold,
		  uint64_t *offer, double *utilization);
/** OCCUPY that lists this offer, with a stamp and a wished lease (ms); offer 0: this node is not
 *  listed. 0, with what is confirmed; or -ENOENT: it is not that gang's now. */
int seat_occupy(struct agent *agent, const struct peer *home, uint64_t tid, uint64_t offer,
		uint64_t *stamp, uint32_t *lease);
/** RELEASE; `offer` 0: whatever that gang has here. */
void seat_release(struct agent *agent, const struct peer *home, uint64_t tid, uint64_t offer);
/** This peer has left the cluster, and its gangs with it. */
void seat_forget(const struct peer *home);

/** What is occupied or offered: [{`id`, `home`, `offered`, `lease` (seconds that are left)}]. */
json_t *seat_json(struct agent *agent);

#endif
