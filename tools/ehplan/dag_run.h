/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file dag_run.h  One `ehctl dag`: a workflow, its plan, and what has become of each task. */
#ifndef EHPLAN_DAG_RUN_H
#define EHPLAN_DAG_RUN_H

#include <sys/types.h>

#include "build.h"
#include "cluster.h"
#include "durations.h"
#include "ehplan.h"
#include "workflow.h"

#define DAG_RUN_NOWHERE UINT32_MAX
#define DAG_RUN_WHY 160 /**< bytes of a reason */

enum dag_state {
	DAG_WAITS, /**< for its parents, or for its turn */
	DAG_RUNS,
	DAG_DONE,
	DAG_FAILED,
	DAG_LEFT, /**< not run, because a task that it depends on failed */
};

/** Times are seconds after the start of the run. */
struct dag_task {
	enum dag_state state;
	uint32_t missing; /**< parents that have not ended */
	uint32_t slot; /**< where the plan in force has it, or where it runs or ran */
	double turn; /**< its start in the plan in force */
	double expected; /**< how long it should take, from its start on */
	double soonest; /**< the least time of its start, of dag_idle_task() */
	uint32_t first_slot; /**< of the first plan */
	double predicted_start, predicted_finish; /**< in the first plan */
	double start, finish; /**< real */
	int code; /**< exit code */
	uint32_t tries; /**< times that it did not get to a host */
	double late_at; /**< a new plan is made if it has not ended then */
	bool earlier; /**< done in an earlier run */
	bool dropped; /**< killed because its host is gone */
	pid_t waiter; /**< in a build the process of the command; 0: it is not known */
};

/** A place for one task at a time. */
struct dag_slot {
	uint32_t host, number;
	uint32_t task; /**< that runs there, or DAG_RUN_NOWHERE */
};

/** What the keeper tells of a task, in memory shared with it. */
struct dag_note {
	pid_t pid; /**< of the command or its stub */
	double start, finish; /**< of the clock */
	int status; /**< of wait() */
	bool ended; /**< and the journal says so */
	bool over; /**< it has ended, or could not be started */
};

/** A plan made while tasks ran. */
struct dag_again {
	double at;
	char why[DAG_RUN_WHY];
	double makespan;
};

struct dag_run {
	struct build *build; /**< whose commands these are; NULL: the file has its own */
	const char *view;
	bool strict; /**< no task starts before an earlier one in the plan of its host */
	bool quiet; /**< the output of tasks goes to standard error */
	double grace; /**< seconds that a host may be down until its tasks run elsewhere */
	uint64_t seed;
	struct workflow work;
	struct cluster cluster;
	struct durations *durations;
	int journal;
	int ends[2]; /**< a pipe of the numbers of tasks that have ended */
	int orders; /**< a socket to the keeper */
	pid_t keeper; /**< 0: in a build there is none */
	struct dag_task *tasks;
	struct dag_note *notes;
	struct dag_slot *slots;
	uint32_t nslots;
	double *down_since; /**< of hosts; 0: it is up */
	double *avoid_until; /**< of hosts that refused a task */
	uint32_t **queue; /**< of each host: tasks in the plan's order */
	uint32_t *queued,
		*head; /**< of each host: number of them, and the first that has not started */
	double began; /**< of the clock */
	double predicted; /**< makespan of the first plan */
	double lower_bound, seconds_to_plan, seconds_to_probe;
	double real; /**< makespan */
	uint32_t done, failed, left, running, earlier;
	struct dag_again *again;
	uint32_t nagain;
	const char *stopped; /**< why it ended early; NULL: it did not */
	int signal; /**< that ended it, or 0 */
};

/* ---- dag_again.c ---- */

/** Plans all tasks that have not ended, on the hosts that can be used now, and fills in the queues.
 *  `why` NULL: the first plan. 0 (also when there is nothing to plan any more), an exit code after a
 *  message, or -EAGAIN: no host can be used. */
int dag_again_plan(struct dag_run *run, const char *why);
/** Seconds that a task takes on a host, with its start. */
double dag_again_expect(const struct dag_run *run, uint32_t task, uint32_t host);
bool dag_again_usable(const struct dag_run *run, uint32_t host);

/* ---- dag_idle.c ---- */

/** What a free slot of the host should take of the tasks that other hosts have no slot for yet, or
 *  DAG_RUN_NOWHERE: the one planned first, if it ends earlier here than there, and before a task of
 *  this host could want the slot. */
uint32_t dag_idle_task(struct dag_run *run, uint32_t host);

/* ---- dag_keep.c ---- */

/** Starts the keeper, which starts tasks and writes their ends, and ends when `orders` is closed and
 *  they have ended. 0, or an exit code after a message. */
int dag_keep_start(struct dag_run *run);
/** Tells it to start the task in its slot, or (`signal` is not 0) to send that to it. If it is gone
 *  nothing happens. */
void dag_keep_order(const struct dag_run *run, uint32_t task, int signal);

/* ---- dag_run.c ---- */

/** Runs it to its end. 0, or an exit code after a message; what happened is in `run`. */
int dag_run_all(struct dag_run *run);
/** Seconds since the start of the run. */
double dag_run_now(const struct dag_run *run);
/** Whether it waits for nothing but its turn. In a build the tool knows; a task may never be wanted. */
bool dag_run_may_start(const struct dag_run *run, uint32_t task);
/** A task has ended as its note says. `why` (of `size` bytes): a new plan is needed. 0, or an exit code
 *  after a message. */
int dag_run_ended(struct dag_run *run, uint32_t task, char *why, size_t size);

/* ---- dag_build.c ---- */

/** What the commands of the build have told. As dag_run_ended(). */
int dag_build_hear(struct dag_run *run, char *why, size_t size);
/** Whether the tool wants it to run now. */
bool dag_build_wants(const struct dag_run *run, uint32_t task);
/** Ends the tool and what has not started. */
void dag_build_stop(const struct dag_run *run, int signal);
/** The tool has ended: what it did with each failure, and what was not run. */
void dag_build_settle(struct dag_run *run);

/* ---- dag_tell.c ---- */

/** Says what failed, on standard error. */
void dag_tell_failures(const struct dag_run *run);
/** Prints predicted and real times. Exit code. */
int dag_tell_json(const struct dag_run *run, const char *name);
int dag_tell_text(const struct dag_run *run);
/** The plan, and below each row of it what was. Exit code. */
int dag_tell_gantt(const struct dag_run *run, const char *path);

#endif
