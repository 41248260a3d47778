// SPDX-License-Identifier: GPL-2.0-or-later
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ask.h"
#include "looks.h"
#include "picture.h"
#include "screen.h"
#include "tools/common/common.h"
#include "tools/common/help.h"

#define MAIN_COLUMNS 80

struct arguments {
	bool once;
	double delay;
};

static const struct option_row table[] = {
	{ "once", OPTION_FLAG, offsetof(struct arguments, once),
	  .help = "print the picture once, without a terminal too" },
	{ "delay", OPTION_REAL, offsetof(struct arguments, delay), "SECONDS", .real = { 0.2, 3600 },
	  .wanted = "0.2 to 3600 seconds", .help = "between two looks (2)" },
	{ 0 },
};

static unsigned int main_columns(void)
{
	const char *said = getenv("COLUMNS");
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return said && atoi(said) > 0 ? atoi(said) : MAIN_COLUMNS;
}

/* All that has been asked for. */
static void main_look(struct looks *l)
{
	struct pollfd fds[LOOKS_KINDS];
	int n = 0;

	looks_begin(l, false);
	while (looks_take(l, fds, n), looks_are_under_way(l)) {
		n = looks_poll(l, fds);
		if (poll(fds, n, -1) < 0)
			n = 0;
	}
}

static int main_once(void)
{
	struct picture p = { 0 };
	struct looks looks = { 0 };
	struct picture_look look = { .columns = main_columns() };
	int code = EXIT_REFUSED;
	const char *said;

	main_look(&looks);
	if (!looks.tasks || !looks.status) {
		/* "ehctl status: …" of the one that was asked */
		said = strstr(looks.said, ": ");
		fail(0, "%s", said ? said + 2 : looks.said);
		goto free_all;
	}
	look.status = looks.status;
	look.tasks = looks.tasks;
	if (picture_make(&p, &look)) {
		fail(0, "out of memory");
		goto free_all;
	}
	for (size_t i = 0; i < p.n; i++) {
		size_t n = strlen(p.lines[i].text);

		while (n && p.lines[i].text[n - 1] == ' ')
			n--;
		printf("%.*s\n", (int)n, p.lines[i].text);
	}
	code = EXIT_DONE;

free_all:
	picture_free(&p);
	looks_end(&looks);
	return code;
}

int main(int argc, char **argv)
{
	struct arguments a = { .delay = 2 };
	bool json = false, help = false;
	int code;

	command_name = "top";
	command_usage = "[--once] [--delay SECONDS]";
	argc = command_take_options(argc, argv, &json, &help);
	if (help) {
		help_command(command_name, command_usage,
			     "show nodes and tasks, and how they change\n");
		options_help(table);
		printf("\nKeys: ? lists them. Colours follow the column STATE; NO_COLOR turns them off.\n");
		return command_finish(EXIT_DONE);
	}
	if (json)
		return bad_usage(
			"there is no --json: `ehctl status --json` and `ehctl tasks --all --json` "
			"have what it shows");
	code = options_parse(argc, argv, table, &a);
	if (code)
		return code;
	if (optind < argc)
		return bad_argument(argv[optind]);
	/* Names may be UTF-8, whatever the locale of this user is; a terminal is as its locale. */
	setlocale(LC_CTYPE, "");
	if (!a.once && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return fail(EXIT_REFUSED,
			    "standard input and output are not a terminal: use --once");
	return command_finish(a.once ? main_once() : screen_run(a.delay));
}
