// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl plan assign: tasks that communicate, placed on processors (paper 0). */
#include "ehplan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/assign/assign.h"

/* A trace has one number for each task and processor. */
#define TRACE_MOST 20000000u
/* Bytes for the ids in a row of the table. */
#define IDS_WIDTH 60

static struct settings {
	struct assign_defaults missing; /* what the input leaves out */
	uint64_t processors;
	bool trace;
} settings = { .missing = { .work = -1, .volume = -1 } };

static const struct option_row options[] = {
	{ "processors", OPTION_COUNT, offsetof(struct settings, processors), "P",
	  .count = { 1, ASSIGN_PROCESSORS_MAX },
	  .wanted = "a number of processors from 1 to 131072 is needed" },
	{ "work", OPTION_REAL, offsetof(struct settings, missing.work), "W", .real = { 0, 1e15 },
	  .wanted = "a work from 0 to 1e15 is needed" },
	{ "volume", OPTION_REAL, offsetof(struct settings, missing.volume), "V",
	  .real = { 0, 1e15 }, .wanted = "a volume from 0 to 1e15 is needed" },
	{ .name = "trace", .kind = OPTION_FLAG, .at = offsetof(struct settings, trace) },
	{ 0 },
};

static int read_problem(const struct plan_call *call, struct assign_problem **problem)
{
	size_t name = strlen(call->name);
	bool graph = name > 6 && !strcmp(call->name + name - 6, ".graph");
	struct plan_refusal refusal = { 0 };
	int err;

	settings.missing.processors = (uint32_t)settings.processors;
	if (graph || assign_is_metis(call->text, call->length))
		err = assign_read_metis(call->text, call->length, &settings.missing, problem,
					&refusal);
	else
		err = assign_read_json(call->text, call->length, &settings.missing, problem,
				       &refusal);
	return err ? call_refused(call->name, &refusal, err) : 0;
}

/* ---- the paper's steps ---- */

struct steps {
	const struct assign_problem *problem;
	json_t *list;
	bool failed;
};

/* In the units of the input; a whole number stays one. */
static json_t *number(const struct assign_problem *p, double value)
{
	value *= p->unit;
	return value == rint(value) && value < 0x1p53 ? json_integer((json_int_t)value)
						      : json_real(value);
}

static void add_step(void *ctx, uint32_t task, uint32_t processor, const double *f)
{
	struct steps *s = ctx;
	char id[24], where[24];
	json_t *costs = json_array(), *step;

	for (uint32_t k = 0; k < s->problem->processors; k++)
		s->failed |= json_array_append_new(costs, number(s->problem, f[k])) != 0;
	step = json_pack("{s:s, s:s, s:o}", "task", assign_task(s->problem, task, id), "processor",
			 assign_processor(s->problem, processor, where), "costs", costs);
	s->failed |= json_array_append_new(s->list, step) != 0;
}

static int plan_paper(const struct assign_problem *problem, bool sorted, struct assign_plan *plan,
		      json_t *steps)
{
	struct steps to = { problem, steps, false };
	int err = assign_bound(problem, &plan->lower_bound);

	if (!err)
		err = assign_paper(problem, sorted, plan, steps ? add_step : NULL, &to);
	return !err && to.failed ? -ENOMEM : err;
}

static int plan_best(struct plan_call *call, const struct assign_problem *problem, bool exact,
		     struct assign_plan *plan)
{
	int saved = call_hide_output();
	int err = assign_best(problem, call->seed, &call->watch, plan);

	call_show_output(saved);
	if (!err && exact && !plan->optimal)
		err = assign_exact(problem, 0, &call->watch, plan);
	return err;
}

/* `steps`: a list for the steps of the paper's algorithm, or NULL. */
static int make_plan(struct plan_call *call, const struct assign_problem *problem,
		     const char *algorithm, json_t *steps, struct assign_plan **out)
{
	struct plan_refusal wrong = { 0 };
	struct assign_plan *plan;
	int err = -ENOMEM;

	call_begin(call);
	*out = plan = assign_plan_new(problem);
	if (plan && !strncmp(algorithm, "paper", 5))
		err = plan_paper(problem, !strcmp(algorithm, "paper-sorted"), plan, steps);
	else if (plan)
		err = plan_best(call, problem, !strcmp(algorithm, "exact"), plan);
	if (err < 0)
		return fail(EXIT_REFUSED, "%s: no memory", call->name);
	if (plan->total <= plan->lower_bound)
		plan->optimal = true;
	err = assign_check(problem, plan, &wrong);
	call_end(call);
	if (err)
		return fail(EXIT_REFUSED, "%s: the plan is wrong: %s", call->name,
			    err == -EINVAL ? wrong.what : strerror(-err));
	return 0;
}

/* ---- what is printed ---- */

static json_t *list_processors(const struct assign_problem *p, const struct assign_plan *plan)
{
	json_t *list = json_array();
	char id[24];

	for (uint32_t k = 0; k < p->processors; k++) {
		json_t *entry =
			json_pack("{s:s, s:o, s:o, s:o}", "id", assign_processor(p, k, id), "work",
				  number(p, plan->work[k]), "comm", number(p, plan->talk[k]),
				  "cost", number(p, plan->cost[k]));

		if (json_array_append_new(list, entry)) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *list_tasks(const struct assign_problem *p, const struct assign_plan *plan)
{
	json_t *tasks = json_object();
	char id[24], where[24];

	for (uint32_t u = 0; u < p->tasks; u++) {
		if (json_object_set_new(tasks, assign_task(p, u, id),
					json_string(assign_processor(p, plan->at[u], where)))) {
			json_decref(tasks);
			return NULL;
		}
	}
	return tasks;
}

static int print_json(const struct plan_call *call, const char *algorithm,
		      const struct assign_problem *p, const struct assign_plan *plan, json_t *steps)
{
	json_t *members = json_pack(
		"{s:o, s:o, s:b, s:o, s:o, s:o}", "cost", number(p, plan->total), "lower_bound",
		number(p, plan->lower_bound), "optimal", (int)plan->optimal, "assignment",
		list_tasks(p, plan), "processors", list_processors(p, plan), "trace",
		steps ? json_incref(steps) : json_array());

	return json_print_new(call_document(call, "assign", algorithm, members));
}

/* The ids of the tasks on a processor, as many as fit into a row. */
static void write_ids(const struct assign_problem *p, const uint32_t *list, uint32_t count,
		      char *out, size_t size)
{
	size_t at = 0;
	char id[24];

	*out = '\0';
	for (uint32_t i = 0; i < count; i++) {
		const char *text = assign_task(p, list[i], id);

		if (at + strlen(text) + 16 > size) {
			snprintf(out + at, size - at, " (%u more)", count - i);
			return;
		}
		at += snprintf(out + at, size - at, "%s%s", i ? " " : "", text);
	}
}

/* Tasks by processor: first[k] to first[k + 1] - 1 of `list`. */
static int by_processor(const struct assign_problem *p, const struct assign_plan *plan,
			uint32_t **first, uint32_t **list)
{
	*first = calloc((size_t)p->processors + 2, sizeof(**first));
	*list = calloc(p->tasks, sizeof(**list));
	if (!*first || !*list)
		return -ENOMEM;
	for (uint32_t u = 0; u < p->tasks; u++)
		(*first)[plan->at[u] + 2]++;
	for (uint32_t k = 2; k <= p->processors; k++)
		(*first)[k] += (*first)[k - 1];
	for (uint32_t u = 0; u < p->tasks; u++)
		(*list)[(*first)[plan->at[u] + 1]++] = u;
	return 0;
}

static void print_steps(const json_t *steps)
{
	const json_t *step, *cost;
	size_t i, k;

	json_array_foreach(steps, i, step) {
		printf("%s on %s:", text_of(step, "task"), text_of(step, "processor"));
		json_array_foreach(json_object_get(step, "costs"), k, cost)
			printf(" %.10g", json_number_value(cost));
		printf("\n");
	}
	if (json_array_size(steps))
		printf("\n");
}

static void print_table(const struct assign_problem *p, const struct assign_plan *plan,
			const uint32_t *first, const uint32_t *list)
{
	struct table *t = table_new("processor", "work", "comm", "cost", "tasks", NULL);
	char id[24], work[32], talk[32], cost[32], ids[IDS_WIDTH];
	uint32_t idle = 0;

	for (uint32_t k = 0; k < p->processors; k++) {
		if (first[k] == first[k + 1]) {
			idle++;
			continue;
		}
		snprintf(work, sizeof(work), "%.10g", plan->work[k] * p->unit);
		snprintf(talk, sizeof(talk), "%.10g", plan->talk[k] * p->unit);
		snprintf(cost, sizeof(cost), "%.10g", plan->cost[k] * p->unit);
		write_ids(p, list + first[k], first[k + 1] - first[k], ids, sizeof(ids));
		table_row(t, assign_processor(p, k, id), work, talk, cost, ids, NULL);
	}
	table_print(t);
	if (idle)
		printf("%u more without a task\n", idle);
	if (plan->optimal)
		printf("cost %.10g, optimal\n", plan->total * p->unit);
	else
		printf("cost %.10g, lower bound %.10g\n", plan->total * p->unit,
		       plan->lower_bound * p->unit);
}

/* A host's name must be one word in the files of Open MPI. */
static int check_host(const struct assign_problem *p, uint32_t k)
{
	char id[24];
	const char *host = assign_processor(p, k, id);

	if (host[strcspn(host, " =#,:\"")])
		return fail(EXIT_USAGE,
			    "$.processors[%u].id: \"%.80s\" is not a host name for Open MPI", k,
			    host);
	return 0;
}

static int print_hosts(const struct plan_call *call, const struct assign_problem *p,
		       const struct assign_plan *plan, const uint32_t *first)
{
	uint32_t *taken = calloc(p->processors, sizeof(*taken));
	bool ranks = !strcmp(call->format, "rankfile");
	int code = 0;
	char id[24];

	if (!taken)
		return fail(EXIT_REFUSED, "no memory");
	for (uint32_t k = 0; k < p->processors && !code; k++)
		if (first[k] != first[k + 1])
			code = check_host(p, k);
	for (uint32_t k = 0; k < p->processors && !code && !ranks; k++)
		if (first[k] != first[k + 1])
			printf("%s slots=%u\n", assign_processor(p, k, id),
			       first[k + 1] - first[k]);
	for (uint32_t u = 0; u < p->tasks && !code && ranks; u++) {
		uint32_t k = plan->at[u];

		printf("rank %u=%s slot=", u, assign_processor(p, k, id));
		/* Open MPI starts nothing if there is no such processor: any, if nobody knows */
		if (p->cores && p->cores[k])
			printf("%u\n", taken[k]++ % p->cores[k]);
		else
			printf("S*\n");
	}
	free(taken);
	return code;
}

static int show(const struct plan_call *call, const char *algorithm, const struct assign_problem *p,
		const struct assign_plan *plan, json_t *steps)
{
	uint32_t *first = NULL, *list = NULL;
	int code = EXIT_DONE;

	if (call->json)
		return print_json(call, algorithm, p, plan, steps);
	if (by_processor(p, plan, &first, &list)) {
		code = fail(EXIT_REFUSED, "no memory for the output");
	} else if (call->format) {
		code = print_hosts(call, p, plan, first);
	} else {
		print_steps(steps);
		print_table(p, plan, first, list);
	}
	free(first);
	free(list);
	return code;
}

static int run(struct plan_call *call)
{
	const char *algorithm = call->algorithm ? call->algorithm : "best";
	struct assign_problem *problem = NULL;
	struct assign_plan *plan = NULL;
	json_t *steps = NULL;
	int code;

	if (settings.trace && strncmp(algorithm, "paper", 5))
		return bad_usage(
			"--trace shows the paper's steps: --algorithm paper or paper-sorted");
	if (call->json && call->format)
		return bad_usage("--json or --format, not both");
	code = read_problem(call, &problem);
	if (code)
		goto out;
	if (settings.trace && (uint64_t)problem->tasks * problem->processors > TRACE_MOST) {
		code = fail(EXIT_USAGE, "--trace: %u tasks on %u processors are too many to show",
			    problem->tasks, problem->processors);
		goto out;
	}
	if (settings.trace) {
		steps = json_array();
		if (!steps) {
			code = fail(EXIT_REFUSED, "%s: no memory", call->name);
			goto out;
		}
	}
	code = make_plan(call, problem, algorithm, steps, &plan);
	if (!code)
		code = show(call, algorithm, problem, plan, steps);
out:
	json_decref(steps);
	assign_plan_free(plan);
	assign_free(problem);
	return code;
}

static const char *const algorithms[] = { "best", "exact", "paper", "paper-sorted", NULL };
static const char *const formats[] = { "rankfile", "hostfile", NULL };

const struct planner assign_planner = {
	.name = "assign",
	.arguments = "[--processors P] [--work W] [--volume V] [--trace] [--algorithm A] "
		     "[--format F] [--seed S] [--time-limit S]",
	.help = "map tasks that talk to each other to processors\n\n"
		"FILE is JSON or a METIS graph. The plan minimises the largest cost of a processor: the\n"
		"work of its tasks and their communication with tasks on other processors.\n\n"
		"  --processors P     number of processors, if FILE does not list them\n"
		"  --work W           work of tasks that have none in FILE (METIS: 1)\n"
		"  --volume V         volume of pairs that have none in FILE (METIS: 1)\n"
		"  --trace            print the costs after each step of the paper's algorithm",
	.algorithms = algorithms,
	.formats = formats,
	.options = options,
	.settings = &settings,
	.run = run,
};
