// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl plan gang: how many hosts for one SPMD job (paper 1). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ehplan.h"
#include "plan/gang/gang.h"

static const char *const algorithms[] = { "paper", NULL };
static const char *const formats[] = { "hostfile", NULL };
static const char *const slowdowns[] = { "paper", "fair", NULL };
static const char *const kinds[] = { "computing", "communicating", "loading", "collecting", NULL };

enum { O_SLOWDOWN = 256, O_MIN_SPEEDUP };
static const struct option options[] = { { "slowdown", required_argument, NULL, O_SLOWDOWN },
					 { "min-speedup", required_argument, NULL, O_MIN_SPEEDUP },
					 { 0 } };
static enum gang_slowdown slowdown;
static double min_speedup;

static const char *option(int option, const char *text)
{
	if (option == O_SLOWDOWN) {
		int word = parse_word(slowdowns, text);

		if (word < 0)
			return "paper or fair is needed";
		slowdown = (enum gang_slowdown)word;
		return NULL;
	}
	return parse_real(text, 1e12, &min_speedup) || !(min_speedup > 0)
		       ? "a number above 0 is needed"
		       : NULL;
}

/* JSON has no infinity: on a host that is busy all the time it never ends. */
static json_t *seconds_json(double seconds)
{
	return isfinite(seconds) ? json_real(seconds) : json_null();
}

static json_t *document_of(const struct plan_call *call, const struct gang_plan *plan,
			   const struct gang_problem *p)
{
	json_t *document = call_document(call, "gang", algorithms[0]);
	json_t *hosts = json_array(), *prefixes = json_array();
	struct gang_times t = { 0 };

	gang_times(p, plan->count, &t);
	for (uint32_t i = 0; i < plan->count; i++)
		json_array_append_new(hosts,
				      json_string(plan_names_text(p->names, plan->order[i])));
	for (uint32_t i = 0; i < plan->nprefixes; i++)
		json_array_append_new(prefixes,
				      json_pack("{s:i, s:o}", "count", (int)plan->counts[i],
						"seconds", seconds_json(plan->times[i])));
	if (json_object_update_new(
		    document,
		    json_pack(
			    "{s:o, s:i, s:f, s:f, s:s, s:f, s:o, s:i, s:{s:f, s:f, s:f, s:f}, s:f, s:o}",
			    "hosts", hosts, "count", (int)plan->count, "seconds", plan->seconds,
			    "speedup", plan->speedup, "slowdown", slowdowns[p->slowdown],
			    "utilization", p->utilization[plan->order[plan->count - 1]],
			    "threshold",
			    p->min_speedup > 0 ? json_real(plan->threshold) : json_null(),
			    "offered", (int)plan->offered, "parts", "load", t.load, "comm", t.comm,
			    "collect", t.collect, "compute", t.compute, "seconds_alone",
			    plan->alone, "prefixes", prefixes))) {
		json_decref(document);
		return NULL;
	}
	return document;
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

		/* around the best, when there are too many to read */
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

/* What Open MPI reads; each host runs one part. */
static void print_hostfile(const struct gang_plan *plan, const struct gang_problem *p)
{
	for (uint32_t i = 0; i < plan->count; i++)
		printf("%s slots=1\n", plan_names_text(p->names, plan->order[i]));
}

/* A row a host: it loads, computes as long as the slowest, communicates, returns results. */
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

static int show(struct plan_call *call, const struct gang_plan *plan, const struct gang_problem *p,
		json_t *document)
{
	char why[256];
	int code = 0;

	if (!gang_check(plan, p, why, sizeof(why)))
		return fail(EXIT_REFUSED, "%s: the plan is wrong, and not printed: %s", call->name,
			    why);
	if (!plan->count)
		return fail(EXIT_REFUSED, "%s: no host is idle at all, so the job never ends",
			    call->name);
	if (call->gantt)
		code = draw(plan, p, call->gantt);
	if (code)
		return code;
	if (call->format)
		print_hostfile(plan, p);
	else if (!call->json)
		print_table(plan, p);
	else
		code = document ? json_print(document)
				: fail(EXIT_REFUSED, "no memory for the output");
	return code;
}

static int too_slow(const struct plan_call *call, const struct gang_plan *plan)
{
	if (plan->threshold < 0)
		return fail(
			EXIT_REFUSED,
			"%s: all hosts are not %g times as fast as one, even when they are idle",
			call->name, min_speedup);
	return fail(
		EXIT_REFUSED,
		"%s: of the hosts below the threshold %.4g (%u) no set is %g times as fast as one idle host; %.4g is the most",
		call->name, plan->threshold, plan->offered, min_speedup, plan->speedup);
}

static int run(struct plan_call *call)
{
	struct gang_plan plan = { 0 };
	struct gang_problem problem;
	struct plan_refusal refusal;
	json_t *document = NULL;
	int code, err;

	err = gang_problem_read(&problem, call->text, call->length, &refusal);
	if (err) {
		code = call_refused(call->name, &refusal, err);
		goto out;
	}
	problem.slowdown = slowdown;
	problem.min_speedup = min_speedup;
	call_begin(call);
	err = gang_plan(&plan, &problem);
	if (err) {
		code = err == -ERANGE ? too_slow(call, &plan)
				      : fail(EXIT_REFUSED, "%s: %s", call->name, strerror(-err));
		goto out;
	}
	if (call->json && plan.count)
		document = document_of(call, &plan, &problem);
	code = show(call, &plan, &problem, document);
	json_decref(document);
out:
	gang_plan_end(&plan);
	gang_problem_end(&problem);
	return code;
}

const struct planner gang_planner = {
	.name = "gang",
	.arguments =
		"[--slowdown paper|fair] [--min-speedup X] [--format hostfile] [--gantt FILE.svg]",
	.help = "how many hosts, and which, for one SPMD job whose parts wait for each other (paper 1)\n"
		"FILE: JSON with hosts (id, utilization 0..1) and model (kind matmul, wave or table).\n"
		"  --slowdown S       of a busy host: paper, 1/(1-utilization); fair, a time-sharing\n"
		"                     scheduler's (paper)\n"
		"  --min-speedup X    only hosts with which the job is X times as fast as on one",
	.algorithms = algorithms,
	.formats = formats,
	.gantt = true,
	.options = options,
	.option = option,
	.run = run,
};
