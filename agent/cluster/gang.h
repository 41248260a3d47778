/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file gang.h
 * Gangs of this node (paper 1): hosts that are asked for, occupied with leases that are renewed, and
 * released. Drives the initiator's side of lib/plan/gang/protocol.h; seat.h has the host's.
 */
#ifndef AGENT_CLUSTER_GANG_H
#define AGENT_CLUSTER_GANG_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;
struct peer;
struct server_answer;
struct gang;

/** What its owner is told. None of these is called after gang_drop(). */
struct gang_ops {
	/** The hosts that offered themselves: [{`node`, `utilization`}], which is the owner's; NULL: `why`. */
	void (*offered)(void *ctx, json_t *hosts_stolen, const char *why);
	/** After gang_occupy(): all hosts are there; else `why`, and all were released. */
	void (*occupied)(void *ctx, const char *why);
	/** A host was lost, and all others released: the job must not go on. */
	void (*lost)(void *ctx, const char *node, const char *host, const char *why);
	/** After gang_release(): each host has answered, or is not there. */
	void (*released)(void *ctx);
};

int gang_init(struct agent *agent); /**< 0 or -ENOMEM */
void gang_exit(struct agent *agent);
/** The agent ends: all hosts are released, as long as requests can be sent. */
void gang_end_all(struct agent *agent);

/** Asks for hosts that are less used than the threshold (above 1: any). NULL: `why`. */
struct gang *gang_new(struct agent *agent, uid_t uid, double threshold, const struct gang_ops *ops,
		      void *ctx, const char **why);
/** Takes these of the nodes that offered themselves. NULL, or what is wrong: nothing has changed. */
const char *gang_occupy(struct gang *g, const uint32_t *nodes, size_t count);
void gang_release(struct gang *g);
/** Its owner has gone: releases what it has, and frees it. */
void gang_drop(struct gang *g);

/** This peer is no longer a member. */
void gang_forget(struct peer *p);
/** Handler of POST /v1/gang. */
void gang_on_message(struct agent *agent, struct peer *from, const json_t *body,
		     struct server_answer *answer);

#endif
