// SPDX-License-Identifier: GPL-2.0-or-later
#include "plot.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/common/common.h"

#define POINTS 50

struct point {
	double load, probes, arrivals, spread;
	uint64_t runs; /* that got here without a refusal */
};

struct curve {
	char title[64];
	struct run_options options;
	struct point points[POINTS];
	/* of the run under way */
	unsigned int next;
	uint64_t probes, arrivals;
};

/* Means since the last sample: a mean of the whole run would hide what happens now. */
static void plot_sampled(void *ctx, uint64_t arrivals, const struct eh_tree *tree)
{
	struct curve *c = ctx;
	const struct eh_tree_counts *counts = eh_tree_counts(tree);
	struct point *p = &c->points[c->next];
	uint64_t min, max, total;

	if (c->next == POINTS || counts->refused)
		return;
	run_loads(tree, &c->options.tree.topology, &min, &max, &total);
	p->load += (double)total / EH_TASK;
	p->spread += (double)(max - min) / EH_TASK;
	p->probes += (double)(counts->probes - c->probes);
	p->arrivals += (double)(counts->arrivals - c->arrivals);
	p->runs++;
	c->probes = counts->probes;
	c->arrivals = counts->arrivals;
	c->next++;
}

static int plot_run_curve(struct curve *c, uint64_t seed, uint64_t runs)
{
	struct run_watch watch = { .ctx = c, .sampled = plot_sampled };

	watch.every = (run_arrivals(&c->options) + POINTS - 1) / POINTS;
	if (!watch.every)
		watch.every = 1;
	for (uint64_t run = 0; run < runs; run++) {
		struct run_result result;

		c->next = 0;
		c->probes = c->arrivals = 0;
		if (run_once(&c->options, seed + run, &watch, &result))
			return fail(EXIT_REFUSED, "%s: no memory", c->title);
		progress_show("plotting", run, runs);
	}
	return 0;
}

static void plot_write_data(FILE *script, const struct curve *c, unsigned int index, uint64_t runs)
{
	fprintf(script, "$c%u << EOD\n", index);
	/* until the first refusal of any run */
	for (unsigned int i = 0; i < POINTS && c->points[i].runs == runs; i++) {
		const struct point *p = &c->points[i];

		fprintf(script, "%g %g %g\n", p->load / (double)runs,
			p->arrivals > 0 ? p->probes / p->arrivals : 0, p->spread / (double)runs);
	}
	fprintf(script, "EOD\n");
}

struct figure {
	const struct curve *curves;
	unsigned int count;
	uint64_t runs;
};

static void plot_write_script(FILE *script, const void *ctx)
{
	const struct figure *f = ctx;
	static const char *const panels[] = { "mean number of controllers probed",
					      "most minus least load of a node" };

	fprintf(script, "set terminal svg size 800,800 font 'sans,12' background 'white'\n"
			"set key outside below maxrows 3\nset grid\nset yrange [0:*]\n"
			"set xlabel 'total load (tasks)'\n");
	for (unsigned int i = 0; i < f->count; i++)
		plot_write_data(script, &f->curves[i], i, f->runs);
	fprintf(script, "set multiplot layout 2,1\n");
	for (unsigned int panel = 0; panel < 2; panel++) {
		fprintf(script, "set ylabel '%s'\nplot ", panels[panel]);
		for (unsigned int i = 0; i < f->count; i++)
			fprintf(script, "%s$c%u using 1:%u with lines lw 2 title '%s'",
				i ? ", " : "", i, panel + 2, f->curves[i].title);
		fprintf(script, "\n");
	}
	fprintf(script, "unset multiplot\n");
}

/* ETA, ETA1 and ETA2 with four thresholds, as in the paper; all else as this call has it. */
static unsigned int plot_paper_curves(struct curve *curves, const struct run_options *options)
{
	unsigned int count = 0;

	for (int i = 0; i < 6; i++) {
		struct curve *c = &curves[count++];

		c->options = *options;
		c->options.tree.policy = i == 0 ? EH_ETA : i == 1 ? EH_ETA1 : EH_ETA2;
		if (i >= 1)
			c->options.tree.threshold = (i == 1 ? 1 : i - 1) * EH_TASK;
		else if (options->tree.policy != EH_ETA && options->tree.policy != EH_HINT)
			c->options.tree.threshold = 0;
		snprintf(c->title, sizeof(c->title),
			 i == 0	  ? "ETA"
			 : i == 1 ? "ETA1"
				  : "ETA2, t=%d",
			 i - 1);
	}
	return count;
}

int plot_draw(const struct run_options *options, const char *policy, uint64_t seed, uint64_t runs,
	      const char *path)
{
	struct curve *curves = calloc(7, sizeof(*curves));
	unsigned int count = 0;
	int code = 0;

	if (!curves)
		return fail(EXIT_REFUSED, "no memory for the plot");
	if (!options->trace)
		count = plot_paper_curves(curves, options);
	if (options->trace || options->tree.policy == EH_HINT) {
		curves[count].options = *options;
		snprintf(curves[count++].title, sizeof(curves[0].title), "%s", policy);
	}
	for (unsigned int i = 0; i < count && !code; i++)
		code = plot_run_curve(&curves[i], seed, runs);
	if (!code)
		code = gnuplot_draw(path, plot_write_script,
				    &(struct figure){ curves, count, runs });
	progress_show("plotting", 1, 1);
	free(curves);
	return code;
}
