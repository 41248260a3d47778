// SPDX-License-Identifier: GPL-2.0-or-later
#include "load_measure.h"

#include <stdlib.h>
#include <string.h>

/*
 * A bin is a value's exponent and the first five bits of its fraction: three
 * percent wide, from 2^-20 to 2^44. A percentile is the middle of its bin.
 */
#define BIN_SHIFT (52 - 5)
#define BIN_FIRST ((uint64_t)(1023 - 20) << 5)
#define BINS (64 << 5)

struct histogram {
	uint64_t bins[BINS], count;
	double sum, most;
};

struct by_home {
	double sum;
	uint64_t count;
};

struct load_measure {
	struct histogram response, slowdown;
	double work;
	uint32_t nodes;
	struct by_home homes[];
};

struct load_measure *load_measure_new(uint32_t nodes)
{
	struct load_measure *m = calloc(1, sizeof(*m) + nodes * sizeof(m->homes[0]));

	if (m)
		m->nodes = nodes;
	return m;
}

void load_measure_free(struct load_measure *m)
{
	free(m);
}

static void measure_histogram_add(struct histogram *h, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits >>= BIN_SHIFT;
	bits = bits < BIN_FIRST ? 0 : bits - BIN_FIRST;
	h->bins[bits < BINS ? bits : BINS - 1]++;
	h->count++;
	h->sum += value;
	h->most = value > h->most ? value : h->most;
}

void load_measure_add(struct load_measure *m, uint32_t home, double work, double response)
{
	measure_histogram_add(&m->response, response);
	measure_histogram_add(&m->slowdown, response / work);
	m->work += work;
	m->homes[home].sum += response;
	m->homes[home].count++;
}

/* The least value that this part of all are not above. */
static double measure_percentile(const struct histogram *h, double part)
{
	uint64_t wanted = (uint64_t)(part * (double)h->count), seen = 0;

	for (uint64_t i = 0; i < BINS; i++) {
		uint64_t low = (i + BIN_FIRST) << BIN_SHIFT, high = (i + 1 + BIN_FIRST)
								    << BIN_SHIFT;
		double from, to;

		seen += h->bins[i];
		if (seen <= wanted)
			continue;
		memcpy(&from, &low, sizeof(from));
		memcpy(&to, &high, sizeof(to));
		to = (from + to) / 2;
		return to < h->most ? to : h->most;
	}
	return h->most;
}

static struct eh_load_times measure_times(const struct histogram *h)
{
	return (struct eh_load_times){
		.mean = h->count ? h->sum / (double)h->count : 0,
		.p50 = measure_percentile(h, 0.5),
		.p90 = measure_percentile(h, 0.9),
		.p95 = measure_percentile(h, 0.95),
		.p99 = measure_percentile(h, 0.99),
		.p999 = measure_percentile(h, 0.999),
		.most = h->most,
	};
}

/* Jain, Chiu, Hawe 1984: (sum x)^2 / (n * sum x^2), over the homes that had tasks. */
static double measure_fairness(const struct load_measure *m)
{
	double sum = 0, squares = 0, n = 0;

	for (uint32_t i = 0; i < m->nodes; i++) {
		double mean;

		if (!m->homes[i].count)
			continue;
		mean = m->homes[i].sum / (double)m->homes[i].count;
		sum += mean;
		squares += mean * mean;
		n++;
	}
	return squares > 0 ? sum * sum / (n * squares) : 1;
}

void load_measure_result(const struct load_measure *m, struct eh_load_result *result)
{
	result->measured = m->response.count;
	result->response = measure_times(&m->response);
	result->slowdown = measure_times(&m->slowdown);
	result->service = m->response.count ? m->work / (double)m->response.count : 0;
	result->fairness = measure_fairness(m);
}
