/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file arguments.h  The options of ehctl sim. */
#ifndef EHSIM_ARGUMENTS_H
#define EHSIM_ARGUMENTS_H

#include "run.h"

struct arguments {
	struct run_options run;
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
/** Name of the policy. */
const char *arguments_policy(const struct arguments *a);
void arguments_help(void);

#endif
