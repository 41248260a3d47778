/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file gang_user.h
 * How long hosts stood offered to each user of this node: a user who only asks would keep them from
 * other users, and use up what the hosts allow this node (seat.c).
 */
#ifndef AGENT_CLUSTER_GANG_USER_H
#define AGENT_CLUSTER_GANG_USER_H

#include <stdint.h>
#include <sys/types.h>

struct gang_user;

/** How many ms hosts may still stand offered to that user. */
uint32_t gang_user_left(struct gang_user **all, uid_t uid);
/** They did so since then (ms, monotonic), and do so no longer. */
void gang_user_spend(struct gang_user **all, uid_t uid, uint64_t since);
void gang_user_forget_all(struct gang_user **all);

#endif
