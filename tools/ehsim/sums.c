// SPDX-License-Identifier: GPL-2.0-or-later
#include "sums.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/common.h"

static void sums_progressed(void *ctx, uint64_t arrivals, const struct eh_tree *tree)
{
	const struct sums *s = ctx;
	const struct run_options *run = &s->arguments->run;
	uint64_t each = run->trace ? run->trace->count : run->arrivals;

	progress_show("running", s->run * each + arrivals, s->arguments->runs * each);
}

static json_t *sums_path_of(const struct eh_topology *t, uint32_t from, uint32_t to, uint64_t seed)
{
	struct eh_code path[EH_PATH_MAX];
	int length = eh_path(t, (struct eh_code){ 0, from }, (struct eh_code){ 0, to }, seed, path);
	json_t *list = json_array();
	char text[EH_CODE_TEXT];

	for (int i = 0; i < length; i++)
		json_array_append_new(list, json_string(eh_code_format(t, path[i], text)));
	return list;
}

static void sums_decided(void *ctx, uint32_t task, uint32_t at, const struct eh_tree_update *up)
{
	struct sums *s = ctx;
	const struct eh_topology *t = &s->arguments->run.tree.topology;
	const struct trace *trace = s->arguments->run.trace;
	char number[16], from[EH_CODE_TEXT], to[EH_CODE_TEXT];

	snprintf(number, sizeof(number), "%u", task);
	eh_code_format(t, (struct eh_code){ 0, at }, from);
	eh_code_format(t, (struct eh_code){ 0, up->node }, to);
	json_array_append_new(
		s->decisions,
		json_pack("{s:s,s:s,s:s?,s:i,s:o}", "id", trace ? trace->ids[task] : number, "at",
			  from, "to", up->refused ? NULL : to, "probes", (int)up->probes, "path",
			  up->refused ? json_array() : sums_path_of(t, at, up->node, task)));
}

static void sums_add_counts(struct eh_tree_counts *to, const struct eh_tree_counts *from)
{
	uint64_t *sum = (uint64_t *)to;
	const uint64_t *one = (const uint64_t *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += one[i];
}

static void sums_add_value(struct sums_moments *m, double value)
{
	m->sum += value;
	m->squares += value * value;
}

static void sums_add_run(struct sums *s, const struct run_result *r)
{
	const struct eh_tree_counts *c = &r->counts;

	sums_add_value(&s->mpn, c->arrivals ? (double)c->probes / (double)c->arrivals : 0);
	sums_add_value(&s->spread, (double)(r->load_max - r->load_min) / EH_TASK);
	s->total += (double)r->load_total / EH_TASK;
	sums_add_counts(&s->counts, c);
	protocol_add(&s->protocol, &r->protocol);
	s->load_min = r->load_min < s->load_min ? r->load_min : s->load_min;
	s->load_max = r->load_max > s->load_max ? r->load_max : s->load_max;
	if (r->refused) {
		s->refusal_min =
			r->first_refusal < s->refusal_min ? r->first_refusal : s->refusal_min;
		s->refusal_max =
			r->first_refusal > s->refusal_max ? r->first_refusal : s->refusal_max;
	}
	s->bytes = r->bytes;
}

int sums_run(struct sums *s, const struct arguments *a)
{
	struct run_watch watch = { .ctx = s,
				   .decided = a->decisions ? sums_decided : NULL,
				   .sampled = isatty(STDERR_FILENO) ? sums_progressed : NULL,
				   .every = 1 << 16 };
	double began, began_cpu;

	*s = (struct sums){ .arguments = a,
			    .decisions = json_array(),
			    .load_min = UINT64_MAX,
			    .refusal_min = UINT64_MAX };
	began = progress_now();
	began_cpu = progress_seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (s->run = 0; s->run < a->runs; s->run++) {
		struct run_result r;
		int err = run_once(&a->run, a->seed + s->run, &watch, &r);

		if (err)
			return fail(EXIT_REFUSED, "run %u: %s", (unsigned int)s->run + 1,
				    err == -ENOMEM ? "no memory" : "more load than can be counted");
		sums_add_run(s, &r);
		if (watch.sampled)
			progress_show("running", s->run + 1, a->runs);
	}
	s->seconds = progress_now() - began;
	s->cpu = progress_seconds(CLOCK_PROCESS_CPUTIME_ID) - began_cpu;
	return 0;
}

void sums_free(struct sums *s)
{
	json_decref(s->decisions);
}

double sums_deviation(const struct sums_moments *m, uint64_t n)
{
	double variance = n > 1 ? (m->squares - m->sum * m->sum / (double)n) / (double)(n - 1) : 0;

	return variance > 0 ? sqrt(variance) : 0;
}
