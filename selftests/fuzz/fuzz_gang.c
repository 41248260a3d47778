// SPDX-License-Identifier: GPL-2.0-or-later
/* A gang's problem as JSON: what is read has a plan, and that one is right. */
#include <errno.h>
#include <stdlib.h>

#include "plan/gang/gang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan_refusal refusal = { 0 };
	struct gang_problem problem;
	struct gang_plan plan;
	char why[256];
	int err = gang_problem_read(&problem, (const char *)data, size, &refusal);

	if (err && (err != -EINVAL || !*refusal.what || (!refusal.line && !*refusal.where)))
		abort();
	if (!err) {
		problem.slowdown = size & 1 ? GANG_FAIR : GANG_PAPER;
		problem.min_speedup = size & 2 ? 1.5 : 0;
		err = gang_plan(&plan, &problem);
		if ((err && err != -ERANGE) ||
		    (!err && !gang_check(&plan, &problem, why, sizeof(why))))
			abort();
		gang_plan_end(&plan);
	}
	gang_problem_end(&problem);
	return 0;
}
