// SPDX-License-Identifier: GPL-2.0-or-later
/* Problems of the planner assign, JSON and METIS graphs: refused with a reason, or planned, and then the checker agrees. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/assign/assign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void plan_it(const struct assign_problem *p)
{
	struct plan_refusal wrong = { 0 };
	struct assign_plan *plan = assign_plan_new(p);
	double alone;

	if (!plan)
		exit(1);
	alone = plan->total;
	for (int i = 0; i < 4; i++) {
		int err = i < 2	   ? assign_paper(p, i, plan, NULL, NULL)
			  : i == 2 ? assign_exact(p, 50, NULL, plan)
				   : assign_best(p, 1, NULL, plan);

		if (err < 0 || assign_check(p, plan, &wrong))
			abort();
		if (i == 3 && plan->total > alone * (1 + 1e-9))
			abort();
		if (i == 1) { /* the searches start from all on one */
			assign_plan_free(plan);
			plan = assign_plan_new(p);
			if (!plan)
				exit(1);
		}
	}
	assign_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assign_defaults defaults = { .work = -1, .volume = -1 };
	struct plan_refusal refusal = { 0 };
	struct assign_problem *p = NULL;
	char *text = malloc(size + 1);
	int err;

	if (!text)
		exit(1);
	memcpy(text, data, size);
	text[size] = '\0';
	if (assign_is_metis(text, size)) {
		defaults.processors = 3;
		err = assign_read_metis(text, size, &defaults, &p, &refusal);
	} else {
		err = assign_read_json(text, size, &defaults, &p, &refusal);
	}
	free(text);
	if (err) {
		if (err != -EINVAL || !*refusal.what || (!refusal.line && *refusal.where != '$'))
			abort();
		return 0;
	}
	/* few steps, so that many inputs are tried */
	if (p->tasks <= 12 && p->processors <= 8)
		plan_it(p);
	assign_free(p);
	return 0;
}
