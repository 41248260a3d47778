// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What ninja would run: `ninja -n -v` prints the commands, `ninja -t compdb` their outputs, and
 * `ninja -t graph` which output needs which.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build.h"
#include "build_walk.h"
#include "ehplan.h"
#include "plan/names.h"

#define MARK '\036'

struct reader {
	struct build *b;
	struct build_walk walk;
	struct plan_names *commands;
	char **output; /* of each command */
	uint32_t outputs;
	struct plan_names *rules; /* nodes of the graph that are commands */
	struct plan_names *paths;
	int64_t *id_of_path; /* node of the walk */
	uint32_t paths_room;
};

/* ninja's options that have a value of their own. */
static bool has_value(const char *word)
{
	return word[0] == '-' && strchr("dfjklwC", word[1]) && word[1] && !word[2];
}

/* ninja with these words and the options that were given; with `targets` they too. */
static char *ask(const struct build *b, const char *const *first, bool targets, size_t *length)
{
	size_t n = 1, words = 0, more = 0;
	char **argv, *text;
	int status;

	while (b->args[words])
		words++;
	while (first[more])
		more++;
	argv = calloc(words + more + 2, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = (char *)"ninja";
	for (size_t i = 0; i < words; i++) {
		if (*b->args[i] != '-')
			continue;
		argv[n++] = b->args[i];
		if (has_value(b->args[i]) && b->args[i + 1])
			argv[n++] = b->args[++i];
	}
	for (size_t i = 0; i < more; i++)
		argv[n++] = (char *)first[i];
	for (size_t i = 0; i < words && targets; i++) {
		if (*b->args[i] != '-')
			argv[n++] = b->args[i];
		else if (has_value(b->args[i]) && b->args[i + 1])
			i++;
	}
	text = build_ask(b, argv, &status, length);
	free(argv);
	return text;
}

/* ---- the outputs of commands ---- */

static int take_outputs(struct reader *r, const json_t *list)
{
	json_t *entry;
	size_t i;

	r->output = calloc(json_array_size(list) + 1, sizeof(*r->output));
	if (!r->output)
		return -ENOMEM;
	json_array_foreach(list, i, entry) {
		const char *command = json_string_value(json_object_get(entry, "command"));
		const char *output = json_string_value(json_object_get(entry, "output"));
		int64_t number = command && output ? plan_names_add(r->commands, command) : -EEXIST;

		if (number == -ENOMEM)
			return -ENOMEM;
		if (number < 0)
			continue;
		r->output[number] = strdup(output);
		r->outputs = (uint32_t)number + 1;
		if (!r->output[number])
			return -ENOMEM;
	}
	return 0;
}

static int read_outputs(struct reader *r)
{
	static const char *const words[] = { "-t", "compdb", NULL };
	size_t length;
	char *text = ask(r->b, words, false, &length);
	json_t *list = text ? json_loadb(text, length, 0, NULL) : NULL;
	/* without it the plan knows of no order */
	int err = list ? take_outputs(r, list) : 0;

	json_decref(list);
	free(text);
	return err;
}

/* ---- the graph ---- */

static int take_path(struct reader *r, const char *path, int64_t node)
{
	int64_t number = plan_names_add(r->paths, path);
	int64_t *more;

	if (number == -ENOMEM)
		return -ENOMEM;
	if (number < 0)
		return 0;
	if (number >= r->paths_room) {
		uint32_t room = r->paths_room ? 2 * r->paths_room : 1024;

		more = reallocarray(r->id_of_path, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->id_of_path = more;
		r->paths_room = room;
	}
	r->id_of_path[number] = node;
	return 0;
}

/* "0xID" [label="PATH"]      an output or a file
 * "0xID" [label="RULE", shape=ellipse]      a command with several inputs or outputs
 * "0xA" -> "0xB" …      B needs A */
static int take_edge(struct reader *r, char *line)
{
	static const char arrow[] = "\" -> \"", label[] = "\" [label=\"";
	char *end, *to;
	int64_t node;

	if (strncmp(line, "\"0x", 3))
		return 0;
	end = strchr(line + 1, '"');
	if (end && !strncmp(end, arrow, strlen(arrow))) {
		int64_t other;

		*end = '\0';
		to = end + strlen(arrow);
		end = strchr(to, '"');
		if (!end)
			return 0;
		*end = '\0';
		node = walk_node(&r->walk, to);
		other = walk_node(&r->walk, line + 1);
		return node < 0 || other < 0 ? -ENOMEM : walk_need(&r->walk, node, other);
	}
	if (!end || strncmp(end, label, strlen(label)))
		return 0;
	*end = '\0';
	to = end + strlen(label);
	end = to + strlen(to);
	if (end - to < 2 || strcmp(end - 2, "\"]"))
		return plan_names_add(r->rules, line + 1) == -ENOMEM ? -ENOMEM : 0;
	end[-2] = '\0';
	node = walk_node(&r->walk, line + 1);
	return node < 0 ? -ENOMEM : take_path(r, to, node);
}

static int read_graph(struct reader *r)
{
	static const char *const words[] = { "-t", "graph", NULL };
	size_t length;
	char *text = ask(r->b, words, true, &length), *rest = text, *line;
	int err = 0;

	while (!err && rest && (line = strsep(&rest, "\n")))
		err = take_edge(r, line);
	free(text);
	return err;
}

/* ---- the commands ---- */

/* A command of several outputs is a need of each. */
static int64_t node_of(struct reader *r, const char *output)
{
	int64_t path = output ? plan_names_find(r->paths, output) : -1, node, need;

	if (path < 0)
		return walk_node(&r->walk, output ? output : "");
	node = r->id_of_path[path];
	need = walk_only_need(&r->walk, node);
	if (need < 0)
		return node;
	return plan_names_find(r->rules, plan_names_text(r->walk.names, need)) < 0 ? node : need;
}

static int take_command(struct reader *r, char *line)
{
	char *command = strchr(line, ' '), name[160];
	const char *output = NULL;
	int64_t number, node;

	if (!command)
		return 0;
	command++;
	number = plan_names_find(r->commands, command);
	if (number >= 0)
		output = r->output[number];
	node = node_of(r, output);
	if (output)
		snprintf(name, sizeof(name), "%s", output);
	else
		snprintf(name, sizeof(name), "%.100s", command);
	return node < 0 ? (int)node : walk_task(&r->walk, node, 0, name, command, command);
}

static int take_directory(struct build *b, const char *line)
{
	static const char entering[] = "ninja: Entering directory `";
	const char *end = strrchr(line, '\'');

	if (strncmp(line, entering, strlen(entering)) || !end)
		return 0;
	free(b->directory);
	line += strlen(entering);
	b->directory = strndup(line, end - line);
	return b->directory ? 0 : -ENOMEM;
}

static int read_commands(struct reader *r)
{
	static const char *const words[] = { "-n", "-v", "-j1", NULL };
	char *text, *rest, *line;
	size_t length;
	int err = 0;

	text = ask(r->b, words, true, &length);
	rest = text;
	while (!err && rest && (line = strsep(&rest, "\n")))
		err = *line == MARK ? take_command(r, line) : take_directory(r->b, line);
	if (!text)
		return -ESRCH;
	free(text);
	return err;
}

static void close_reader(struct reader *r)
{
	for (uint32_t i = 0; i < r->outputs; i++)
		free(r->output[i]);
	free(r->output);
	free(r->id_of_path);
	if (r->commands)
		plan_names_free(r->commands);
	if (r->paths)
		plan_names_free(r->paths);
	if (r->rules)
		plan_names_free(r->rules);
	walk_close(&r->walk);
}

int build_ninja_read(struct build *b, struct workflow *w)
{
	struct reader r = { .b = b,
			    .commands = plan_names_new(),
			    .paths = plan_names_new(),
			    .rules = plan_names_new() };
	int err = walk_open(&r.walk), code;

	if (!err && (!r.commands || !r.paths || !r.rules))
		err = -ENOMEM;
	if (!err)
		err = read_outputs(&r);
	if (!err)
		err = read_graph(&r);
	if (!err)
		err = read_commands(&r);
	if (err == -ESRCH)
		code = EXIT_REFUSED;
	else if (err)
		code = fail(EXIT_REFUSED, "what ninja would run: %s", strerror(-err));
	else
		code = walk_finish(&r.walk, b, w);
	close_reader(&r);
	return code;
}
