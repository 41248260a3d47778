/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file line.h  Lines of a picture, made of cells. */
#ifndef EHTOP_LINE_H
#define EHTOP_LINE_H

#include <stdbool.h>
#include <stddef.h>

/** What a line is about, and what keys can be used on it. */
enum line_about { ABOUT_NOTHING, ABOUT_NODE, ABOUT_TASK };
/** How it is shown; each is also said in words. */
enum line_tone {
	TONE_PLAIN,
	TONE_HEADING,
	TONE_SENDER,
	TONE_RECEIVER,
	TONE_DRAINING,
	TONE_DOWN,
	TONE_FAILED,
};

struct line {
	char text[1024];
	enum line_about about;
	enum line_tone tone;
	bool draining;
	char id[64]; /**< of the node or task */
	char name[128]; /**< what the line shows of it: a host, or a task and its command */
};

struct picture {
	struct line *lines;
	size_t n, room;
};

/** A cell of a row: below 0 it ends at the right, and 0 is what the others leave. */
struct cell {
	const char *text;
	int columns;
};

/** An empty line at the end. NULL: out of memory, also below. */
struct line *line_new(struct picture *p);
/** A line of cells with a space before each, cut where the screen ends. */
struct line *line_row(struct picture *p, unsigned int columns, const struct cell *cells, size_t n);
#define ROW(p, columns, ...)                                       \
	line_row(p, columns, (const struct cell[]){ __VA_ARGS__ }, \
		 sizeof((const struct cell[]){ __VA_ARGS__ }) / sizeof(struct cell))
/** Makes a heading of it. */
struct line *line_heading(struct line *line);

#endif
