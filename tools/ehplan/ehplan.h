/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ehplan.h  The program behind `ehctl plan`: one file per planner, and what they share. */
#ifndef EHPLAN_H
#define EHPLAN_H

#include "plan/plan.h"
#include "tools/common/common.h"
#include "tools/common/options.h"

struct planner;

/** One call, with its input and its options. */
struct plan_call {
	const struct planner *planner;
	const char *name; /**< of the input, for messages */
	char *text; /**< the input, with a null byte behind it */
	size_t length;
	const char *algorithm; /**< NULL: the planner's default */
	const char *gantt; /**< file for the diagram, or NULL */
	const char *format; /**< rankfile, hostfile, or NULL */
	uint64_t seed;
	bool json;
	struct plan_watch watch;
	double began; /**< of the clock of `watch`, set by call_begin() */
	double seconds; /**< from call_begin() to call_end() */
};

struct planner {
	const char *name;
	const char *arguments; /**< options of its own, for the usage line */
	const char *help;
	const char *const *algorithms; /**< NULL-terminated, the default first */
	const char *const *formats; /**< of --format, NULL-terminated; NULL: it has none */
	bool gantt;
	const struct option_row *options; /**< of its own; NULL: none. `help` has their text */
	void *settings; /**< what they are kept in, with the defaults */
	int (*run)(struct plan_call *call); /**< returns the exit code */
};

extern const struct planner assign_planner, gang_planner, divide_planner, dag_planner;

/* ---- call.c ---- */

/** Reads a file, "-" for standard input, up to 2 GiB; `*text` ends with a null byte and is the
 *  caller's. 0 or an exit code after a message. */
int call_read(const char *path, const char **name, char **text, size_t *length);
/** Prints why an input was refused (-EINVAL), or that memory is missing; returns the exit code. */
int call_refused(const char *name, const struct plan_refusal *refusal, int err);
/** The input is read: the time limit and seconds_to_plan count from here. */
void call_begin(struct plan_call *call);
/** The plan is made and checked: seconds_to_plan counts up to here, output is next. */
void call_end(struct plan_call *call);
/** METIS prints complaints on standard output, which is for the plan: nothing comes through until
 *  call_show_output() is given what this returned. */
int call_hide_output(void);
void call_show_output(int saved);
/** The document of a plan: the members that all planners print, and `members`, which it takes
 *  (NULL: no memory for them). NULL: no memory. */
json_t *call_document(const struct plan_call *call, const char *planner, const char *algorithm,
		      json_t *members);

/* ---- gantt.c ---- */

struct gantt_bar {
	uint32_t row;
	double start, finish; /**< seconds or units of the input */
	const char *label; /**< drawn when there is room; NULL: none */
	unsigned int kind; /**< index into `kinds`, which has the colour's name in the legend */
};

struct gantt {
	const char *title, *unit; /**< of the time axis */
	const char *const *rows; /**< processors or links, from the top */
	uint32_t nrows;
	const char *const *kinds; /**< NULL-terminated, at most 8 */
	const struct gantt_bar *bars;
	size_t nbars;
};

/** A time-space diagram as in the papers, an SVG file. 0 or an exit code after a message. */
int gantt_draw(const struct gantt *gantt, const char *path);

#endif
