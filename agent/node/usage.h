/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file usage.h
 * Utilisation of this node's processors over the last ten seconds (eta of paper 1), for gangs.
 */
#ifndef AGENT_NODE_USAGE_H
#define AGENT_NODE_USAGE_H

struct agent;

/** Opens the file of the setting `usage`. 0 or -errno, after a message. */
int usage_init(struct agent *agent);
void usage_exit(struct agent *agent);
/** Called often; looks twice a second. */
void usage_sample(struct agent *agent);
/** From 0 to 1, without what was used while gangs were here; 0 if nothing is known yet. */
double usage_get(const struct agent *agent);
/** A gang occupies this node, until usage_gang_ended(). */
void usage_gang_comes(struct agent *agent);
void usage_gang_ended(struct agent *agent);

#endif
