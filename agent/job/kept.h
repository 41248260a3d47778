/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file kept.h
 * A side of a view of home's files, on either node: a process of the user that outlives this agent,
 * and its keeper, a process of ehlaunch's that gives it to the next one (wire/launch.h). For
 * executor/view.c and home/serve.c.
 */
#ifndef AGENT_JOB_KEPT_H
#define AGENT_JOB_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/attach.h"
#include "wire/launch.h"

struct agent;
struct peer;

/** Makes a token. 0 or -errno. */
int kept_token(char token[ATTACH_TOKEN]);
/** What is to be kept, for LAUNCH_MOUNT and LAUNCH_FILES. */
void kept_stay(struct launch_stay *stay, const struct agent *agent, const struct peer *other,
	       const char *token, uint32_t number);
/** Says this to the keeper, if it is still there. */
void kept_say(int news, enum launch_word word);
/** How long it waits for the next agent. Only to one that stays: others end when they hear anything. */
void kept_say_limit(int news, const struct agent *agent);
/**
 * What the keeper says. 1: *news and up to `most` descriptors are set, those that are missing are -1;
 * 0: nothing; -1: it has ended.
 */
int kept_receive(int socket, struct launch_news *news, int *fds, int most);

/* ---- how a stream of POST /v1/files begins; a path may follow ---- */

#define KEPT_TOKEN 32 /**< bytes of a token, without a NUL */
#define KEPT_HEAD (4 * 4 + KEPT_TOKEN)

struct kept_head {
	uint32_t uid, number; /**< number: which file system of the view, from 0 on */
	bool again; /**< go on with one that is served; there is no path */
	char token[ATTACH_TOKEN];
	uint32_t length; /**< of the path */
};

/** Writes it as it goes over the socket. */
void kept_head_put(uint8_t out[KEPT_HEAD], const struct kept_head *h);
/** 0 or -EPROTO. */
int kept_head_get(struct kept_head *h, const uint8_t in[KEPT_HEAD]);

#endif
