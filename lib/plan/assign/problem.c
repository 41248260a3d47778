// SPDX-License-Identifier: GPL-2.0-or-later
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void assign_free(struct assign_problem *problem)
{
	if (!problem)
		return;
	if (problem->machine) {
		free(problem->machine->compute);
		free(problem->machine->talk);
	}
	free(problem->machine);
	plan_names_free(problem->task_names);
	plan_names_free(problem->processor_names);
	free(problem->cores);
	free(problem->start);
	free(problem->to);
	free(problem->volume);
	free(problem->work);
	free(problem);
}

const char *assign_task(const struct assign_problem *problem, uint32_t task, char *buffer)
{
	if (problem->task_names)
		return plan_names_text(problem->task_names, task);
	snprintf(buffer, 24, "%u", task + 1);
	return buffer;
}

const char *assign_processor(const struct assign_problem *problem, uint32_t processor, char *buffer)
{
	if (problem->processor_names)
		return plan_names_text(problem->processor_names, processor);
	snprintf(buffer, 24, "P%u", processor + 1);
	return buffer;
}

void assign_settle(struct assign_problem *problem)
{
	size_t edges = problem->start[problem->tasks];
	double work = 0, volume = 0, unit = 1;
	bool whole = true;
	int exponent;

	for (uint32_t u = 0; u < problem->tasks; u++) {
		work += problem->work[u];
		whole &= problem->work[u] == rint(problem->work[u]);
	}
	for (size_t e = 0; e < edges; e++) {
		volume += problem->volume[e];
		whole &= problem->volume[e] == rint(problem->volume[e]);
	}
	if (!whole || work + volume > ASSIGN_EXACT) {
		/* bits that the sum has no room for are left out of the values */
		frexp(work + volume, &exponent);
		unit = ldexp(1, exponent - 51 > -1000 ? exponent - 51 : -1000);
		work = volume = 0;
		for (uint32_t u = 0; u < problem->tasks; u++)
			work += problem->work[u] = rint(problem->work[u] / unit);
		for (size_t e = 0; e < edges; e++)
			volume += problem->volume[e] = rint(problem->volume[e] / unit);
	}
	problem->unit = unit;
	problem->total_work = work;
	problem->total_volume = volume / 2;
}
