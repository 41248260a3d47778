/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file questions.h  What other nodes may ask this one for a survey (survey.h). */
#ifndef AGENT_CTL_QUESTIONS_H
#define AGENT_CTL_QUESTIONS_H

#include <jansson.h>

struct agent;
struct peer;
struct server_answer;

/** Handler of POST /v1/survey. */
void questions_on_request(struct agent *agent, struct peer *from, const json_t *body,
			  struct server_answer *answer);

#endif
