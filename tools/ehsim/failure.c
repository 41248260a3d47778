// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value.h"

static const struct {
	const char *word;
	enum failure_kind kind;
	bool code, ends; /* a code is needed; two times are */
	int level; /* of the code: 0 a node, 1 a group, -1 either */
} kinds[] = {
	{ "node", FAILURE_NODE, false, false, 0 },
	{ "top", FAILURE_TOP, false, false, -1 },
	{ "controller", FAILURE_CONTROLLER, true, false, 1 },
	{ "group", FAILURE_GROUP, true, false, 1 },
	{ "half", FAILURE_HALF, true, false, 1 },
	{ "cut", FAILURE_CUT, true, true, -1 },
	{ "back", FAILURE_BACK, false, false, -1 },
};

/* A count of arrivals, with decimals; moves *text behind it. */
static int parse_time(const char **text, double *out)
{
	/* strtod would take the first dot of ".." too, and more than digits */
	size_t length = strspn(*text, "0123456789");
	char number[32], *end;

	if ((*text)[length] == '.' && (*text)[length + 1] != '.')
		length += 1 + strspn(*text + length + 1, "0123456789");
	if (!length || **text == '.' || length >= sizeof(number))
		return -EINVAL;
	memcpy(number, *text, length);
	number[length] = '\0';
	*out = strtod(number, &end);
	*text += length;
	return *end || *out > 1e9 ? -EINVAL : 0;
}

const char *failure_parse(const char *text, const struct eh_topology *topology, struct failure *out)
{
	const char *at = strchr(text, '@'), *space = strchr(text, ' ');
	char code[EH_CODE_TEXT];
	size_t word, i;

	*out = (struct failure){ .any = true };
	if (!at)
		return "@T is missing, the time in arrivals";
	word = (size_t)((space && space < at ? space : at) - text);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].word) == word && !strncmp(kinds[i].word, text, word))
			break;
	if (i == sizeof(kinds) / sizeof(kinds[0]))
		return "node, top, controller, group, half, cut or back is needed";
	out->kind = kinds[i].kind;
	if (text[word] == ' ') {
		size_t length = (size_t)(at - text) - word - 1;

		if (out->kind == FAILURE_TOP || length >= sizeof(code))
			return "not understood";
		memcpy(code, text + word + 1, length);
		code[length] = '\0';
		/* a number is a node's; for a group even "0", the code of the top */
		if ((kinds[i].level > 0 || value_node(topology, code, &out->code.index)) &&
		    eh_code_parse(topology, code, &out->code))
			return "no such code in this topology";
		if ((kinds[i].level == 0) != (out->code.level == 0) && kinds[i].level >= 0)
			return kinds[i].level ? "the code of a group is needed"
					      : "the code of a node is needed";
		out->any = false;
	} else if (kinds[i].code) {
		return "a code is needed, as in `group 0.3@100`";
	}
	at++;
	if (parse_time(&at, &out->at))
		return "T is a number of arrivals";
	if (kinds[i].ends) {
		if (strncmp(at, "..", 2))
			return "two times are needed, as in `cut 0.1@100..200`";
		at += 2;
		if (parse_time(&at, &out->until) || out->until <= out->at)
			return "the second time is a number of arrivals, after the first";
	}
	return *at ? "not understood" : NULL;
}
