// SPDX-License-Identifier: GPL-2.0-or-later
#include "exec_words.h"

#include <stdlib.h>
#include <string.h>

#include "wire/view.h"

#define WORDS_STUB 7 /* of the stub's own, at most, and the NULL */

char **exec_words_command(char **argv)
{
	while (*argv && strcmp(*argv, "--"))
		argv++;
	return argv[0] && argv[1] ? argv + 1 : NULL;
}

static bool words_bad(struct exec_trouble *t, const char *word, const char *text)
{
	*t = (struct exec_trouble){ .text = text, .word = word, .option = "", .unknown = !text };
	return false;
}

static bool words_node(const char *node, struct exec_words *out, struct exec_trouble *t)
{
	if (*node == '-')
		return words_bad(t, node, NULL);
	if (!strcmp(node, "auto") || !strcmp(node, "all"))
		return words_bad(t, node, "a word of its own here: name the node by its code");
	if (strspn(node, EXEC_NODE_LETTERS) != strlen(node) || strlen(node) > EXEC_NODE_MAX)
		return words_bad(t, node, "not the name of a host, nor a node code (such as 0.3)");
	out->token[0] = '@';
	strcpy(out->token + 1, node);
	return true;
}

bool exec_words(char **argv, struct exec_words *out, struct exec_trouble *t)
{
	const char *node = NULL;
	bool all = false;

	*out = (struct exec_words){ .command = exec_words_command(argv) };
	if (!out->command)
		return words_bad(t, NULL, "a command is required after --");
	for (char **arg = argv + 1; arg < out->command - 1; arg++) {
		if (!strcmp(*arg, "--retry"))
			out->retry = true;
		else if (!strcmp(*arg, "--all"))
			all = true;
		else if (!strcmp(*arg, "--view") && arg + 1 < out->command - 1)
			out->view = *++arg;
		else
			node = node ? "" : *arg;
	}
	if (out->view && view_parse(out->view) == VIEW_UNSET) {
		words_bad(t, out->view, "must be shared, home or auto");
		t->option = "--view ";
		return false;
	}
	if (!node || !*node)
		return words_bad(t, NULL, "one NODE or --auto is required before --");
	if (!strcmp(node, "--auto")) {
		strcpy(out->token, all ? "@all" : "@auto");
		return true;
	}
	if (all)
		return words_bad(t, node,
				 "--all requires --auto: CMD runs on that node in any case");
	if (out->retry)
		return words_bad(
			t, node,
			"--retry requires --auto: the second run is on this node, not there");
	return words_node(node, out, t);
}

char **stub_words(const char *first, bool retry, const char *view, const char *token,
		  const char *program, char *const *command)
{
	size_t count = 0, n = 1;
	const char **args;

	while (command[count])
		count++;
	args = calloc(count + WORDS_STUB + 2, sizeof(*args));
	if (!args)
		return NULL;
	if (first)
		args[n++] = first;
	if (retry)
		args[n++] = "--retry";
	if (view) {
		args[n++] = "--view";
		args[n++] = view;
	}
	args[n++] = token;
	args[n++] = program;
	memcpy(args + n, command, count * sizeof(*args));
	return (char **)args;
}
