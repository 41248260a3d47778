// SPDX-License-Identifier: GPL-2.0-or-later
#include "failure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value.h"

struct kind {
	const char *word;
	enum failure_kind kind;
	bool code; /* a code is needed */
	bool ends; /* two times are needed */
	int level; /* of the code: 0 a node, 1 a group, -1 either */
};

static const struct kind failure_kinds[] = {
	{ "node", FAILURE_NODE, false, false, 0 },
	{ "top", FAILURE_TOP, false, false, -1 },
	{ "controller", FAILURE_CONTROLLER, true, false, 1 },
	{ "group", FAILURE_GROUP, true, false, 1 },
	{ "half", FAILURE_HALF, true, false, 1 },
	{ "cut", FAILURE_CUT, true, true, -1 },
	{ "back", FAILURE_BACK, false, false, -1 },
};

/* A number of arrivals, with decimals; moves *text to its end. */
static int failure_time(const char **text, double *out)
{
	/* strtod() would also take the first dot of "..", exponents and the like */
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

static const struct kind *failure_find(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(failure_kinds) / sizeof(failure_kinds[0]); i++)
		if (strlen(failure_kinds[i].word) == length &&
		    !strncmp(failure_kinds[i].word, word, length))
			return &failure_kinds[i];
	return NULL;
}

static const char *failure_code(const struct kind *kind, const char *text, size_t length,
				const struct eh_topology *topology, struct failure *out)
{
	char code[EH_CODE_TEXT];
	bool node;

	if (kind->kind == FAILURE_TOP || length >= sizeof(code))
		return "not understood";
	memcpy(code, text, length);
	code[length] = '\0';
	/* a plain number is the index of a node, but for a group "0" is the code of the top */
	if ((kind->level > 0 || value_node(topology, code, &out->code.index)) &&
	    eh_code_parse(topology, code, &out->code))
		return "no such code in this topology";
	node = out->code.level == 0;
	if (kind->level == 0 && !node)
		return "the code of a node is needed";
	if (kind->level > 0 && node)
		return "the code of a group is needed";
	out->any = false;
	return NULL;
}

/* "T", or "T..T"; to the end of the text. */
static const char *failure_times(const struct kind *kind, const char *text, struct failure *out)
{
	if (failure_time(&text, &out->at))
		return "T is a number of arrivals";
	if (kind->ends) {
		if (strncmp(text, "..", 2))
			return "two times are needed, as in `cut 0.1@100..200`";
		text += 2;
		if (failure_time(&text, &out->until) || out->until <= out->at)
			return "the second time is a number of arrivals, after the first";
	}
	return *text ? "not understood" : NULL;
}

const char *failure_parse(const char *text, const struct eh_topology *topology, struct failure *out)
{
	size_t word = strcspn(text, " @");
	const char *at = strchr(text, '@'), *wrong = NULL;
	const struct kind *kind;

	*out = (struct failure){ .any = true };
	if (!at)
		return "@T is missing, the time in arrivals";
	kind = failure_find(text, word);
	if (!kind)
		return "node, top, controller, group, half, cut or back is needed";
	out->kind = kind->kind;
	if (text[word] == ' ')
		wrong = failure_code(kind, text + word + 1, (size_t)(at - text) - word - 1,
				     topology, out);
	else if (kind->code)
		wrong = "a code is needed, as in `group 0.3@100`";
	return wrong ? wrong : failure_times(kind, at + 1, out);
}
