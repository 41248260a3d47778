// SPDX-License-Identifier: GPL-2.0-or-later
#include "ehctl.h"

#include <stdio.h>
#include <string.h>

#include "client.h"

/* Whether `code` is a child of group `of`: it has one more number. */
static bool is_child(const char *code, const char *of)
{
	size_t n = strlen(of);

	return !strncmp(code, of, n) && code[n] == '.' && !strchr(code + n + 1, '.');
}

static const json_t *find(const json_t *list, const char *code)
{
	const json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item)
		if (!strcmp(text_of(item, "code"), code))
			return item;
	return NULL;
}

/* A node that is not up has no load, and its state is that of its agent. */
static void add_node(struct table *t, const json_t *node, unsigned int depth)
{
	const char *agent = text_of(node, "agent");

	table_depth(t, depth);
	table_row(t, text_of(node, "code"), text_of(node, "host"),
		  strcmp(agent, "up") ? agent : client_state(node), decimal_of(node, "load"),
		  decimal_of(node, "threshold"), decimal_of(node, "threshold_length"), "-", NULL);
}

static void add_group(struct table *t, const json_t *reply, const char *code, unsigned int depth)
{
	const json_t *groups = json_object_get(reply, "groups");
	const json_t *nodes = json_object_get(reply, "nodes"), *group = find(groups, code), *item;
	char last[128] = "", controller[128] = "no controller known";
	size_t i;

	if (group)
		snprintf(controller, sizeof(controller), "controller %s",
			 text_of(group, json_object_get(group, "host") ? "host" : "controller"));
	table_depth(t, depth);
	table_row(t, code, controller, text_of(group, "state"), decimal_of(group, "load"),
		  decimal_of(group, "threshold"), decimal_of(group, "threshold_length"),
		  integer_of(group, "nodes"), NULL);
	json_array_foreach((json_t *)nodes, i, item) {
		const char *node = text_of(item, "code");
		char child[128];

		if (is_child(node, code)) {
			add_node(t, item, depth + 1);
			continue;
		}
		/* nodes are sorted, so a group below begins with its first node */
		if (strncmp(node, code, strlen(code)) || node[strlen(code)] != '.')
			continue;
		snprintf(child, sizeof(child), "%.*s",
			 (int)(strlen(code) + 1 + strcspn(node + strlen(code) + 1, ".")), node);
		if (!strcmp(child, last))
			continue;
		snprintf(last, sizeof(last), "%s", child);
		add_group(t, reply, child, depth + 1);
	}
}

static int run(int argc, char **argv, bool json)
{
	struct table *t;
	json_t *reply;
	int code;

	if (argc > 1)
		return bad_argument(argv[1]);
	reply = client_ask(json_pack("{s:s}", "command", "tree"), &code);
	if (!reply)
		return code;
	if (json) {
		code = json_print(reply);
	} else {
		printf("epoch %s\n", integer_of(reply, "epoch"));
		t = table_new("CODE", "HOST", "STATE", "LOAD", "THRESH", "LENGTH", "NODES", NULL);
		table_column(t, 0, TABLE_TREE);
		table_column(t, 1, TABLE_CUTS);
		for (int column = 3; column < 7; column++)
			table_column(t, column, TABLE_RIGHT);
		add_group(t, reply, "0", 0);
		table_print(t);
		client_print_draining(reply);
	}
	json_decref(reply);
	return code;
}

const struct command tree_command = {
	.name = "tree",
	.arguments = "[--json]",
	.help = "show the hierarchy with loads and states\n\n"
		"The load, threshold and length of a group are the sums over those of its\n"
		"nodes that are up, as known to its controller, which counts these NODES.\n"
		"Lines are of ASCII where the locale is not UTF-8.",
	.run = run,
};
