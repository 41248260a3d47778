// SPDX-License-Identifier: GPL-2.0-or-later
#include "report.h"

#include <stdio.h>

#include "tools/common/common.h"

/* Whole numbers of tasks are integers. */
static json_t *report_tasks_json(bool known, uint64_t thousandths)
{
	if (!known)
		return json_null();
	if (thousandths % EH_TASK == 0)
		return json_integer((json_int_t)(thousandths / EH_TASK));
	return json_real((double)thousandths / EH_TASK);
}

/* Of every arrival: those probed, and those it was sent down through. */
static double report_looked_at(const struct eh_tree_counts *c)
{
	return c->arrivals ? (double)(c->probes + c->forwards) / (double)c->arrivals : 0;
}

static double report_per_second(const struct sums *s)
{
	return s->cpu > 0 ? (double)s->counts.arrivals / s->cpu : 0;
}

static double report_bytes_per_node(const struct sums *s)
{
	const struct eh_topology *t = &s->arguments->run.tree.topology;

	return (double)s->bytes / (double)(1u << t->n * t->l);
}

/* Over the edges of the tree, one way, as means of one run. */
static json_t *report_messages_json(const struct eh_tree_counts *c, double runs)
{
	return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "forwards",
			 (double)c->forwards / runs, "probes", (double)c->probes / runs,
			 "receiver_probes", (double)c->receiver_probes / runs, "thresholds",
			 (double)c->threshold_messages / runs, "rides", (double)c->rides / runs,
			 "states", (double)c->state_messages / runs, "hints",
			 (double)c->hint_messages / runs, "offers", (double)c->offers / runs,
			 "offers_used", (double)c->offers_used / runs, "missed",
			 (double)c->missed / runs);
}

static json_t *report_head_json(const struct sums *s)
{
	const struct arguments *a = s->arguments;
	const struct eh_topology *t = &a->run.tree.topology;
	const struct eh_tree_counts *c = &s->counts;
	bool refused = s->refusal_max != 0 || c->refused;
	double runs = (double)a->runs;

	return json_pack(
		"{s:i,s:s,s:{s:i,s:i},s:I,s:i,s:I,s:{s:f,s:f},s:{s:f},s:I,s:{s:o,s:o},s:I}",
		"version", 1, "policy", arguments_policy(a), "topology", "n", (int)t->n, "l",
		(int)t->l, "arrivals", (json_int_t)(c->arrivals / a->runs), "runs", (int)a->runs,
		"seed", (json_int_t)a->seed, "mpn", "mean", s->mpn.sum / runs, "sd",
		sums_deviation(&s->mpn, a->runs), "threshold_changes", "mean",
		(double)c->changes / runs, "refused", (json_int_t)c->refused, "first_refusal_load",
		"min", report_tasks_json(refused, s->refusal_min), "max",
		report_tasks_json(refused, s->refusal_max), "transfers", (json_int_t)c->transfers);
}

json_t *report_json(const struct sums *s)
{
	const struct arguments *a = s->arguments;
	bool messages = a->run.messages;
	double runs = (double)a->runs;
	json_t *doc = report_head_json(s);

	if (!doc)
		return NULL;
	json_object_set_new(doc, "load",
			    json_pack("{s:o,s:o,s:f}", "min", report_tasks_json(true, s->load_min),
				      "max", report_tasks_json(true, s->load_max), "total",
				      s->total / runs));
	json_object_set_new(doc, "spread",
			    json_pack("{s:f,s:f}", "mean", s->spread.sum / runs, "sd",
				      sums_deviation(&s->spread, a->runs)));
	json_object_set_new(doc, "looked_at",
			    json_pack("{s:f}", "mean", report_looked_at(&s->counts)));
	json_object_set_new(doc, "messages", report_messages_json(&s->counts, runs));
	json_object_set_new(doc, "seconds", json_real(s->seconds));
	json_object_set_new(doc, "decisions_per_second", json_real(report_per_second(s)));
	json_object_set_new(doc, "bytes_per_node",
			    messages ? json_null() : json_real(report_bytes_per_node(s)));
	json_object_set_new(doc, "protocol",
			    messages ? protocol_json(&s->protocol, a->runs) : json_null());
	if (a->decisions)
		json_object_set(doc, "decisions", s->decisions);
	return doc;
}

static void report_print_decisions(const struct sums *s)
{
	const json_t *decision;
	size_t i;

	json_array_foreach(s->decisions, i, decision)
		printf("%s at %s to %s, %s probes\n", text_of(decision, "id"),
		       text_of(decision, "at"), text_of(decision, "to"),
		       integer_of(decision, "probes"));
}

void report_print(const struct sums *s)
{
	const struct arguments *a = s->arguments;
	const struct eh_topology *t = &a->run.tree.topology;
	const struct eh_tree_counts *c = &s->counts;
	double runs = (double)a->runs;

	report_print_decisions(s);
	printf("%s on EH(%u,%u), %u run%s of %llu arrivals\n", arguments_policy(a), t->n, t->l,
	       (unsigned int)a->runs, a->runs > 1 ? "s" : "",
	       (unsigned long long)(c->arrivals / a->runs));
	printf("controllers probed for an arrival (MPN)  %.3f ± %.3f\n", s->mpn.sum / runs,
	       sums_deviation(&s->mpn, a->runs));
	printf("and with those it was sent down through  %.3f\n", report_looked_at(c));
	printf("threshold changes                        %.2f\n", (double)c->changes / runs);
	printf("transfers                                %.1f\n", (double)c->transfers / runs);
	if (c->refused)
		printf("refused                                  %.1f, first at load %.2f to %.2f\n",
		       (double)c->refused / runs, (double)s->refusal_min / EH_TASK,
		       (double)s->refusal_max / EH_TASK);
	printf("load of the nodes at the end             %.2f to %.2f, in one run %.2f apart\n",
	       (double)s->load_min / EH_TASK, (double)s->load_max / EH_TASK, s->spread.sum / runs);
	if (a->run.messages) {
		protocol_print(&s->protocol, a->runs);
		return;
	}
	printf("messages: thresholds %.1f (and %.1f rode along), states %.1f, hints %.1f, offers %.1f\n",
	       (double)c->threshold_messages / runs, (double)c->rides / runs,
	       (double)c->state_messages / runs, (double)c->hint_messages / runs,
	       (double)c->offers / runs);
	if (c->missed)
		printf("declined by the executor                 %.1f\n", (double)c->missed / runs);
	printf("%.3g decisions a second, %.1f bytes a node\n", report_per_second(s),
	       report_bytes_per_node(s));
}
