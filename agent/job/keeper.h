/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file keeper.h
 * A side of a view of home's files, on either node: a process of the user that outlives this agent,
 * and its keeper, a process of ehlaunch's that gives it to the next one (wire/launch.h). For
 * executor/view.c and home/serve.c.
 */
#ifndef AGENT_JOB_KEEPER_H
#define AGENT_JOB_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/attach.h"
#include "wire/launch.h"

struct agent;
struct peer;

/** Makes a token. 0 or -errno. */
int keeper_token(char token[ATTACH_TOKEN]);
/** What is to be kept, for LAUNCH_MOUNT and LAUNCH_FILES. */
void keeper_stay(struct launch_stay *stay, const struct agent *agent, const struct peer *other,
		 const char *token, uint32_t number);
/** Says this to the keeper, if it is still there. */
void keeper_say(int news, enum launch_word word);
/** How long it waits for the next agent. Only to one that stays: others end when they hear anything. */
void keeper_say_limit(int news, const struct agent *agent);
/**
 * What the keeper says. 1: *news and up to `most` descriptors are set, those that are missing are -1;
 * 0: nothing; -1: it has ended.
 */
int keeper_receive(int socket, struct launch_news *news, int *fds, int most);

#endif
