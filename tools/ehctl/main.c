// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl: finds the command and leaves everything else to it. */
#include "ehctl.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cluster/naming.h"
#include "launch.h"
#include "tools/common/help.h"
#include "version.h"

static const struct command version_command;

static const struct command *const commands[] = {
	&status_command, &tree_command,	   &top_command,    &tasks_command,   &why_command,
	&cancel_command, &run_command,	   &exec_command,   &set_command,     &get_command,
	&drain_command,	 &undrain_command, &owner_command,  &watch_command,   &metrics_command,
	&doctor_command, &cert_command,	   &sim_command,    &leave_command,   &plan_command,
	&reload_command, &init_command,	   &invite_command, &join_command,    &revoke_command,
	&dag_command,	 &divide_command,  &gang_command,   &history_command, &version_command,
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_commands(FILE *to)
{
	fprintf(to, "usage: ehctl COMMAND [--json] [--help] …\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-9s %.*s\n", commands[i]->name,
			(int)strcspn(commands[i]->help, "\n"), commands[i]->help);
	fprintf(to, "  %-9s %s\n", "help", "list the commands, or show help for one");
	fprintf(to, "\nExit status: 0 success, 1 refused or failed, 2 invalid usage;\n"
		    "for run and exec, that of the command (128+N if signal N killed it).\n");
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	return NULL;
}

/* For a word that is not a command. */
static int bad_command(const char *name)
{
	struct naming_nearest n = { .wanted = name };

	for (size_t i = 0; i < COMMANDS; i++)
		naming_try(&n, commands[i]->name);
	naming_try(&n, "help");
	if (!n.best)
		return fail(EXIT_USAGE, "%s: no such command; `ehctl help` lists them", name);
	return fail(EXIT_USAGE, "%s: no such command; did you mean %s? `ehctl help` lists them",
		    name, n.best);
}

static int run_version(int argc, char **argv, bool json)
{
	if (argc > 1)
		return bad_argument(argv[1]);
	if (!json) {
		printf("ehctl %s\n", VERSION);
		return EXIT_DONE;
	}
	return json_print_new(json_pack("{s:i, s:s}", "version", 1, "ehctl", VERSION));
}

static const struct command version_command = {
	.name = "version",
	.arguments = "[--json]",
	.help = "print the version of ehctl",
	.run = run_version,
};

/* argv[0] is the name of the command. */
static int run_command_of(const struct command *c, int argc, char **argv, bool json)
{
	bool help = false;

	command_name = c->name;
	command_usage = c->arguments;
	if (!c->whole)
		argc = command_take_options(argc, argv, &json, &help);
	if (help) {
		help_command(c->name, c->arguments, c->help);
		return EXIT_DONE;
	}
	if (c->missing && argc < 2)
		return bad_usage("%s", c->missing);
	return c->program ? launch_program(c->program, c->before, argc, argv, json)
			  : c->run(argc, argv, json);
}

/* "help", or "help COMMAND": what COMMAND --help shows. */
static int help_of(int argc, char **argv, bool json)
{
	char *words[] = { argc > 1 ? argv[1] : NULL, (char *)"--help", NULL };
	const struct command *c = argc > 1 ? find_command(argv[1]) : NULL;

	if (json || (argc > 1 && !strcmp(argv[argc - 1], "--json")))
		return fail(EXIT_USAGE, "help: it is text: there is no --json");
	if (argc > 2)
		return fail(EXIT_USAGE, "help: one command at a time");
	if (argc < 2 || !strcmp(argv[1], "help")) {
		print_commands(stdout);
		return EXIT_DONE;
	}
	return c ? run_command_of(c, 2, words, false) : bad_command(argv[1]);
}

/* Options before the command mean what they mean behind it. Another program gets --json as its last. */
static int run_named(int argc, char **argv, bool json)
{
	const struct command *c = find_command(argv[0]);
	char **more;

	if (!strcmp(argv[0], "help"))
		return help_of(argc, argv, json);
	if (!c)
		return bad_command(argv[0]);
	if (!json || !c->whole)
		return run_command_of(c, argc, argv, json);
	more = calloc(argc + 2, sizeof(*more));
	if (!more)
		return fail(EXIT_REFUSED, "out of memory for %d arguments", argc);
	memcpy(more, argv, argc * sizeof(*more));
	more[argc] = (char *)"--json";
	return run_command_of(c, argc + 1, more, json);
}

/* A descriptor that is closed must not become one of the agent's. It takes and gives nothing, as a closed one. */
static void hold_closed(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int main(int argc, char **argv)
{
	bool json = false;
	int first = 1;

	/* Users have started ehctl, and look for that name: helpers/ehctl has executed this. */
	prctl(PR_SET_NAME, "ehctl");
	hold_closed();
	for (; first < argc && argv[first][0] == '-'; first++) {
		if (!strcmp(argv[first], "--json"))
			json = true;
		else if (!strcmp(argv[first], "--help") || !strcmp(argv[first], "-h"))
			return command_finish(help_of(argc - first, argv + first, json));
		else if (!strcmp(argv[first], "--version"))
			return command_finish(run_version(1, argv, json));
		else
			return fail(EXIT_USAGE, "%s: no such option before a command", argv[first]);
	}
	if (first == argc) {
		print_commands(stderr);
		return EXIT_USAGE;
	}
	return command_finish(run_named(argc - first, argv + first, json));
}
