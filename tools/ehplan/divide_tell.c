// SPDX-License-Identifier: GPL-2.0-or-later
/* What was predicted of a divided load, and what it took. */
#include <inttypes.h>
#include <math.h>

#include "divide_run.h"

static const char *name_of(const struct divide_run *run, const struct divide_part *p)
{
	return run->cluster.hosts[run->workers[p->worker].host].name;
}

static json_t *part_json(const struct divide_run *run, const struct divide_part *p)
{
	json_t *predicted =
		p->probe ? json_null()
			 : json_pack("{s:f, s:f}", "start", p->predicted_start - run->planned_at,
				     "finish", p->predicted_finish - run->planned_at);

	return json_pack("{s:s, s:I, s:I, s:b, s:o, s:{s:f, s:f}, s:f}", "host", name_of(run, p),
			 "first", (json_int_t)run->from + (json_int_t)p->first, "count",
			 (json_int_t)p->count, "probe", (int)p->probe, "predicted", predicted,
			 "real", "start", p->start - run->planned_at, "finish",
			 p->finish - run->planned_at, "bytes", p->bytes);
}

static json_t *hosts_json(const struct divide_run *run)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < run->nworkers; i++) {
		const struct divide_worker *w = &run->workers[i];
		const struct cluster_host *host = &run->cluster.hosts[w->host];

		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:b}", "host",
						      host->name, "unit", w->unit, "fixed",
						      w->fixed, "startup", host->startup,
						      "round_trip", host->round_trip, "rate",
						      host->rate, "lost", (int)w->lost));
	}
	return list;
}

int divide_tell_json(const struct divide_run *run)
{
	json_t *parts = json_array(), *document;
	int code;

	for (uint32_t i = 0; i < run->nparts; i++)
		if (run->parts[i].state == DIVIDE_DONE)
			json_array_append_new(parts, part_json(run, &run->parts[i]));
	document = json_pack("{s:i, s:I, s:f, s:f, s:f, s:f, s:i, s:o, s:o}", "version", 1, "size",
			     (json_int_t)run->size, "predicted", run->predicted, "real", run->real,
			     "seconds_to_probe", run->planned_at, "result_bytes", run->result,
			     "moved", (int)run->moved, "workers", hosts_json(run), "parts", parts);
	code = document ? json_print(document) : fail(EXIT_REFUSED, "no memory for the output");
	json_decref(document);
	return code;
}

/* The last ends of what a worker was given, and of what it did. */
static void tell_worker(const struct divide_run *run, uint32_t worker)
{
	double predicted = run->planned_at, real = run->planned_at;
	uint64_t units = 0;
	uint32_t parts = 0;

	for (uint32_t i = 0; i < run->nparts; i++) {
		const struct divide_part *p = &run->parts[i];

		if (p->state != DIVIDE_DONE || p->probe || p->worker != worker)
			continue;
		parts++;
		units += p->count;
		predicted = fmax(predicted, p->predicted_finish);
		real = fmax(real, p->finish);
	}
	fprintf(stderr, "%-16s %8u %12" PRIu64 " %10.3f s %10.3f s\n",
		run->cluster.hosts[run->workers[worker].host].name, parts, units,
		predicted - run->planned_at, real - run->planned_at);
}

/* Standard output has the result, so this goes to standard error. */
void divide_tell_text(const struct divide_run *run)
{
	fprintf(stderr,
		"%" PRIu64 " units in %u parts: %.3f s; predicted: %.3f s; probes: %.3f s\n",
		run->size, run->nparts - run->moved, run->real, run->predicted, run->planned_at);
	fprintf(stderr, "%-16s %8s %12s %12s %12s\n", "HOST", "PARTS", "UNITS", "PREDICTED",
		"REAL");
	for (uint32_t w = 0; w < run->nworkers; w++)
		tell_worker(run, w);
}
