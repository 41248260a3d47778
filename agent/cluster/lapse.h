/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file lapse.h
 * Codes of hosts that have been dead for `code-days`: the top controller may give them to hosts that
 * join. It believes nobody that a host is dead, but looks itself, again and again; what counts is
 * the time in which it looked in vain and had a majority of the members. This time is kept in
 * `unseen.json` beside `state`.
 */
#ifndef AGENT_CLUSTER_LAPSE_H
#define AGENT_CLUSTER_LAPSE_H

#include <stdbool.h>

struct agent;
struct peer;
struct roster;

int lapse_init(struct agent *agent); /**< 0 or -ENOMEM */
void lapse_exit(struct agent *agent);
/**
 * The member that has been dead for longest, if its code may be given to this host; else NULL.
 * `held`: codes that are held for others.
 */
struct peer *lapse_find(const struct agent *agent, const struct roster *held, const char *host);
/** For how many days it was not seen. */
double lapse_days(const struct peer *p);

#endif
