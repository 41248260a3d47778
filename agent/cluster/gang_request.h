/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file gang_request.h
 * REQUEST of a gang (paper 1), which goes to all hosts through the hierarchy: to the top controller,
 * from each controller to those below it, and the offers the same way back.
 */
#ifndef AGENT_CLUSTER_GANG_REQUEST_H
#define AGENT_CLUSTER_GANG_REQUEST_H

#include <jansson.h>
#include <stdint.h>

struct agent;
struct peer;
struct server_answer;

#define GANG_NUMBER_MAX ((uint64_t)1 << 53) /**< what JSON keeps exactly */

int gang_request_init(struct agent *agent); /**< 0 or -ENOMEM */
/** After client_end(), when nothing is under way any more. */
void gang_request_exit(struct agent *agent);

/** The offers [{`node`, `offer`, `utilization`}], which `done` owns; NULL: `why` says why there are
 *  none. Called once, perhaps at once. */
typedef void (*gang_request_fn)(void *ctx, json_t *offers_stolen, const char *why);
/** Asks all hosts of the cluster for the gang `tid` of this node: those less used than the
 *  threshold offer themselves. */
void gang_request(struct agent *agent, uint64_t tid, double threshold, gang_request_fn done,
		  void *ctx);
/** A message of type request. */
void gang_request_on_message(struct agent *agent, struct peer *from, const json_t *body,
			     struct server_answer *answer);

#endif
