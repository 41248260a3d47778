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

static void print_load(const json_t *of)
{
	if (json_is_number(json_object_get(of, "load")))
		printf("load %s of %s±%s, ", decimal_of(of, "load"), decimal_of(of, "threshold"),
		       decimal_of(of, "threshold_length"));
	printf("%s", client_state(of));
}

static void print_group(const json_t *reply, const char *code, unsigned int depth)
{
	const json_t *groups = json_object_get(reply, "groups");
	const json_t *nodes = json_object_get(reply, "nodes"), *group = find(groups, code), *item;
	char last[128] = "";
	size_t i;

	printf("%*s%s  ", (int)depth * 3, "", code);
	if (group) {
		print_load(group);
		printf(", %s nodes, controller %s\n", integer_of(group, "nodes"),
		       text_of(group, json_object_get(group, "host") ? "host" : "controller"));
	} else {
		printf("no controller known\n");
	}
	json_array_foreach((json_t *)nodes, i, item) {
		const char *node = text_of(item, "code");
		char child[128];

		if (is_child(node, code)) {
			printf("%*s%s  %s  ", (int)depth * 3 + 3, "", node, text_of(item, "host"));
			print_load(item);
			printf(", agent %s\n", text_of(item, "agent"));
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
		print_group(reply, child, depth + 1);
	}
}

static int run(int argc, char **argv, bool json)
{
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
		print_group(reply, "0", 0);
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
		"nodes that are up, as known to its controller.",
	.run = run,
};
