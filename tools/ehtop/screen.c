// SPDX-License-Identifier: GPL-2.0-or-later
#include "screen.h"

#include <curses.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask.h"
#include "fit.h"
#include "looks.h"
#include "picture.h"
#include "terminal.h"
#include "tools/common/common.h"

#define SCREEN_KEYS "[t]asks [h]istory [w]hy [d]rain [k]ill [s]ort [/]filter [q]uit"
#define SCREEN_HELP                                                             \
	"up, down, page up, page down, home, end   choose a node or a task\n"   \
	"t          all, nodes only, tasks only\n"                              \
	"h          what has run, the newest first; h goes back\n"              \
	"w, Enter   why the task runs, or ran, where it does\n"                 \
	"d          drain the node, or undrain it\n"                            \
	"k          cancel the task\n"                                          \
	"s          sort by code, busy, memory, longest, name\n"                \
	"/          only what has this text in it; empty, or Esc: all\n"        \
	"space      look now\n"                                                 \
	"q          quit\n\n"                                                   \
	"A bar is the load; its middle is the threshold. * marks a node that\n" \
	"leads a group. Tasks are those of all nodes that you may see.\n"

struct screen {
	struct picture picture;
	struct looks looks;
	double delay, next; /* next: when it looks again */
	enum picture_part part, part_before; /* before the history was shown */
	enum order order;
	char filter[64];
	char chosen[64]; /* id of the chosen line; "": none */
	enum line_about about;
	size_t first; /* of the lines below the head that are shown */
	char message[256];
};

static attr_t screen_tone(enum line_tone tone)
{
	switch (tone) {
	case TONE_HEADING:
		return A_BOLD;
	case TONE_SENDER:
	case TONE_FAILED:
		return COLOR_PAIR(1) | A_BOLD;
	case TONE_RECEIVER:
		return COLOR_PAIR(2);
	case TONE_DRAINING:
		return COLOR_PAIR(3) | A_BOLD;
	case TONE_DOWN:
		return A_DIM;
	default:
		return A_NORMAL;
	}
}

static const struct line *screen_chosen(const struct screen *s, size_t *at)
{
	for (size_t i = 0; i < s->picture.n; i++) {
		const struct line *line = &s->picture.lines[i];

		if (line->about == s->about && line->about && !strcmp(line->id, s->chosen)) {
			if (at)
				*at = i;
			return line;
		}
	}
	return NULL;
}

/* By so many lines that are about something, up or down. */
static void screen_choose(struct screen *s, int by)
{
	const int step = by > 0 ? 1 : -1;
	size_t at = by > 0 ? (size_t)-1 : s->picture.n;

	screen_chosen(s, &at);
	for (at += step; at < s->picture.n && by; at += step) {
		const struct line *line = &s->picture.lines[at];

		if (!line->about)
			continue;
		by -= step;
		s->about = line->about;
		snprintf(s->chosen, sizeof(s->chosen), "%s", line->id);
	}
}

/* What was said, on one line. */
static void screen_say(struct screen *s, const char *said)
{
	snprintf(s->message, sizeof(s->message), "%.*s", (int)strcspn(said, "\n"), said);
}

/* What is chosen stays in sight. */
static void screen_scroll(struct screen *s, size_t rows)
{
	size_t at = 0;

	if (screen_chosen(s, &at)) {
		if (at <= s->first)
			s->first = at ? at - 1 : 0;
		if (at > s->first + rows)
			s->first = at - rows;
	}
	if (s->first + rows >= s->picture.n)
		s->first = s->picture.n > rows ? s->picture.n - rows - 1 : 0;
}

static void screen_make(struct screen *s)
{
	const struct picture_look look = { .status = s->looks.status,
					   .tasks = s->looks.tasks,
					   .past = s->looks.past,
					   .before = s->looks.before,
					   .seconds = s->looks.looked - s->looks.before_looked,
					   .silence = looks_silence(&s->looks),
					   .part = s->part,
					   .order = s->order,
					   .filter = s->filter,
					   .columns = COLS };

	if (s->looks.status && picture_make(&s->picture, &look))
		screen_say(s, "out of memory");
}

static const char *screen_below(const struct screen *s)
{
	return s->message[0]				? s->message
	       : s->looks.said[0]			? s->looks.said
	       : !s->looks.status			? "asking…"
	       : s->part == PART_PAST && !s->looks.past ? "asking…"
							: SCREEN_KEYS " [?]";
}

static void screen_show(struct screen *s)
{
	const size_t rows = LINES > 2 ? LINES - 2 : 0;
	char text[1024];

	screen_make(s);
	erase();
	if (s->picture.n && LINES > 0) {
		attrset(screen_tone(s->picture.lines[0].tone));
		mvaddstr(0, 0, s->picture.lines[0].text);
	}
	screen_scroll(s, rows);
	for (size_t i = 0; i < rows && 1 + s->first + i < s->picture.n; i++) {
		const struct line *line = &s->picture.lines[1 + s->first + i];
		const bool chosen =
			line->about && line->about == s->about && !strcmp(line->id, s->chosen);

		attrset(screen_tone(line->tone) | (chosen ? A_REVERSE : 0));
		mvaddstr(1 + i, 0, line->text);
	}
	attrset(A_NORMAL);
	if (LINES > 1 && COLS > 1) {
		fit_add(text, 0, sizeof(text), screen_below(s), COLS - 1, FIT_LEFT);
		mvaddstr(LINES - 1, 0, text);
	}
	refresh();
}

static bool screen_sure(const char *format, const char *what)
{
	char text[256];

	snprintf(text, sizeof(text), format, what);
	return terminal_sure(text);
}

/* Asks ehctl for it, and shows what it says. */
static void screen_do(struct screen *s, const char *const *words, const char *done)
{
	char *said;

	if (!ask(words, &said) && !said[0])
		screen_say(s, done);
	else if (!said[0])
		screen_say(s, "ehctl failed, and gave no reason");
	else if ((int)fit_width(said) < COLS)
		screen_say(s, said);
	else
		terminal_text(said);
	free(said);
}

static void screen_drain(struct screen *s)
{
	const struct line *line = screen_chosen(s, NULL);
	const char *words[] = { "drain", NULL, "--reason", NULL, NULL };
	char reason[128] = "";

	if (!line || line->about != ABOUT_NODE) {
		screen_say(s, "choose a node first");
		return;
	}
	words[1] = line->id;
	if (line->draining) {
		words[0] = "undrain";
		words[2] = NULL;
		if (screen_sure("undrain %s?", line->name))
			screen_do(s, words, "undrained");
		return;
	}
	if (!screen_sure("drain %s? It gets no new tasks.", line->name))
		return;
	if (!terminal_line("reason, which all see (may be empty): ", reason, sizeof(reason)))
		return;
	words[2] = reason[0] ? "--reason" : NULL;
	words[3] = reason[0] ? reason : NULL;
	screen_do(s, words, "draining");
}

static void screen_task(struct screen *s, int key)
{
	const struct line *line = screen_chosen(s, NULL);
	const char *words[] = { "why", NULL, NULL };
	char *said;

	if (!line || line->about != ABOUT_TASK) {
		screen_say(s, "choose a task first");
		return;
	}
	words[1] = line->id;
	if (key == 'k') {
		words[0] = "cancel";
		if (screen_sure("cancel task %s?", line->name))
			screen_do(s, words, "cancelled");
		return;
	}
	ask(words, &said);
	terminal_text(said);
	free(said);
}

static void screen_part(struct screen *s, int key)
{
	if (key == 't') {
		s->part = (s->part + 1) % PART_PAST;
	} else if (s->part == PART_PAST) {
		s->part = s->part_before;
	} else {
		s->part_before = s->part;
		s->part = PART_PAST;
		s->next = 0;
	}
	s->first = 0;
}

static void screen_filter(struct screen *s)
{
	char text[sizeof(s->filter)];

	snprintf(text, sizeof(text), "%s", s->filter);
	if (terminal_line("only what has this text in it: ", text, sizeof(text)))
		memcpy(s->filter, text, sizeof(text));
	s->first = 0;
}

/* False: quit. */
static bool screen_key(struct screen *s, int key)
{
	if (key != KEY_RESIZE)
		s->message[0] = '\0';
	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case KEY_UP:
		screen_choose(s, -1);
		break;
	case KEY_DOWN:
	case '\t':
		screen_choose(s, 1);
		break;
	case KEY_PPAGE:
		screen_choose(s, 3 - LINES);
		break;
	case KEY_NPAGE:
		screen_choose(s, LINES - 3);
		break;
	case KEY_HOME:
		screen_choose(s, -(int)s->picture.n);
		break;
	case KEY_END:
		screen_choose(s, (int)s->picture.n);
		break;
	case 't':
	case 'h':
		screen_part(s, key);
		break;
	case 's':
		s->order = (s->order + 1) % ORDER_END;
		break;
	case '/':
		screen_filter(s);
		break;
	case 27: /* Escape */
		s->filter[0] = '\0';
		s->first = 0;
		break;
	case ' ':
		s->next = 0;
		break;
	case 'w':
	case '\n':
	case 'k':
		screen_task(s, key);
		break;
	case 'd':
		screen_drain(s);
		s->next = 0;
		break;
	case '?':
		terminal_text(SCREEN_HELP);
		break;
	default:
		break;
	}
	return true;
}

/* Looks when it is time, and takes what has come. Returns the ms until it is time again, or to show
 * how long nothing has come. */
static int screen_look(struct screen *s, const struct pollfd *fds, int n)
{
	double now = progress_seconds(CLOCK_BOOTTIME), left;
	const bool asked = looks_are_under_way(&s->looks);

	looks_take(&s->looks, fds, n);
	if (asked && !looks_are_under_way(&s->looks))
		s->next = now + fmax(s->delay, looks_pause(&s->looks));
	if (now >= s->next && !looks_are_under_way(&s->looks)) {
		looks_begin(&s->looks, s->part == PART_PAST);
		/* one that could not be started is over already */
		looks_take(&s->looks, NULL, 0);
	}
	left = looks_are_under_way(&s->looks) ? 1 : fmax(s->next - now, 0.1);
	/* the picture says how long it has been waited for an answer */
	return (int)ceil(1000 * (looks_silence(&s->looks) > 0 ? fmin(left, 1) : left));
}

int screen_run(double delay)
{
	struct screen s = { .delay = delay };
	struct pollfd fds[LOOKS_KINDS];
	int key = ERR, n = 0, wait, code = terminal_open();

	if (code)
		return code;
	do {
		wait = screen_look(&s, fds, n);
		screen_show(&s);
		n = looks_poll(&s.looks, fds);
		key = terminal_key(wait, fds, n);
	} while (!terminal_is_over() && (key == ERR || screen_key(&s, key)));
	looks_end(&s.looks);
	picture_free(&s.picture);
	terminal_close();
	return EXIT_DONE;
}
