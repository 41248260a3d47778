// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl plan divide: one divisible load on a ring (paper 2). */
#include "ehplan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/divide/divide.h"

static const char *const algorithms[] = { "best", "printed", NULL };

static json_t *processors_of(const struct divide_plan *plan, const struct divide_problem *p)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < p->n; i++) {
		const struct divide_span *c = &plan->compute[i];
		bool works = plan->shares[i] > 0;
		json_t *start = works ? json_real(c->start) : json_null();
		json_t *finish = works ? json_real(c->finish) : json_null();

		json_array_append_new(
			list, json_pack("{s:s, s:f, s:f, s:o, s:o}", "id",
					plan_names_text(p->names, i), "share", plan->shares[i],
					"result", i ? divide_result_of(p, plan->shares[i]) : 0.0,
					"start", start, "finish", finish));
	}
	return list;
}

static void add_message(json_t *list, const struct divide_problem *p, uint32_t i, const char *kind,
			const struct divide_span *span)
{
	if (span->volume < 0)
		return;
	json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f}", "from",
					      plan_names_text(p->names, i), "to",
					      plan_names_text(p->names, (i + 1) % p->n), "kind",
					      kind, "volume", span->volume, "start", span->start,
					      "finish", span->finish));
}

static json_t *messages_of(const struct divide_plan *plan, const struct divide_problem *p)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < p->n; i++)
		add_message(list, p, i, "data", &plan->data[i]);
	for (uint32_t i = 0; i < p->n; i++)
		add_message(list, p, i, "result", &plan->results[i]);
	return list;
}

static json_t *make_document(const struct plan_call *call, const struct divide_plan *plan,
			     const struct divide_problem *p, bool printed)
{
	double speedup = p->work * p->a[0] / plan->seconds;
	json_t *shares = json_array();

	for (uint32_t i = 0; i < p->n; i++)
		json_array_append_new(shares, json_real(plan->shares[i]));
	return call_document(
		call, "divide", printed ? algorithms[1] : algorithms[0],
		json_pack("{s:f, s:o, s:f, s:f, s:f, s:i, s:o, s:b, s:o, s:I, s:o, s:o}", "seconds",
			  plan->seconds, "shares", shares, "speedup", speedup, "efficiency",
			  speedup / p->n, "residual", plan->residual, "used", (int)plan->used,
			  "lower_bound", printed ? json_null() : json_real(plan->lower_bound),
			  "optimal", (int)plan->optimal, "formula_seconds",
			  printed ? json_real(plan->formula) : json_null(), "steps",
			  (json_int_t)plan->steps, "processors", processors_of(plan, p), "messages",
			  messages_of(plan, p)));
}

static const char *digits(char text[32], double number)
{
	snprintf(text, 32, "%.6g", number);
	return text;
}

static const char *moment(char text[32], const struct divide_span *span, double at)
{
	return span->volume < 0 ? "-" : digits(text, at);
}

static void print_table(const struct divide_plan *plan, const struct divide_problem *p,
			bool printed)
{
	struct table *t = table_new("PROCESSOR", "SHARE", "STARTS", "ENDS", "DATA SENT",
				    "RESULTS SENT", NULL);
	char bound[64] = "";

	if (!printed && !plan->optimal)
		snprintf(bound, sizeof(bound), "; no plan takes less than %.6g s",
			 plan->lower_bound);
	printf("%.6g s, %.4g times as fast as %s alone; %u of %u processors have work%s%s\n\n",
	       plan->seconds, p->work * p->a[0] / plan->seconds, plan_names_text(p->names, 0),
	       plan->used, p->n, plan->optimal ? "; optimal" : "", bound);
	if (printed)
		printf("by the paper's formula %.6g s\n\n", plan->formula);
	for (uint32_t i = 0; i < p->n; i++) {
		char share[32], start[32], finish[32], data[32], results[32];
		const struct divide_span *c = &plan->compute[i];

		table_row(t, plan_names_text(p->names, i), digits(share, plan->shares[i]),
			  moment(start, c, c->start), moment(finish, c, c->finish),
			  moment(data, &plan->data[i], plan->data[i].finish),
			  moment(results, &plan->results[i], plan->results[i].finish), NULL);
	}
	table_print(t);
}

static void add_bar(struct gantt *gantt, struct gantt_bar *bars, uint32_t row, unsigned int kind,
		    const struct divide_span *span)
{
	if (span->volume >= 0)
		bars[gantt->nbars++] =
			(struct gantt_bar){ row, span->start, span->finish, NULL, kind };
}

/* As figures 1 and 2 of the paper: one row for each processor, and below it one for its link. */
static int draw(const struct divide_plan *plan, const struct divide_problem *p, const char *path)
{
	static const char *const kinds[] = { "computing", "data", "results", NULL };
	struct gantt gantt = { .title = "A divisible load on a ring",
			       .unit = "seconds",
			       .nrows = 2 * p->n,
			       .kinds = kinds };
	struct gantt_bar *bars = calloc(3 * (size_t)p->n, sizeof(*bars));
	const char **rows = calloc(2 * (size_t)p->n, sizeof(*rows));
	int code;

	if (!bars || !rows) {
		code = fail(EXIT_REFUSED, "%s: no memory for the diagram", path);
		goto out;
	}
	for (uint32_t i = 0; i < p->n; i++) {
		rows[2 * i] = plan_names_text(p->names, i);
		rows[2 * i + 1] = "its link";
		add_bar(&gantt, bars, 2 * i, 0, &plan->compute[i]);
		add_bar(&gantt, bars, 2 * i + 1, 1, &plan->data[i]);
		add_bar(&gantt, bars, 2 * i + 1, 2, &plan->results[i]);
	}
	gantt.rows = rows;
	gantt.bars = bars;
	code = gantt_draw(&gantt, path);
out:
	free(bars);
	free(rows);
	return code;
}

static int show(const struct plan_call *call, const struct divide_plan *plan,
		const struct divide_problem *p, bool printed)
{
	int code = 0;

	if (call->gantt)
		code = draw(plan, p, call->gantt);
	if (code)
		return code;
	if (!call->json) {
		print_table(plan, p, printed);
		return EXIT_DONE;
	}
	return json_print_new(make_document(call, plan, p, printed));
}

static int make_plan(struct plan_call *call, const struct divide_problem *p, bool printed,
		     struct divide_plan *plan)
{
	bool valid = false;
	char why[256];
	int err;

	call_begin(call);
	err = printed ? divide_printed(plan, p) : divide_plan(plan, p, &call->watch);
	if (!err)
		valid = divide_check(plan, p, why, sizeof(why));
	call_end(call);
	if (err == -EDOM)
		return fail(EXIT_REFUSED,
			    "%s: the printed system gives no shares that are all positive; "
			    "--algorithm best has a plan",
			    call->name);
	if (err)
		return fail(EXIT_REFUSED, "%s: %s", call->name, strerror(-err));
	if (!valid)
		return fail(EXIT_REFUSED, "%s: the plan is wrong, and not printed: %s", call->name,
			    why);
	return 0;
}

static int run(struct plan_call *call)
{
	bool printed = call->algorithm && !strcmp(call->algorithm, algorithms[1]);
	struct divide_problem problem;
	struct plan_refusal refusal;
	struct divide_plan plan = { 0 };
	int code, err;

	err = divide_problem_read(&problem, call->text, call->length, &refusal);
	code = err ? call_refused(call->name, &refusal, err) : 0;
	if (!code)
		code = make_plan(call, &problem, printed, &plan);
	if (!code)
		code = show(call, &plan, &problem, printed);
	divide_plan_end(&plan);
	divide_problem_end(&problem);
	return code;
}

const struct planner divide_planner = {
	.name = "divide",
	.arguments = "[--algorithm A] [--gantt FILE.svg]",
	.help = "divide a load among the processors of a one-way ring (paper 2)\n\n"
		"FILE: JSON with work, processors (id, a, s, c), send (parallel, serial), result\n"
		"(kind none; linear with m, b; power with k, e). Algorithm printed solves the\n"
		"equations as the paper prints them.",
	.algorithms = algorithms,
	.gantt = true,
	.run = run,
};
