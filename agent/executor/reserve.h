/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file reserve.h
 * Reservations of this node, between a home's POST /v1/reserve and its job.
 */
#ifndef AGENT_EXECUTOR_RESERVE_H
#define AGENT_EXECUTOR_RESERVE_H

#include <event2/event.h>
#include <jansson.h>
#include <linux/ehsched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "eh/topology.h"
#include "net/peer.h"
#include "wire/view.h"

#define RESERVE_ID_MAX (EH_CODE_TEXT + 24) /* "HOME:COOKIE" */

struct agent;
struct server_answer;

struct reservation {
	struct reservation *next;
	struct peer *from;
	struct event *lease;
	uint64_t size;
	uid_t uid;
	char id[RESERVE_ID_MAX], token[EHS_TOKEN_MAX + 1];
	char *command;
	enum view view; /* AUTO: the executor's files, as far as was seen yet */
};

/** Handler of POST /v1/reserve; answers later, because the digest of the program may take a while. */
void reserve_on_request(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer);
/** Load reserved but not yet started, in thousandths of a task. */
uint64_t reserve_load(void);

/** Takes the reservation this peer's token names out of the table; NULL: unknown or over. */
struct reservation *reserve_claim(const struct peer *from, const char *token);
void reserve_free(struct reservation *r);
/** Ends all that wait. */
void reserve_exit(void);
/** guest.c: guests and their load that has not started, whether this id runs here. */
uint64_t guest_starting_load(void);
bool guest_known(const char *id);

#endif
