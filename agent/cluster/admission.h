/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file admission.h  Which host becomes a member, and which is no longer one. */
#ifndef AGENT_CLUSTER_ADMISSION_H
#define AGENT_CLUSTER_ADMISSION_H

#include <jansson.h>

struct agent;
struct peer;
struct server_answer;

/** Handlers of POST /v1/join, also of hosts that are not members, and POST /v1/leave. */
void admission_on_join(struct agent *agent, struct peer *from, const json_t *body,
		       struct server_answer *answer);
void admission_on_leave(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer);

#endif
