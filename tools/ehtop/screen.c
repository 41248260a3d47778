// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehtop.h"

#include <curses.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/common/common.h"

#define SCREEN_KEYS "[t]asks [w]hy [d]rain [k]ill [q]uit"
#define SCREEN_HELP                                                             \
	"up, down   choose a node or a task\n"                                  \
	"t          all, nodes only, tasks only\n"                              \
	"w, Enter   why the task runs where it runs\n"                          \
	"d          drain the node, or undrain it\n"                            \
	"k          cancel the task\n"                                          \
	"space      look now\n"                                                 \
	"q          quit\n\n"                                                   \
	"A bar is the load; its middle is the threshold. * marks a node that\n" \
	"leads a group. Tasks are those of this node and its guests.\n"

struct screen {
	struct picture picture;
	json_t *status, *tasks, *before;
	double looked, before_looked; /* when */
	double delay;
	enum picture_part part;
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

/* To the next line in this direction that is about something. */
static void screen_choose(struct screen *s, int by)
{
	size_t at = by > 0 ? (size_t)-1 : s->picture.n;

	screen_chosen(s, &at);
	for (at += by; at < s->picture.n; at += by) {
		const struct line *line = &s->picture.lines[at];

		if (!line->about)
			continue;
		s->about = line->about;
		snprintf(s->chosen, sizeof(s->chosen), "%s", line->id);
		return;
	}
}

/* What was said, on one line. */
static void screen_say(struct screen *s, const char *said)
{
	snprintf(s->message, sizeof(s->message), "%.*s", (int)strcspn(said, "\n"), said);
}

static void screen_show(struct screen *s)
{
	const size_t rows = LINES > 2 ? LINES - 2 : 0;
	const struct picture_look look = { .status = s->status,
					   .tasks = s->tasks,
					   .before = s->before,
					   .seconds = s->looked - s->before_looked,
					   .part = s->part,
					   .columns = COLS };
	char text[1024];
	size_t at = 0;

	if (s->status && picture_make(&s->picture, &look))
		screen_say(s, "out of memory");
	erase();
	if (s->picture.n && LINES > 0)
		mvaddstr(0, 0, s->picture.lines[0].text);
	/* What is chosen stays in sight. */
	if (screen_chosen(s, &at)) {
		if (at <= s->first)
			s->first = at ? at - 1 : 0;
		if (at > s->first + rows)
			s->first = at - rows;
	}
	if (s->first + rows >= s->picture.n)
		s->first = s->picture.n > rows ? s->picture.n - rows - 1 : 0;
	for (size_t i = 0; i < rows && 1 + s->first + i < s->picture.n; i++) {
		const struct line *line = &s->picture.lines[1 + s->first + i];
		const bool chosen =
			line->about && line->about == s->about && !strcmp(line->id, s->chosen);

		attrset(screen_tone(line->tone) | (chosen ? A_REVERSE : 0));
		mvaddstr(1 + i, 0, line->text);
	}
	attrset(A_NORMAL);
	if (LINES > 1 && COLS > 1) {
		fit_add(text, 0, sizeof(text), s->message[0] ? s->message : SCREEN_KEYS " [?]",
			COLS - 1, FIT_LEFT);
		mvaddstr(LINES - 1, 0, text);
	}
	refresh();
}

static void screen_look(struct screen *s)
{
	char *said;
	json_t *status = ask_json("status", &said), *tasks;

	/* Without an agent the last picture stays, and why. */
	if (!status) {
		screen_say(s, said);
		free(said);
		return;
	}
	free(said);
	tasks = ask_json("tasks", &said);
	if (tasks) {
		json_decref(s->tasks);
		s->tasks = tasks;
	} else {
		screen_say(s, said);
	}
	free(said);
	json_decref(s->before);
	s->before = s->status;
	s->before_looked = s->looked;
	s->status = status;
	s->looked = progress_seconds(CLOCK_BOOTTIME);
}

/* Text over all, until a key. */
static void screen_text(const char *text)
{
	char line[1024];
	int row = 0;

	erase();
	for (; *text && row < LINES - 1; row++) {
		size_t n = strcspn(text, "\n");
		char one[1024];

		snprintf(one, sizeof(one), "%.*s", (int)n, text);
		fit_add(line, 0, sizeof(line), one, COLS, FIT_LEFT);
		mvaddstr(row, 0, line);
		text += n + (text[n] == '\n');
	}
	mvaddstr(LINES - 1, 0, "any key goes back");
	timeout(-1);
	getch();
}

static bool screen_sure(const char *format, const char *what)
{
	char text[256];
	int key;

	snprintf(text, sizeof(text), format, what);
	move(LINES - 1, 0);
	clrtoeol();
	addnstr(text, COLS - 1);
	timeout(-1);
	key = getch();
	return key == 'y' || key == 'Y';
}

/* Asks ehctl for it, and shows what it says. */
static void screen_do(struct screen *s, const char *const *words, const char *done)
{
	char *said;

	if (ask(words, &said) || said[0])
		screen_say(s, said[0] ? said : "ehctl failed, and gave no reason");
	else
		screen_say(s, done);
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
		if (screen_sure("undrain %s? [y/n] ", line->id))
			screen_do(s, words, "undrained");
		return;
	}
	if (!screen_sure("drain %s? It gets no new tasks. [y/n] ", line->id))
		return;
	move(LINES - 1, 0);
	clrtoeol();
	addnstr("reason, which all see (may be empty): ", COLS - 1);
	echo();
	getnstr(reason, sizeof(reason) - 1);
	noecho();
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
		if (screen_sure("cancel task %s? [y/n] ", line->id))
			screen_do(s, words, "cancelled");
		return;
	}
	ask(words, &said);
	screen_text(said);
	free(said);
}

/* False: quit. */
static bool screen_key(struct screen *s, int key)
{
	if (key != ERR)
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
	case 't':
		s->part = (s->part + 1) % PART_END;
		break;
	case 'w':
	case '\n':
	case 'k':
		screen_task(s, key);
		break;
	case 'd':
		screen_drain(s);
		break;
	case '?':
	case 'h':
		screen_text(SCREEN_HELP);
		break;
	default:
		break;
	}
	return true;
}

int screen_run(double delay)
{
	struct screen s = { .delay = delay };
	double next = 0;
	int key = ERR;

	if (!newterm(NULL, stdout, stdin))
		return fail(EXIT_REFUSED, "cannot use this terminal: is TERM right?");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	if (has_colors() && !getenv("NO_COLOR")) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_RED, -1);
		init_pair(2, COLOR_GREEN, -1);
		init_pair(3, COLOR_YELLOW, -1);
	}
	do {
		double now = progress_seconds(CLOCK_BOOTTIME);

		if (now >= next ||
		    (key != ERR && key != KEY_UP && key != KEY_DOWN && key != '\t')) {
			screen_look(&s);
			now = progress_seconds(CLOCK_BOOTTIME);
			next = now + s.delay;
		}
		screen_show(&s);
		timeout(next > now ? (int)ceil((next - now) * 1000) : 0);
		key = getch();
	} while (screen_key(&s, key));
	endwin();
	picture_free(&s.picture);
	json_decref(s.status);
	json_decref(s.tasks);
	json_decref(s.before);
	return EXIT_DONE;
}
