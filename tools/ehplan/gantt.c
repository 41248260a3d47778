// SPDX-License-Identifier: GPL-2.0-or-later
/* Time-space diagrams: one row per processor or link, one bar for whatever keeps it busy. */
#include "ehplan.h"

/* With more bars than this, labels would only cover each other. */
#define LABELS_MAX 2000

static const char *const colours[] = { "#4878a8", "#e8a33d", "#6aa56a", "#c45a5a",
				       "#8d77b5", "#8a8a8a", "#5ab4c4", "#c78fb0" };

/* As a string of gnuplot in single quotes; line ends and backslashes are left out. */
static void write_text(FILE *script, const char *text)
{
	fputc('\'', script);
	for (; *text; text++)
		if (*text == '\'')
			fputs("''", script);
		else if (*text != '\n' && *text != '\\')
			fputc(*text, script);
	fputc('\'', script);
}

static void write_axes(FILE *script, const struct gantt *g, double end)
{
	unsigned int height = 120 + 28 * (g->nrows < 400 ? g->nrows : 400);

	fprintf(script,
		"set terminal svg size 1000,%u font 'sans,12' background 'white'\n"
		"set key outside below noenhanced\nset border 3\nset tics nomirror out\n"
		"set style fill solid 1 border rgb 'white'\nset termoption noenhanced\n",
		height);
	fprintf(script, "set xrange [0:%.9g]\nset yrange [%u:-1]\nset title ", end > 0 ? end : 1,
		g->nrows);
	write_text(script, g->title);
	fprintf(script, "\nset xlabel ");
	write_text(script, g->unit);
	fprintf(script, "\nset ytics (");
	for (uint32_t i = 0; i < g->nrows; i++) {
		fprintf(script, "%s", i ? ", " : "");
		write_text(script, g->rows[i]);
		fprintf(script, " %u", i);
	}
	fprintf(script, ")\n");
}

static void write_labels(FILE *script, const struct gantt *g, double end)
{
	for (size_t i = 0; i < g->nbars && g->nbars <= LABELS_MAX; i++) {
		const struct gantt_bar *b = &g->bars[i];

		/* about six characters fit into a hundredth of the width */
		if (!b->label || (b->finish - b->start) * 100 < end)
			continue;
		fprintf(script, "set label ");
		write_text(script, b->label);
		fprintf(script, " at %.9g,%u center front font ',9' textcolor rgb 'white'\n",
			(b->start + b->finish) / 2, b->row);
	}
}

/* One data block and one colour per kind. */
static void write_bars(FILE *script, const struct gantt *g)
{
	unsigned int kinds = 0;

	for (; kinds < 8 && g->kinds[kinds]; kinds++) {
		fprintf(script, "$k%u << EOD\n", kinds);
		for (size_t i = 0; i < g->nbars; i++)
			if (g->bars[i].kind == kinds)
				fprintf(script, "%.9g %u %.9g %.9g\n", g->bars[i].start,
					g->bars[i].row, g->bars[i].start, g->bars[i].finish);
		/* a bar without width, because gnuplot refuses an empty block */
		fprintf(script, "0 0 0 0\nEOD\n");
	}
	fprintf(script, "plot ");
	for (unsigned int kind = 0; kind < kinds; kind++) {
		fprintf(script,
			"%s$k%u using 1:2:3:4:($2-0.38):($2+0.38) with boxxyerror "
			"lc rgb '%s' title ",
			kind ? ", " : "", kind, colours[kind]);
		write_text(script, g->kinds[kind]);
	}
	fprintf(script, "\n");
}

static void write_script(FILE *script, const void *ctx)
{
	const struct gantt *g = ctx;
	double end = 0;

	for (size_t i = 0; i < g->nbars; i++)
		if (g->bars[i].finish > end)
			end = g->bars[i].finish;
	write_axes(script, g, end);
	write_labels(script, g, end);
	write_bars(script, g);
}

int gantt_draw(const struct gantt *gantt, const char *path)
{
	return gnuplot_draw(path, write_script, gantt);
}
