// SPDX-License-Identifier: GPL-2.0-or-later
#include "terminal.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "fit.h"
#include "tools/common/common.h"

#define TERMINAL_OTHERS 4
#define TERMINAL_KILL 21 /* Ctrl-U */

/* What is to be undone also when nothing of this program can be trusted any more. */
static struct termios terminal_was;
static char terminal_undo[64]; /* off the second screen, and the cursor back */
static int terminal_signals = -1; /* a signalfd of those that end programs */
static int terminal_ended_by;
static bool terminal_gone;

static const int terminal_ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static const int terminal_crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE };

/* A crash: with what a handler may call. The signal comes once more, and ends the program. */
static void terminal_on_crash(int number)
{
	ssize_t n = write(STDOUT_FILENO, terminal_undo, strlen(terminal_undo));

	(void)n; /* there is nothing else to try */
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal_was);
	raise(number);
}

static void terminal_add_undo(const char *name)
{
	const char *text = tigetstr((char *)name);
	const size_t used = strlen(terminal_undo);

	if (text && text != (const char *)-1 && used + strlen(text) < sizeof(terminal_undo))
		strcpy(terminal_undo + used, text);
}

static int terminal_catch(void)
{
	const struct sigaction crash = { .sa_handler = terminal_on_crash,
					 .sa_flags = SA_RESETHAND };
	sigset_t ends;

	sigemptyset(&ends);
	for (size_t i = 0; i < sizeof(terminal_ends) / sizeof(*terminal_ends); i++)
		sigaddset(&ends, terminal_ends[i]);
	terminal_signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (terminal_signals < 0 || sigprocmask(SIG_BLOCK, &ends, NULL))
		return -errno;
	for (size_t i = 0; i < sizeof(terminal_crashes) / sizeof(*terminal_crashes); i++)
		sigaction(terminal_crashes[i], &crash, NULL);
	return 0;
}

int terminal_open(void)
{
	const char *cursor;
	SCREEN *screen;

	if (tcgetattr(STDIN_FILENO, &terminal_was) || terminal_catch())
		return fail(EXIT_REFUSED, "cannot use this terminal: %s", strerror(errno));
	screen = newterm(NULL, stdout, stdin);
	cursor = screen ? tigetstr((char *)"cup") : NULL;
	if (screen && (!cursor || cursor == (const char *)-1)) {
		/* it has no way to write at a place */
		endwin();
		screen = NULL;
	}
	if (!screen)
		return fail(EXIT_REFUSED, "cannot use this terminal: is TERM right?");
	terminal_add_undo("sgr0");
	terminal_add_undo("rmkx");
	terminal_add_undo("rmcup");
	terminal_add_undo("cnorm");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	if (has_colors() && !getenv("NO_COLOR")) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_RED, -1);
		init_pair(2, COLOR_GREEN, -1);
		init_pair(3, COLOR_YELLOW, -1);
	}
	return 0;
}

void terminal_close(void)
{
	sigset_t ends;

	/* nothing is to be drawn where nobody looks */
	if (!terminal_gone) {
		/* where there is no second screen, the next prompt is on this line */
		move(LINES - 1, 0);
		clrtoeol();
		refresh();
		endwin();
	}
	if (!terminal_ended_by)
		return;
	signal(terminal_ended_by, SIG_DFL);
	sigemptyset(&ends);
	sigaddset(&ends, terminal_ended_by);
	raise(terminal_ended_by);
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
}

bool terminal_is_over(void)
{
	return terminal_gone || terminal_ended_by;
}

static int terminal_look(int timeout_ms, struct pollfd *others, int n)
{
	struct pollfd fds[2 + TERMINAL_OTHERS] = { { STDIN_FILENO, POLLIN, 0 },
						   { terminal_signals, POLLIN, 0 } };
	struct signalfd_siginfo told;

	for (int i = 0; i < n; i++)
		fds[2 + i] = others[i];
	/* interrupted: the window has another size, or this program goes on */
	if (poll(fds, 2 + n, timeout_ms) < 0)
		return getch();
	for (int i = 0; i < n; i++)
		others[i] = fds[2 + i];
	if (fds[1].revents && read(terminal_signals, &told, sizeof(told)) == sizeof(told))
		terminal_ended_by = told.ssi_signo;
	else if (fds[0].revents & (POLLHUP | POLLERR))
		terminal_gone = true;
	return terminal_is_over() ? ERR : getch();
}

int terminal_key(int timeout_ms, struct pollfd *others, int n)
{
	int key;

	timeout(0);
	key = terminal_is_over() ? ERR : getch();
	if (key == ERR && !terminal_is_over())
		key = terminal_look(timeout_ms, others, n);
	return key;
}

/* Waits for one. ERR: it is over. */
static int terminal_next(void)
{
	int key = ERR;

	while (key == ERR && !terminal_is_over())
		key = terminal_key(-1, NULL, 0);
	return key;
}

void terminal_text(const char *text)
{
	char line[1024], one[1024];
	const char *at;
	int row, key;

	do {
		erase();
		for (at = text, row = 0; *at && row < LINES - 1; row++) {
			const size_t n = fit_line(at, COLS);

			snprintf(one, sizeof(one), "%.*s", (int)n, at);
			line[0] = '\0';
			fit_add(line, 0, sizeof(line), one, COLS, FIT_LEFT);
			mvaddstr(row, 0, line);
			at += n + (at[n] == '\n' || at[n] == ' ');
		}
		mvaddstr(LINES - 1, 0, "any key goes back");
		refresh();
		key = terminal_next();
	} while (key == KEY_RESIZE);
}

/* The question leaves some columns to what is said. */
static void terminal_ask(const char *question, const char *said, int columns)
{
	const int room = COLS - 1 - columns, wide = (int)fit_width(question);
	const size_t n = wide < room ? wide : room > 0 ? room : 0;
	char line[1024] = "";

	fit_add(line, 0, sizeof(line), question, n, FIT_LEFT);
	move(LINES - 1, 0);
	clrtoeol();
	addstr(line);
	/* the end of what was typed is what counts */
	while (strlen(said) + n >= (size_t)COLS && *said)
		said++;
	addstr(said);
	refresh();
}

bool terminal_sure(const char *question)
{
	static const char choice[] = " [y/n] ";
	int key;

	do {
		terminal_ask(question, choice, sizeof(choice) - 1);
		key = terminal_next();
	} while (key == KEY_RESIZE);
	return key == 'y' || key == 'Y';
}

bool terminal_line(const char *question, char *out, size_t size)
{
	size_t n = strlen(out);
	int key;

	for (;;) {
		terminal_ask(question, out, COLS / 3);
		curs_set(1);
		key = terminal_next();
		curs_set(0);
		if (key == '\n' || key == '\r' || key == KEY_ENTER)
			return true;
		if (key == ERR || key == 27)
			return false;
		if (key == killchar() || key == TERMINAL_KILL)
			out[n = 0] = '\0';
		else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n) {
			/* a character may have several bytes */
			do
				n--;
			while (n && (out[n] & 0xc0) == 0x80);
			out[n] = '\0';
		} else if (key >= ' ' && key < 256 && key != 127 && n + 1 < size) {
			out[n++] = (char)key;
			out[n] = '\0';
		}
	}
}
