/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file away.h
 * Tasks of this node that are away: of each the route between its stub and the executor, and what
 * becomes of it.
 */
#ifndef AGENT_HOME_AWAY_H
#define AGENT_HOME_AWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;
struct peer;

int away_init(struct agent *agent); /**< 0 or -ENOMEM */
/** Forgets all of them. Their stubs connect to the next agent. */
void away_exit(struct agent *agent);
/** Gives all of them up at once: this node leaves the cluster. */
void away_end_all(struct agent *agent);
/** Gives one up. 0, -ENOENT: it is not away, or -EAGAIN: it is not yet. */
int away_cancel(struct agent *agent, const char *id);
unsigned int away_count(const struct agent *agent);
/** Bytes of jobs that wait here until they are sent: those of all users, and in *same those of this one. */
size_t away_waiting(const struct agent *agent, uid_t uid, size_t *same);
/** Whether this peer runs a task of this user that sees home's files. */
bool away_shows_home(const struct peer *to, uid_t uid);
/** The module was loaded, or removed: one that is new knows of no stub. */
void away_module_changed(struct agent *agent);
/** A stub whose task is away has connected to this agent: FRAME_ATTACH. Takes over the socket. */
void away_attach(struct agent *agent, int socket, const uint8_t *payload, size_t length, pid_t pid,
		 uid_t uid);

#endif
