// SPDX-License-Identifier: GPL-2.0-or-later
#include "line.h"

#include <stdlib.h>

#include "fit.h"

struct line *line_new(struct picture *p)
{
	struct line *more;

	if (p->n == p->room) {
		more = realloc(p->lines, (2 * p->room + 16) * sizeof(*p->lines));
		if (!more)
			return NULL;
		p->lines = more;
		p->room = 2 * p->room + 16;
	}
	p->lines[p->n] = (struct line){ 0 };
	return &p->lines[p->n++];
}

struct line *line_row(struct picture *p, unsigned int columns, const struct cell *cells, size_t n)
{
	struct line *line = line_new(p);
	char text[sizeof(line->text)] = "";
	int rest = columns;
	size_t length = 0;

	for (size_t i = 0; i < n; i++)
		rest -= 1 + abs(cells[i].columns);
	for (size_t i = 0; line && i < n; i++) {
		const int wide = cells[i].columns ? abs(cells[i].columns) : rest > 1 ? rest : 1;

		length = fit_add(text, length, sizeof(text), " ", 1, FIT_LEFT);
		length = fit_add(text, length, sizeof(text), cells[i].text, wide,
				 cells[i].columns < 0 ? FIT_RIGHT : FIT_LEFT);
	}
	if (line)
		fit_add(line->text, 0, sizeof(line->text), text, columns, FIT_LEFT);
	return line;
}

struct line *line_heading(struct line *line)
{
	if (line)
		line->tone = TONE_HEADING;
	return line;
}
