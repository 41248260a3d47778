/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file arguments.h  The options of ehctl sim. */
#ifndef EHSIM_ARGUMENTS_H
#define EHSIM_ARGUMENTS_H

#include "load_options.h"
#include "run.h"

struct arguments {
	struct run_options run;
	struct load_options load; /**< with --load: instead of `run` */
	unsigned int policy; /**< its place among the names */
	uint64_t seed; /**< of the first run; each has one more */
	uint64_t runs;
	bool decisions; /**< each placement is printed too */
	const char *trace, *plot; /**< files, or NULL */
	const char *fail[FAILURES_MAX];
	size_t nfail;
	struct failure failures[FAILURES_MAX];
};

extern const char arguments_usage[];

/** 0, or an exit code after a message. */
int arguments_parse(struct arguments *a, int argc, char **argv);
/** Once the trace is read: --fail, whose times must be within the run. As arguments_parse(). */
int arguments_failures(struct arguments *a);
/** Whether it is to be a run with service times (--load). */
static inline bool arguments_load(const struct arguments *a)
{
	return a->load.load.load > 0;
}
/** Frees what was read. */
void arguments_free(struct arguments *a);
/** Name of the policy. */
const char *arguments_policy(const struct arguments *a);
void arguments_help(void);

#endif
