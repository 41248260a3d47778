/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file agent.h
 * One agent: what all rooms need to know of it, and the state of each part, which is
 * known to that part alone. Two agents can live in one process, on one event loop.
 * One thread, but for the one of job/files.c that digests programs.
 *
 * A room calls only rooms before it: base, net, job, node, cluster, executor, home, ctl.
 * What a room has to tell those behind it goes through a function they gave it.
 */
#ifndef AGENT_BASE_AGENT_H
#define AGENT_BASE_AGENT_H

#include <event2/event.h>
#include <stdbool.h>
#include "base/config.h"
#include "base/event.h"
#include "eh/topology.h"

struct agent {
	struct event_base *base;
	struct config *config; /* swapped by a reload: do not keep pointers into it */
	bool member; /* has its place in the cluster; until then only cluster/join.c is at work */
	struct eh_code self;
	char code[EH_CODE_TEXT];
	bool module; /* the netlink family is there and we are registered */
	bool draining; /* takes no new guests */
	int nice, oom_score_adj; /* as we were started; guests get these, not ours */
	int status; /* of exit, once agent_end() was called */

	/* net */
	struct tls *tls;
	struct client *client;
	struct peers *peers;
	struct server *server;
	const struct net_ops *net_ops;

	/* node */
	struct cgroup *cgroup;
	struct kernel *kernel;
	struct procload *procload;
	struct stayed_tasks *stayed;
	struct node *node;
	/* cluster */
	struct enrol *enrol;
	struct join *join; /* while it joins */
	struct hierarchy *hierarchy;
	struct asks *asks;
	struct leave *leave; /* once it leaves */

	/* job */
	struct files *files; /* once a digest was needed */
	/* executor */
	struct reservations *reservations;
	struct guests *guests;
	struct views *views;

	/* home */
	struct records *records;
	struct counters *counters;
	unsigned int placements_open; /* undecided */
	struct serves *serves;
	struct handoffs *handoffs;
	/* ctl */
	const char *socket; /* abstract name of the control socket; NULL: AGENT_SOCKET */
	struct ctl *ctl;

	event_fn told; /* base/event.c */
	void *told_ctx;
};

/** Ends the agent in order, from the event loop, with this exit status. */
void agent_end(struct agent *agent, int status);

#endif
