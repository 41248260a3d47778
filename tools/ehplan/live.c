// SPDX-License-Identifier: GPL-2.0-or-later
#include "live.h"

#include <signal.h>
#include <string.h>

#include "tools/common/help.h"

static const struct live_command *const commands[] = { &dag_live, &divide_live, &gang_live };

static int run_command(const struct live_command *c, int argc, char **argv)
{
	bool json = false, help = false;
	int code;

	command_name = c->name;
	command_usage = c->arguments;
	argc = command_take_options(argc, argv, &json, &help);
	if (help) {
		help_command(c->name, c->arguments, c->help);
		printf("\n");
		options_help(c->options);
		printf("  --json                  print one JSON document\n");
		return EXIT_DONE;
	}
	code = options_parse(argc, argv, c->options, c->settings);
	return code ? code : c->run(c->settings, argv + optind, json);
}

int live_main(int argc, char **argv)
{
	/* the reader of the messages may be gone; what is started has the signal as usual */
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[0], commands[i]->name))
			return command_finish(run_command(commands[i], argc, argv));
	return fail(EXIT_USAGE, "%s: no such command", argv[0]);
}
