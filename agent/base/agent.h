/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file agent.h
 * One agent: what all rooms need, and the state of each part, which only that part knows.
 * Two agents can run in one process, on one event loop. All is one thread, but for
 * what base/keep.c does with the disk.
 *
 * A room calls only rooms before it: base, net, job, node, cluster, executor, home, ctl.
 * It reaches later rooms through functions that they gave it (wiring.c).
 */
#ifndef AGENT_BASE_AGENT_H
#define AGENT_BASE_AGENT_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>
#include "base/config.h"
#include "cluster/versions.h"
#include "eh/topology.h"

struct json_t; /* jansson's */

struct agent {
	struct event_base *base;
	struct config *config; /* replaced by a reload: do not keep pointers into it */
	bool member; /* has a code in the cluster; until then only cluster/join.c runs */
	struct eh_code self;
	char code[EH_CODE_TEXT];
	bool module; /* the netlink family exists and we are registered */
	bool draining; /* takes no new guests, as one of the two wishes */
	bool drained, owned; /* administrators; its owner: cluster/drain.h */
	bool keeps; /* with `drained`: sends no task away either */
	struct versions protocol; /* that it speaks; zero: wiring_start() sets it */
	const char *release; /* version of the programs; NULL: not told to others */
	uint64_t began; /* ms, monotonic */
	int nice, oom_score_adj; /* as the agent was started; guests get these */
	int status; /* exit status, after agent_end() */
	struct ehlaunch *ehlaunch; /* base/ehlaunch.c */
	struct event *watchdog; /* base/notify.c */
	struct keep *keep; /* base/keep.c: files beside that of `state` */

	/* net */
	struct tls *tls;
	struct client *client;
	struct peers *peers;
	struct recheck *recheck;
	struct revoke_list *revoke_list; /* of the authority; NULL: nothing was revoked */
	struct revoked *revoked;
	struct server *server;
	const struct net_ops *net_ops;

	/* job */
	struct files *files; /* after the first question */
	struct looks *looks;

	/* node */
	struct cgroup *cgroup;
	struct kernel *kernel;
	struct procload *procload;
	struct local_tasks *local_tasks;
	struct node *node;
	struct usage *usage;
	struct memory *memory;

	/* cluster */
	struct own_roster *own_roster;
	struct invites *invites;
	struct renew *renew;
	struct join *join; /* while it joins */
	struct hierarchy *hierarchy;
	struct asks *asks;
	struct credits *credits; /* with policy idle */
	uint64_t credits_life; /* the last one's, struct eh_idle_options */
	struct slots *slots; /* of builds */
	struct seats *seats; /* of gangs, on this node */
	struct gang_requests *gang_requests;
	struct gangs *gangs; /* of this node */
	struct leave *leave; /* once it leaves */
	struct owner *owner;
	struct drain *drain; /* about `draining`; NULL: nothing is known */

	/* executor */
	struct reservations *reservations;
	struct guests *guests;
	struct views *views;

	/* home */
	struct history *history; /* NULL: none is kept */
	struct incidents *incidents; /* likewise */
	struct records *records;
	struct eligibles *eligibles; /* after the first question */
	struct counters *counters;
	struct learn *learn;
	unsigned int placements_open; /* undecided */
	struct serves *serves;
	struct aways *aways;

	/* ctl */
	const char *socket; /* directory of the local socket; NULL: agent_address.h says which */
	struct listener *listener;
	struct ctl *ctl;
	struct watchers *watchers;
	LIST_HEAD(, survey) surveys; /* under way: survey.c */
	struct sessions *sessions; /* after the first one */
	struct pair_run *pair_run; /* this node tests others just now; or NULL */
	/*
	 * Takes the configuration as it is now (main.c). If not 0, it was refused: *why has a line for
	 * each error, which the caller frees; NULL: no memory.
	 */
	int (*reload)(struct agent *agent, char **why);

	void (*told)(void *ctx, const struct json_t *event); /* base/event.c */
	void *told_ctx;
	void (*kept)(void *ctx, const struct json_t *event);
	void *kept_ctx;

	struct lapse *lapse; /* cluster: which hosts are dead */
};

/** Ends the event loop, and so the agent, in order and with this exit status. */
void agent_end(struct agent *agent, int status);
/** Makes an event of a descriptor in the agent's loop, and adds it. NULL: no memory. */
struct event *agent_watch(struct agent *agent, evutil_socket_t fd, short what,
			  event_callback_fn call, void *ctx);
/** Frees an event, and sets it to NULL; NULL: does nothing. */
void agent_free_event(struct event **event);

#endif
