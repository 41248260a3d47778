// SPDX-License-Identifier: GPL-2.0-or-later
#include "load_sums.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "sim/load_run.h"
#include "tools/common/common.h"

/* ---- runs ---- */

static void load_progressed(void *ctx, uint64_t arrivals)
{
	const struct load_sums *s = ctx;
	uint64_t each = s->arguments->load.load.tasks;

	progress_show("running", s->run * each + arrivals, s->arguments->runs * each);
}

static void load_add_times(struct eh_load_times *to, const struct eh_load_times *from)
{
	to->mean += from->mean;
	to->p50 += from->p50;
	to->p90 += from->p90;
	to->p95 += from->p95;
	to->p99 += from->p99;
	to->p999 += from->p999;
	to->most = from->most > to->most ? from->most : to->most;
}

static void load_add_run(struct load_sums *s, const struct eh_load_result *r)
{
	struct eh_load_result *sum = &s->sum;

	s->response.sum += r->response.mean;
	s->response.squares += r->response.mean * r->response.mean;
	load_add_times(&sum->response, &r->response);
	load_add_times(&sum->slowdown, &r->slowdown);
	sum->service += r->service;
	sum->busy += r->busy;
	sum->fairness += r->fairness;
	sum->arrivals += r->arrivals;
	sum->transfers += r->transfers;
	sum->declined += r->declined;
	sum->credits += r->credits;
	sum->held += r->held;
	sum->overdue += r->overdue;
	sum->changes += r->changes;
	for (unsigned int kind = 0; kind < EH_LOAD_MESSAGES; kind++)
		for (unsigned int level = 0; level <= EH_LEVELS_MAX; level++)
			sum->messages[kind][level] += r->messages[kind][level];
	sum->busiest += r->busiest;
	sum->bytes = r->bytes;
}

static const char *load_reason(int err)
{
	return err == -EDOM	? "the hot nodes get more work than they can do"
	       : err == -EINVAL ? "an option is out of range"
				: "no memory";
}

int load_sums_run(struct load_sums *s, const struct arguments *a)
{
	eh_load_watch_fn watch = isatty(STDERR_FILENO) ? load_progressed : NULL;
	struct eh_load_options options = a->load.load;
	double began, began_cpu;

	*s = (struct load_sums){ .arguments = a };
	began = progress_now();
	began_cpu = progress_seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (s->run = 0; s->run < a->runs; s->run++) {
		struct eh_load_result r;
		int err;

		options.seed = a->seed + s->run;
		err = eh_load_run(&options, watch, s, &r);
		if (err)
			return fail(EXIT_REFUSED, "run %u: %s", (unsigned int)s->run + 1,
				    load_reason(err));
		load_add_run(s, &r);
		if (watch)
			progress_show("running", s->run + 1, a->runs);
	}
	s->seconds = progress_now() - began;
	s->cpu = progress_seconds(CLOCK_PROCESS_CPUTIME_ID) - began_cpu;
	return 0;
}

/* ---- output ---- */

static double load_per_task(const struct load_sums *s, uint64_t count)
{
	return (double)count / (double)s->sum.arrivals;
}

static double load_per_second(const struct load_sums *s)
{
	return s->cpu > 0 ? (double)s->sum.arrivals / s->cpu : 0;
}

static double load_bytes_per_node(const struct load_sums *s)
{
	const struct eh_topology *t = &s->arguments->load.load.topology;

	return (double)s->sum.bytes / (double)(1u << t->n * t->l);
}

static json_t *load_times_json(const struct eh_load_times *t, double runs)
{
	return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "mean", t->mean / runs, "p50",
			 t->p50 / runs, "p90", t->p90 / runs, "p95", t->p95 / runs, "p99",
			 t->p99 / runs, "p999", t->p999 / runs, "max", t->most);
}

/* Level 0: not of a known level of the tree. */
static json_t *load_messages_json(const struct load_sums *s, uint64_t *all)
{
	json_t *list = json_array();

	*all = 0;
	for (unsigned int kind = 0; kind < EH_LOAD_MESSAGES; kind++)
		for (unsigned int level = 0; level <= EH_LEVELS_MAX; level++) {
			uint64_t count = s->sum.messages[kind][level];

			*all += count;
			if (count)
				json_array_append_new(list,
						      json_pack("{s:s,s:i,s:f}", "kind",
								eh_load_message_name(kind), "level",
								(int)level, "per_task",
								load_per_task(s, count)));
		}
	return list;
}

/* Messages over the edges below the controllers of each level, from 1. */
static json_t *load_levels_json(const struct load_sums *s)
{
	json_t *list = json_array();

	for (unsigned int level = 1; level <= s->arguments->load.load.topology.l; level++) {
		uint64_t count = 0;

		for (unsigned int kind = 0; kind < EH_LOAD_MESSAGES; kind++)
			count += s->sum.messages[kind][level];
		json_array_append_new(list, json_real(load_per_task(s, count)));
	}
	return list;
}

static json_t *load_head_json(const struct load_sums *s)
{
	const struct arguments *a = s->arguments;
	const struct eh_load_options *o = &a->load.load;
	json_t *speeds = json_array();

	for (size_t i = 0; i < o->nspeeds; i++)
		json_array_append_new(speeds, json_real(o->speeds[i]));
	return json_pack(
		"{s:i,s:s,s:{s:i,s:i},s:I,s:i,s:I,s:f,s:s,s:s,s:i,s:o,s:f,s:f,s:i,s:f}", "version",
		1, "policy", arguments_policy(a), "topology", "n", (int)o->topology.n, "l",
		(int)o->topology.l, "arrivals", (json_int_t)o->tasks, "runs", (int)a->runs, "seed",
		(json_int_t)a->seed, "rho", o->load, "service", a->load.service, "discipline",
		o->queue ? "queue" : "share", "cpus", (int)o->processors, "speeds", speeds,
		"transfer_cost", o->transfer, "stale", o->age, "hot", (int)o->hot, "hold", o->hold);
}

json_t *load_sums_json(const struct load_sums *s)
{
	const struct eh_load_result *r = &s->sum;
	double runs = (double)s->arguments->runs;
	json_t *doc = load_head_json(s), *messages, *response;
	uint64_t all;

	if (!doc)
		return NULL;
	messages = load_messages_json(s, &all);
	response = load_times_json(&r->response, runs);
	json_object_set_new(response, "sd",
			    json_real(sums_deviation(&s->response, s->arguments->runs)));
	json_object_set_new(doc, "response", response);
	json_object_set_new(doc, "slowdown", load_times_json(&r->slowdown, runs));
	json_object_set_new(doc, "service_mean", json_real(r->service / runs));
	json_object_set_new(doc, "busy", json_real(r->busy / runs));
	json_object_set_new(doc, "fairness", json_real(r->fairness / runs));
	json_object_set_new(doc, "transfers_per_task", json_real(load_per_task(s, r->transfers)));
	json_object_set_new(doc, "declined_per_task", json_real(load_per_task(s, r->declined)));
	json_object_set_new(doc, "credits_per_task", json_real(load_per_task(s, r->credits)));
	json_object_set_new(doc, "held_per_task", json_real(load_per_task(s, r->held)));
	json_object_set_new(doc, "overdue_per_task", json_real(load_per_task(s, r->overdue)));
	json_object_set_new(doc, "threshold_changes",
			    json_pack("{s:f}", "mean", (double)r->changes / runs));
	json_object_set_new(doc, "messages_per_task", json_real(load_per_task(s, all)));
	json_object_set_new(doc, "messages_by_level", load_levels_json(s));
	json_object_set_new(doc, "messages", messages);
	if (s->arguments->load.load.policy == EH_LOAD_IDLE)
		json_object_set_new(doc, "busiest_controller_per_task",
				    json_real(load_per_task(s, r->busiest)));
	json_object_set_new(doc, "seconds", json_real(s->seconds));
	json_object_set_new(doc, "arrivals_per_second", json_real(load_per_second(s)));
	json_object_set_new(doc, "bytes_per_node", json_real(load_bytes_per_node(s)));
	return doc;
}

static void load_print_times(const char *what, const struct eh_load_times *t, double runs)
{
	printf("%-34s%.3f; p50 %.2f, p90 %.2f, p99 %.2f, p99.9 %.2f, most %.1f\n", what,
	       t->mean / runs, t->p50 / runs, t->p90 / runs, t->p99 / runs, t->p999 / runs,
	       t->most);
}

void load_sums_print(const struct load_sums *s)
{
	const struct arguments *a = s->arguments;
	const struct eh_load_options *o = &a->load.load;
	const struct eh_load_result *r = &s->sum;
	double runs = (double)a->runs;

	printf("%s on EH(%u,%u) at load %g, %u run%s of %llu arrivals\n", arguments_policy(a),
	       o->topology.n, o->topology.l, o->load, (unsigned int)a->runs, a->runs > 1 ? "s" : "",
	       (unsigned long long)o->tasks);
	load_print_times("response / mean service time", &r->response, runs);
	load_print_times("response / own service time", &r->slowdown, runs);
	printf("fairness between homes            %.3f\n", r->fairness / runs);
	printf("transfers of a task               %.3f\n", load_per_task(s, r->transfers));
	if (o->policy == EH_LOAD_IDLE)
		printf("by credit; held, till the end     %.3f; %.3f, %.4f\n",
		       load_per_task(s, r->credits), load_per_task(s, r->held),
		       load_per_task(s, r->overdue));
	printf("threshold changes                 %.2f\n", (double)r->changes / runs);
	for (unsigned int level = 0; level <= o->topology.l; level++) {
		const char *comma = "";

		printf("messages of a task, %s %u:%*s", level ? "level" : "other", level, 7, "");
		for (unsigned int kind = 0; kind < EH_LOAD_MESSAGES; kind++)
			if (r->messages[kind][level]) {
				printf("%s %s %.3f", comma, eh_load_message_name(kind),
				       load_per_task(s, r->messages[kind][level]));
				comma = ",";
			}
		printf("%s\n", *comma ? "" : " none");
	}
	if (o->policy == EH_LOAD_IDLE)
		printf("of the busiest controller         %.3f\n", load_per_task(s, r->busiest));
	printf("%.3g arrivals a second, %.1f bytes a node\n", load_per_second(s),
	       load_bytes_per_node(s));
}
