// SPDX-License-Identifier: GPL-2.0-or-later
/* Time-space diagrams: a row a processor, a bar whatever keeps it busy. */
#include "ehplan.h"

static const char *const colours[] = { "#4878a8", "#e8a33d", "#6aa56a", "#c45a5a",
				       "#8d77b5", "#8a8a8a", "#5ab4c4", "#c78fb0" };

/* Between quotes of gnuplot's; what it would take as its own language is left out. */
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

static void write_script(FILE *script, const void *ctx)
{
	const struct gantt *g = ctx;
	unsigned int height = 120 + 28 * (g->nrows < 400 ? g->nrows : 400), kinds = 0;
	double end = 0;

	while (kinds < 8 && g->kinds[kinds])
		kinds++;
	for (size_t i = 0; i < g->nbars; i++)
		if (g->bars[i].finish > end)
			end = g->bars[i].finish;
	fprintf(script, "set terminal svg size 1000,%u font 'sans,12' background 'white'\n"
			"set key outside below noenhanced\nset border 3\nset tics nomirror out\n"
			"set style fill solid 1 border rgb 'white'\nset termoption noenhanced\n",
		height);
	fprintf(script, "set xrange [0:%.9g]\nset yrange [%u:-1]\nset title ",
		end > 0 ? end : 1, g->nrows);
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
	for (size_t i = 0; i < g->nbars && g->nbars <= 2000; i++) {
		const struct gantt_bar *b = &g->bars[i];

		/* about six characters fit where a hundredth of the picture is wide */
		if (!b->label || (b->finish - b->start) * 100 < end)
			continue;
		fprintf(script, "set label ");
		write_text(script, b->label);
		fprintf(script, " at %.9g,%u center front font ',9' textcolor rgb 'white'\n",
			(b->start + b->finish) / 2, b->row);
	}
	for (unsigned int kind = 0; kind < kinds; kind++) {
		fprintf(script, "$k%u << EOD\n", kind);
		for (size_t i = 0; i < g->nbars; i++)
			if (g->bars[i].kind == kind)
				fprintf(script, "%.9g %u %.9g %.9g\n", g->bars[i].start,
					g->bars[i].row, g->bars[i].start, g->bars[i].finish);
		/* one of no width, as gnuplot refuses a block without data */
		fprintf(script, "0 0 0 0\nEOD\n");
	}
	fprintf(script, "plot ");
	for (unsigned int kind = 0; kind < kinds; kind++) {
		fprintf(script, "%s$k%u using 1:2:3:4:($2-0.38):($2+0.38) with boxxyerror "
				"lc rgb '%s' title ",
			kind ? ", " : "", kind, colours[kind]);
		write_text(script, g->kinds[kind]);
	}
	fprintf(script, "\n");
}

int gantt_draw(const struct gantt *gantt, const char *path)
{
	return gnuplot_draw(path, write_script, gantt);
}
