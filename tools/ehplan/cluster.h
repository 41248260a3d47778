/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file cluster.h  The live cluster, as the agent of this node sees it, and what probes say of it. */
#ifndef EHPLAN_CLUSTER_H
#define EHPLAN_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

/** A host with an agent. Times are seconds, rates are bytes a second. */
struct cluster_host {
	char *name;
	double capacity; /**< of its agent: normally the number of its processors */
	double load; /**< tasks that run there or wait for a processor */
	bool self; /**< this host */
	bool up, draining;
	uint32_t slots; /**< how many of our tasks it is given at a time; 0: none */
	/* measured by probe_host() */
	double startup; /**< from the start of a short command here to its end */
	double round_trip; /**< of one byte to a command there and back */
	double rate; /**< of bytes to a command there and back, at the same time */
};

struct cluster {
	struct cluster_host *hosts;
	uint32_t n, self;
};

/** What cluster_open() is asked for. */
struct cluster_wish {
	const char *only; /**< names of hosts with commas between them; NULL: all */
	uint32_t slots; /**< of each host; 0: the processors that are free, at least one */
};

/** Asks the agent of this node. Hosts that are down or drain have no slots. 0, or an exit code after
 *  a message. End it with cluster_close() in either case. */
int cluster_open(struct cluster *c, const struct cluster_wish *wish);
void cluster_close(struct cluster *c);
/** Asks again which hosts are up and drain, and their loads. Returns whether a host that was usable
 *  is not any more, or the other way round. Without an answer, which is waited for some seconds,
 *  nothing changes. */
bool cluster_look(struct cluster *c);
/** The same in two steps, so that nobody waits for the agent: the question, a descriptor that can be
 *  read when the answer is there, or -1; and the answer, which closes it. */
int cluster_ask(void);
bool cluster_answer(struct cluster *c, int fd);
/** Whether tasks may be started there now. */
bool cluster_usable(const struct cluster_host *host);
/** Notes for each host since when it is down; 0: it is up. */
void cluster_note_down(const struct cluster *c, double now, double *since);
/** Whether a host that is down since then has been so for long enough to do without it. */
static inline bool cluster_is_lost(double since, double now, double grace)
{
	return since > 0 && now - since >= grace;
}
/** How much longer a task takes there than on an idle host, by processor sharing: at least 1. */
double cluster_slowdown(const struct cluster_host *host);

/** Whether the list, with commas, has this name. */
bool cluster_is_listed(const char *list, const char *name);

enum cluster_way {
	CLUSTER_WENT, /**< it got to the node: its status is that of the command */
	CLUSTER_FULL, /**< it did not, for so many were there or on their way: that passes */
	CLUSTER_KEPT, /**< it did not, for another reason */
};

/** What the agent says of the job of this process (a stub). `why` (of `size` bytes) has the reason
 *  for which it did not get to the node. */
enum cluster_way cluster_way(int pid, char *why, unsigned int size);

#endif
