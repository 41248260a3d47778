// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl plan gang: how many hosts for one SPMD job (paper 1). */
#include "ehplan.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/gang/gang.h"

static const char *const algorithms[] = { "paper", NULL };
static const char *const formats[] = { "hostfile", NULL };
static const char *const slowdowns[] = { "paper", "fair", NULL };
static const char *const kinds[] = { "computing", "communicating", "loading", "collecting", NULL };

static struct settings {
	unsigned int slowdown; /* enum gang_slowdown */
	double min_speedup;
} settings;

static const struct option_row options[] = {
	{ "slowdown", OPTION_WORD, offsetof(struct settings, slowdown), "paper|fair",
	  .wanted = "paper or fair is needed" },
	{ "min-speedup", OPTION_REAL, offsetof(struct settings, min_speedup), "X",
	  .real = { DBL_MIN, 1e12 }, .wanted = "a number above 0 is needed" },
	{ 0 },
};

/* On a host that is always busy a job never ends; JSON has no infinity. */
static json_t *seconds_json(double seconds)
{
	return isfinite(seconds) ? json_real(seconds) : json_null();
}

static json_t *make_document(const struct plan_call *call, const struct gang_plan *plan,
			     const struct gang_problem *p)
{
	json_t *hosts = json_array(), *prefixes = json_array(), *parts;
	struct gang_times t = { 0 };

	gang_times(p, plan->count, &t);
	parts = json_pack("{s:f, s:f, s:f, s:f}", "load", t.load, "comm", t.comm, "collect",
			  t.collect, "compute", t.compute);
	for (uint32_t i = 0; i < plan->count; i++)
		json_array_append_new(hosts,
				      json_string(plan_names_text(p->names, plan->order[i])));
	for (uint32_t i = 0; i < plan->nprefixes; i++)
		json_array_append_new(prefixes,
				      json_pack("{s:i, s:o}", "count", (int)plan->counts[i],
						"seconds", seconds_json(plan->times[i])));
	return call_document(
		call, "gang", algorithms[0],
		json_pack("{s:o, s:i, s:f, s:f, s:s, s:f, s:o, s:i, s:o, s:f, s:o}", "hosts", hosts,
			  "count", (int)plan->count, "seconds", plan->seconds, "speedup",
			  plan->speedup, "slowdown", slowdowns[p->slowdown], "utilization",
			  p->utilization[plan->order[plan->count - 1]], "threshold",
			  p->min_speedup > 0 ? json_real(plan->threshold) : json_null(), "offered",
			  (int)plan->offered, "parts", parts, "seconds_alone", plan->alone,
			  "prefixes", prefixes));
}

static void print_table(const struct gang_plan *plan, const struct gang_problem *p)
{
	struct table *t = table_new("HOSTS", "LAST HOST", "UTILIZATION", "SECONDS", "", NULL);

	printf("%u of %u hosts: %.6g s, %.4g times as fast as one idle host\n", plan->count, p->n,
	       plan->seconds, plan->speedup);
	if (p->min_speedup > 0)
		printf("threshold %.4g: %u hosts are below it\n", plan->threshold, plan->offered);
	printf("\n");
	for (uint32_t i = 0; i < plan->nprefixes; i++) {
		uint32_t count = plan->counts[i], last = plan->order[count - 1];
		char number[32], eta[32], seconds[32];

		/* only those around the best, if there are many */
		if (plan->nprefixes > 40 && (count + 10 < plan->count || count > plan->count + 10))
			continue;
		snprintf(number, sizeof(number), "%u", count);
		snprintf(eta, sizeof(eta), "%.4g", p->utilization[last]);
		snprintf(seconds, sizeof(seconds), "%.6g", plan->times[i]);
		table_row(t, number, plan_names_text(p->names, last), eta, seconds,
			  count == plan->count ? "best" : "", NULL);
	}
	table_print(t);
}

/* A hostfile of Open MPI; each host runs one part. */
static void print_hostfile(const struct gang_plan *plan, const struct gang_problem *p)
{
	for (uint32_t i = 0; i < plan->count; i++)
		printf("%s slots=1\n", plan_names_text(p->names, plan->order[i]));
}

/* One row per host: it loads the data, computes, waits for the slowest, communicates and returns
 * its results. */
static int draw(const struct gang_plan *plan, const struct gang_problem *p, const char *path)
{
	struct gantt gantt = { .title = "One SPMD job", .unit = "seconds", .kinds = kinds };
	struct gantt_bar *bars = calloc(4 * (size_t)plan->count, sizeof(*bars));
	const char **rows = calloc(plan->count, sizeof(*rows));
	double slowest, load, computed, talked;
	struct gang_times t = { 0 };
	int code;

	if (!bars || !rows) {
		code = fail(EXIT_REFUSED, "%s: no memory for the diagram", path);
		goto out;
	}
	gang_times(p, plan->count, &t);
	slowest = gang_slow(p->slowdown, p->utilization[plan->order[plan->count - 1]]);
	load = t.load;
	computed = load + (t.compute > 0 ? t.compute * slowest : 0);
	talked = computed + t.comm;
	for (uint32_t i = 0; i < plan->count; i++) {
		uint32_t host = plan->order[i];
		double own = t.compute * gang_slow(p->slowdown, p->utilization[host]);

		rows[i] = plan_names_text(p->names, host);
		bars[gantt.nbars++] = (struct gantt_bar){ i, 0, load, NULL, 2 };
		bars[gantt.nbars++] = (struct gantt_bar){ i, load, load + own, NULL, 0 };
		bars[gantt.nbars++] = (struct gantt_bar){ i, computed, talked, NULL, 1 };
		bars[gantt.nbars++] = (struct gantt_bar){ i, talked, talked + t.collect, NULL, 3 };
	}
	gantt.rows = rows;
	gantt.nrows = plan->count;
	gantt.bars = bars;
	code = gantt_draw(&gantt, path);
out:
	free(bars);
	free(rows);
	return code;
}

static int show(const struct plan_call *call, const struct gang_plan *plan,
		const struct gang_problem *p)
{
	int code = 0;

	if (!plan->count)
		return fail(EXIT_REFUSED, "%s: all hosts are always busy, so the job never ends",
			    call->name);
	if (call->gantt)
		code = draw(plan, p, call->gantt);
	if (code)
		return code;
	if (call->format) {
		print_hostfile(plan, p);
	} else if (!call->json) {
		print_table(plan, p);
	} else {
		code = json_print_new(make_document(call, plan, p));
	}
	return code;
}

static int too_slow(const struct plan_call *call, const struct gang_plan *plan,
		    const struct gang_problem *p)
{
	if (plan->threshold < 0)
		return fail(
			EXIT_REFUSED,
			"%s: all hosts together are not %g times as fast as one, even when they are idle",
			call->name, p->min_speedup);
	return fail(
		EXIT_REFUSED,
		"%s: no set of the %u hosts below the threshold %.4g is %g times as fast as one idle host; the fastest is %.4g times as fast",
		call->name, plan->offered, plan->threshold, p->min_speedup, plan->speedup);
}

static int make_plan(struct plan_call *call, const struct gang_problem *p, struct gang_plan *plan)
{
	char why[256];
	bool valid = false;
	int err;

	call_begin(call);
	err = gang_plan(plan, p);
	if (!err)
		valid = gang_check(plan, p, why, sizeof(why));
	call_end(call);
	if (err == -ERANGE)
		return too_slow(call, plan, p);
	if (err)
		return fail(EXIT_REFUSED, "%s: %s", call->name, strerror(-err));
	if (!valid)
		return fail(EXIT_REFUSED, "%s: the plan is wrong, and not printed: %s", call->name,
			    why);
	return 0;
}

static int run(struct plan_call *call)
{
	struct gang_plan plan = { 0 };
	struct gang_problem problem;
	struct plan_refusal refusal;
	int code, err;

	err = gang_problem_read(&problem, call->text, call->length, &refusal);
	if (err) {
		code = call_refused(call->name, &refusal, err);
		goto out;
	}
	problem.slowdown = (enum gang_slowdown)settings.slowdown;
	problem.min_speedup = settings.min_speedup;
	code = make_plan(call, &problem, &plan);
	if (!code)
		code = show(call, &plan, &problem);
out:
	gang_plan_end(&plan);
	gang_problem_end(&problem);
	return code;
}

const struct planner gang_planner = {
	.name = "gang",
	.arguments =
		"[--slowdown paper|fair] [--min-speedup X] [--format hostfile] [--gantt FILE.svg]",
	.help = "choose hosts for an SPMD job whose parts wait for each other (paper 1)\n\n"
		"FILE: JSON with hosts (id, utilization 0..1) and model (kind matmul, wave or table).\n\n"
		"  --slowdown S       slowdown of a busy host: paper (default), 1/(1-utilization); fair,\n"
		"                     that of a time-sharing scheduler\n"
		"  --min-speedup X    ask only hosts with which the job is X times as fast as on one",
	.algorithms = algorithms,
	.formats = formats,
	.gantt = true,
	.options = options,
	.settings = &settings,
	.run = run,
};
