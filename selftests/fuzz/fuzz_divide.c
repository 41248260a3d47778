// SPDX-License-Identifier: GPL-2.0-or-later
/* A divisible load's problem as JSON: what is read has a plan, and that one is right. */
#include <errno.h>
#include <stdlib.h>

#include "plan/divide/divide.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan_refusal refusal = { 0 };
	struct divide_problem problem;
	struct divide_plan plan;
	char why[256];
	int err = divide_problem_read(&problem, (const char *)data, size, &refusal);

	if (err && (err != -EINVAL || !*refusal.what || (!refusal.line && !*refusal.where)))
		abort();
	if (!err && problem.n <= 8) {
		if (divide_plan(&plan, &problem, NULL) ||
		    !divide_check(&plan, &problem, why, sizeof(why)))
			abort();
		divide_plan_end(&plan);
		err = divide_printed(&plan, &problem);
		if ((err && err != -EDOM) ||
		    (!err && !divide_check(&plan, &problem, why, sizeof(why))))
			abort();
		divide_plan_end(&plan);
	}
	divide_problem_end(&problem);
	return 0;
}
