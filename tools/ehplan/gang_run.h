/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file gang_run.h  One run of `ehctl gang`: the hosts that offer themselves, and the job on some of them. */
#ifndef EHPLAN_GANG_RUN_H
#define EHPLAN_GANG_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "plan/gang/gang.h"

/** A host that offered itself, by its utilisation. */
struct gang_offer {
	char *host, *node; /**< name, and code for the agent */
	double utilization;
};

struct gang_place;

#define GANG_FILES 4

struct gang_run {
	struct gang_problem problem; /**< hosts are the offers */
	struct gang_offer *offers;
	uint32_t n;
	uint32_t *chosen; /**< offers, those with the least utilisation first */
	uint32_t count;
	uint32_t least, most; /**< hosts for which the model is good; 0: any number */
	double threshold; /**< above 1: every host was asked */
	double predicted, real; /**< seconds, both with `startup` */
	double alone;
	uint32_t slots; /**< parts of the job on each host */
	uint32_t nprefixes, *counts;
	double *times;
	json_t *refusal; /**< what the agent said instead of offers, or NULL */
	int agent; /**< the connection that keeps the hosts; -1: none */
	int signals; /**< signalfd */
	/** where each rank runs; NULL: in the order of the hosts */
	const struct gang_place *place;
	FILE *files[GANG_FILES]; /**< for launchers; NULL: not written */
	bool lost;
	int code; /**< exit code of the command */
};

/* ---- gang_hosts.c: with the agent ---- */

/** Asks for hosts below run->threshold, only those of the list (with commas) if it is not NULL. Fills
 *  in offers; 0 of them is not an error, nor is it that the agent refuses for now: then there are none,
 *  and run->refusal has why. 0 or an exit code after a message. */
int gang_hosts_ask(struct gang_run *run, const char *only);
/** Occupies the chosen ones. 0 or an exit code after a message. */
int gang_hosts_occupy(struct gang_run *run);
/** Releases all and waits until they have heard it. */
void gang_hosts_release(struct gang_run *run);
/** What the agent says while the job runs: a message says which host was lost. */
void gang_hosts_hear(struct gang_run *run);
void gang_hosts_forget(struct gang_run *run); /**< closes the connection, drops the offers */

/* ---- gang_files.c: for the launchers of MPI ---- */

/** Writes hostfiles and a rankfile and sets the environment. They are in memory, so that nothing is left
 *  of them when this process ends, however that happens. 0 or an exit code after a message. */
int gang_files_write(struct gang_run *run);
void gang_files_remove(struct gang_run *run);
/** The command with {count}, {ranks}, {hosts}, {hostfile} and {rankfile} filled in. NULL: no memory. */
char **gang_files_fill(const struct gang_run *run, char **words);
void gang_files_drop(char **filled);

/* ---- gang_job.c ---- */

/** Runs the command until it ends, a host is lost or a signal comes. 0 (run->code has its exit code),
 *  or an exit code after a message. */
int gang_job_run(struct gang_run *run, char **words, bool json);

#endif
