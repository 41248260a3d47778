/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file local.h
 * The local socket and those who are connected to it.
 */
#ifndef AGENT_LOCAL_H
#define AGENT_LOCAL_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/** A caller of ehctl; owned by local.c. */
struct local_conn;

int local_init(void); /**< 0 or -errno, said in the log */
void local_exit(void);

/** Who has connected (SO_PEERCRED). pid 0: in a pid namespace we cannot see into. */
pid_t local_pid(const struct local_conn *c);
uid_t local_uid(const struct local_conn *c);
/** Answers its request, exactly once; `c` may be gone after it. Steals the reply. */
void local_reply(struct local_conn *c, json_t *reply);
/** From now it gets events, and no reply. */
void local_watch(struct local_conn *c);
void local_broadcast(const json_t *event);

#endif
