/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file ehctl.h  Commands of ehctl and what they share. */
#ifndef EHCTL_H
#define EHCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

#include "helpers/common/companion.h"
#include "tools/common/common.h"

struct command {
	const char *name;
	const char *arguments;	/**< behind the name, for the usage line */
	const char *help;	/**< first line: what it does; then options, notes */
	/** Another program's: it gets all its arguments as they are, --help too. */
	bool whole;
	/** argv[0] is the name; options --json and --help are taken out already,
	 *  except behind "--". Returns the exit code. */
	int (*run)(int argc, char **argv, bool json);
};

extern const struct command status_command, tree_command, tasks_command, why_command, run_command,
	exec_command, set_command, drain_command, undrain_command, watch_command, doctor_command,
	cert_command, sim_command, leave_command, plan_command;

/* ---- launch.c ---- */

/** Searches PATH as a shell does. NULL with *code 127 or 126 after a message. */
char *find_program(const char *name, char *buf, size_t size, int *code);
/** Becomes another of our programs, with argv[0] set to its path.
 *  Returns only on failure, with the exit code after a message. */
int become_companion(const char *name, char **argv);
/** Becomes the stub for argv (NULL-terminated), placed by `token` ("@CODE", "@auto").
 *  Returns only on failure, with the exit code after a message. */
int become_stub(const char *token, bool retry, const char *view, char **argv);
/** The part of argv behind "--"; NULL after a message if there is none. */
char **command_of(int argc, char **argv);

/* ---- client.c ---- */

/** A connection to the agent, or -1 after a message unless `quiet`. */
int client_connect(bool quiet);
/** Sends a request (stolen). 0, or -1 after a message. */
int client_send(int fd, json_t *request);
/** Next document; NULL after a message, or at the end with `*end` set if given.
 *  An error reply is printed and *code set to the exit code it stands for. */
json_t *client_receive(int fd, int *code, bool *end);
/** One request, one reply: NULL after a message, *code set. */
json_t *client_ask(json_t *request, int *code);

/** The same for a command that also prints text: with `json` the reply is printed here, and
 *  NULL is returned with *code set to the outcome. */
json_t *client_ask_text(json_t *request, bool json, int *code);

#endif
