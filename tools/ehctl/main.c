// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl: finds the command and leaves everything else to it. */
#include "ehctl.h"

#include <stdio.h>
#include <string.h>

#include "version.h"

static const struct command *const commands[] = {
	&status_command,  &tree_command,  &tasks_command,  &why_command,
	&run_command,	  &exec_command,  &set_command,	   &drain_command,
	&undrain_command, &watch_command, &doctor_command, &cert_command,
	&sim_command,	  &leave_command, &plan_command,   &reload_command,
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_commands(FILE *to)
{
	fprintf(to, "usage: ehctl COMMAND [--json] [--help] …\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-9s %.*s\n", commands[i]->name,
			(int)strcspn(commands[i]->help, "\n"), commands[i]->help);
	fprintf(to, "  %-9s %s\n", "version", "print the version of ehctl");
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

int main(int argc, char **argv)
{
	bool json = false, help = false;
	const struct command *current;

	if (argc < 2) {
		print_commands(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_commands(stdout);
		return command_finish(EXIT_DONE);
	}
	if (!strcmp(argv[1], "version") || !strcmp(argv[1], "--version")) {
		printf("ehctl %s\n", VERSION);
		return command_finish(EXIT_DONE);
	}
	current = find_command(argv[1]);
	if (!current)
		return fail(EXIT_USAGE, "%s: no such command; `ehctl help` lists them", argv[1]);
	command_name = current->name;
	command_usage = current->arguments;
	if (!current->whole)
		argc = command_take_options(argc - 1, argv + 1, &json, &help);
	else
		argc--;
	if (help) {
		printf("usage: ehctl %s %s\n\n%s\n", current->name, current->arguments,
		       current->help);
		return command_finish(EXIT_DONE);
	}
	return command_finish(current->run(argc, argv + 1, json));
}
