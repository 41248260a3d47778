/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file divide_run.h  One `ehctl divide`: a load, its parts on hosts, and what has become of them. */
#ifndef EHPLAN_DIVIDE_RUN_H
#define EHPLAN_DIVIDE_RUN_H

#include <sys/types.h>

#include "cluster.h"
#include "ehplan.h"

#define DIVIDE_NO_PLACE UINT32_MAX
#define DIVIDE_PLACES_MOST 16 /**< but for the first one */
#define DIVIDE_UNIT_LEAST 1e-30 /**< seconds; the least that a plan may have */
#define DIVIDE_RUN_WHY 160 /**< bytes of a reason */

enum divide_state { DIVIDE_WAITS, DIVIDE_RUNS, DIVIDE_DONE, DIVIDE_MOVED };

/** Some units of the load, given to one worker. Times are seconds after the start of the run. */
struct divide_part {
	enum divide_state state; /**< DIVIDE_MOVED: other parts have its units now */
	uint64_t first, count;
	uint32_t worker, place; /**< or DIVIDE_NO_PLACE */
	double cost; /**< of its units, in units of the first place */
	bool probe; /**< it measures its worker */
	double predicted_start, predicted_finish;
	double start, finish;
	double bytes; /**< of its result */
	pid_t pid;
	bool dropped; /**< killed because its host is gone */
};

/** A host, or one of several places on it. */
struct divide_worker {
	uint32_t host;
	double unit; /**< seconds for a unit of the first place; 0: not measured */
	double fixed; /**< seconds of the command's own for each part, whatever its units */
	uint32_t part; /**< that runs there, or UINT32_MAX */
	double wait, not_before; /**< seconds, and until when it starts no part; 0: it does */
	bool lost;
};

/** Units of the load that are alike, as far as is known. */
struct divide_units {
	uint64_t first, count;
	double cost; /**< of one, in units of the first place */
};

struct divide_run {
	uint64_t size; /**< units of the load */
	uint64_t from; /**< number of the first unit */
	uint64_t probe; /**< units of a first part; 0: by size */
	double data; /**< bytes that a command reads for a unit */
	const char *command, *view;
	double grace; /**< seconds that a host may be down until others have its units */
	struct cluster cluster;
	struct divide_worker *workers; /**< in the order of the ring, home first */
	uint32_t nworkers;
	struct divide_part *parts;
	uint32_t nparts;
	struct divide_units
		*places; /**< where the load was measured; the first one is in its middle */
	uint32_t nplaces;
	double result; /**< bytes of results for a unit, measured */
	char folder[4096]; /**< of the outputs; empty: not made */
	double *down_since; /**< of hosts; 0: it is up */
	double began; /**< of the clock */
	double planned_at; /**< the probes were over, and the rest was divided; 0: not yet */
	double predicted, real; /**< seconds after that */
	uint32_t moved; /**< parts that were divided again */
	bool told_full; /**< that some parts were started again */
	int signals; /**< descriptor that reads SIGCHLD and those that end us */
	int signal; /**< that ended it, or 0 */
};

/* ---- divide_run.c ---- */

double divide_run_now(const struct divide_run *run);
/** Whether the command has a word for its units, such as {first}. */
bool divide_run_has_units(const char *command);
/** The file with the output of a part. */
#define DIVIDE_PATH_MOST (4096 + 24)
void divide_run_path(const struct divide_run *run, uint32_t number, char path[DIVIDE_PATH_MOST]);
/** Whether the load was measured: else nothing is predicted. */
static inline bool divide_run_measured(const struct divide_run *run)
{
	return run->nplaces;
}
/** Reads what signals there are. 0, or an exit code after a message: one of them ends the run. */
int divide_run_signals(struct divide_run *run);
/** Seconds that a part of this cost takes the worker, and those of them for the way there. */
double divide_run_seconds(const struct divide_run *run, uint32_t worker, double cost);
double divide_run_startup(const struct divide_run *run, uint32_t worker);
/** A part for a worker. Its number, or -ENOMEM. */
int64_t divide_run_add(struct divide_run *run, const struct divide_part *part);
/** Runs all parts to their ends; those of hosts that leave are divided again. 0, or an exit code
 *  after a message; then nothing runs any more. */
int divide_run_all(struct divide_run *run);

/* ---- divide_probe.c ---- */

/** First parts at some places of the load, run to their ends: what each worker needs, and how the
 *  cost of units differs. 0, or an exit code after a message. */
int divide_probe(struct divide_run *run);

/* ---- divide_shares.c ---- */

/** Divides what the first parts have left, by the plan of paper 2, and keeps the prediction. */
int divide_shares_rest(struct divide_run *run);
/** Divides a part again, among the workers that are not lost. */
int divide_shares_again(struct divide_run *run, const struct divide_part *part);
/** A worker has nothing to do: it gets some of what waits for the one that would be last. */
int divide_shares_help(struct divide_run *run, uint32_t worker);

/* ---- divide_tell.c ---- */

/** Predicted and real times, side by side. */
int divide_tell_json(const struct divide_run *run);
void divide_tell_text(const struct divide_run *run);

#endif
