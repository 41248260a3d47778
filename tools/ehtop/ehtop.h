/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ehtop.h
 * ehctl top: looks again and again at what `ehctl status` and `ehctl tasks` say, and shows it as a
 * picture. What keys do is done by ehctl, too: so rights, messages and names are the same.
 */
#ifndef EHTOP_H
#define EHTOP_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

/* ask.c */

/** Runs `ehctl WORD…` (NULL ends the words) and takes all that it prints. Its exit code, or -1 when
 *  it could not be run; *said is to be freed, and never NULL: a message where there is nothing else. */
int ask(const char *const *words, char **said);
/** `ehctl COMMAND --json`. NULL: *said is why. */
json_t *ask_json(const char *command, char **said);

/* fit.c */

enum fit { FIT_LEFT, FIT_RIGHT };

/**
 * Appends text to `out` so that it takes `columns` on a terminal: padded, or cut with an ellipsis.
 * What a terminal could take for a command, or cannot show, becomes "?". Returns the new length;
 * there is never more than `size` with the final 0.
 */
size_t fit_add(char *out, size_t length, size_t size, const char *text, unsigned int columns,
	       enum fit side);
/** A bar of `columns` for part/whole, in eighths of a column where the locale has UTF-8. */
size_t fit_bar(char *out, size_t length, size_t size, double part, double whole,
	       unsigned int columns);

/* picture.c */

/** What a line is about, and what keys can be used on it. */
enum line_about { ABOUT_NOTHING, ABOUT_NODE, ABOUT_TASK };
/** How it is shown; each is also said in words. */
enum line_tone { TONE_PLAIN, TONE_HEADING, TONE_SENDER, TONE_RECEIVER, TONE_DRAINING, TONE_DOWN };

struct line {
	char text[1024];
	enum line_about about;
	enum line_tone tone;
	bool draining;
	char id[64]; /**< of the node or task */
};

struct picture {
	struct line *lines;
	size_t n, room;
};

/** Which parts are shown. */
enum picture_part { PART_ALL, PART_NODES, PART_TASKS, PART_END };

/** How many execs were decided, since `before` if there is one. */
struct picture_look {
	const json_t *status, *tasks, *before; /**< before: the last status, or NULL */
	double seconds; /**< since then */
	enum picture_part part;
	unsigned int columns;
};

/** Makes the picture of what was seen. 0, or -ENOMEM: it is incomplete. */
int picture_make(struct picture *p, const struct picture_look *look);
void picture_free(struct picture *p);

/* screen.c */

/** Shows it until a key ends it. The exit code. */
int screen_run(double delay);

#endif
