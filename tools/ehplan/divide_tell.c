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
		p->probe || !divide_run_measured(run)
			? json_null()
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
	json_t *predicted = divide_run_measured(run) ? json_real(run->predicted) : json_null();
	json_t *parts = json_array();

	for (uint32_t i = 0; i < run->nparts; i++)
		if (run->parts[i].state == DIVIDE_DONE)
			json_array_append_new(parts, part_json(run, &run->parts[i]));
	return json_print_new(json_pack("{s:i, s:I, s:o, s:f, s:f, s:f, s:i, s:o, s:o}", "version",
					1, "size", (json_int_t)run->size, "predicted", predicted,
					"real", run->real, "seconds_to_probe", run->planned_at,
					"result_bytes", run->result, "moved", (int)run->moved,
					"workers", hosts_json(run), "parts", parts));
}

static const char *prediction(const struct divide_run *run, double seconds, char text[32])
{
	if (!divide_run_measured(run))
		return "-";
	snprintf(text, 32, "%.3f s", seconds);
	return text;
}

/* How many parts a host did, and the last ends of what was planned for it and of what it did. */
static void tell_host(const struct divide_run *run, uint32_t host)
{
	double predicted = run->planned_at, real = run->planned_at;
	uint64_t units = 0;
	uint32_t parts = 0;
	char text[32];

	for (uint32_t i = 0; i < run->nparts; i++) {
		const struct divide_part *p = &run->parts[i];

		if (p->state != DIVIDE_DONE || run->workers[p->worker].host != host)
			continue;
		parts++;
		units += p->count;
		if (p->probe)
			continue;
		predicted = fmax(predicted, p->predicted_finish);
		real = fmax(real, p->finish);
	}
	fprintf(stderr, "%-16s %8u %12" PRIu64 " %12s %10.3f s\n", run->cluster.hosts[host].name,
		parts, units, prediction(run, predicted - run->planned_at, text),
		real - run->planned_at);
}

/* Standard output has the result, so this goes to standard error. */
void divide_tell_text(const struct divide_run *run)
{
	uint32_t parts = run->nparts - run->moved;
	char text[32];
	bool told;

	fprintf(stderr, "%" PRIu64 " unit%s in %u part%s: %.3f s; predicted: %s; probes: %.3f s\n",
		run->size, run->size == 1 ? "" : "s", parts, parts == 1 ? "" : "s", run->real,
		prediction(run, run->predicted, text), run->planned_at);
	fprintf(stderr, "%-16s %8s %12s %12s %12s\n", "HOST", "PARTS", "UNITS", "PREDICTED",
		"REAL");
	for (uint32_t w = 0; w < run->nworkers; w++) {
		told = false;
		for (uint32_t v = 0; v < w && !told; v++)
			told = run->workers[v].host == run->workers[w].host;
		if (!told)
			tell_host(run, run->workers[w].host);
	}
}
