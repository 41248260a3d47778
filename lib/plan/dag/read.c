// SPDX-License-Identifier: GPL-2.0-or-later
#include "read.h"

#include <errno.h>
#include <string.h>

/* Length of the UTF-8 sequence at `s`, or 0 (RFC 3629). `s` ends with a null byte. */
static unsigned int sequence(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] < 0xe0)
		return s[1] >> 6 == 2 ? 2 : 0;
	if (s[0] >= 0xe0 && s[0] < 0xf0) {
		if (s[1] >> 6 != 2 || s[2] >> 6 != 2 || (s[0] == 0xe0 && s[1] < 0xa0) ||
		    (s[0] == 0xed && s[1] >= 0xa0))
			return 0;
		return 3;
	}
	if (s[0] >= 0xf0 && s[0] < 0xf5) {
		if (s[1] >> 6 != 2 || s[2] >> 6 != 2 || s[3] >> 6 != 2 ||
		    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
			return 0;
		return 4;
	}
	return 0;
}

static int check_text(const char *text, size_t length, struct plan_refusal *refusal)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + length;
	size_t line = 1;

	while (at < end) {
		unsigned int n = sequence(at);

		if (!n)
			return plan_refuse(refusal, line, NULL, "not valid UTF-8");
		if (*at < '\t' || (*at > '\r' && *at < ' ') || *at == 127)
			return plan_refuse(refusal, line, NULL, "a control character");
		line += *at == '\n';
		at += n;
	}
	return 0;
}

/* Skips blanks and comments. */
static const char *beginning(const char *text)
{
	for (;;) {
		if (*text == ' ' || (*text >= '\t' && *text <= '\r'))
			text++;
		else if (*text == '#' || (text[0] == '/' && text[1] == '/'))
			text += strcspn(text, "\n");
		else if (text[0] == '/' && text[1] == '*' && strstr(text + 2, "*/"))
			text = strstr(text + 2, "*/") + 2;
		else
			return text;
	}
}

int dag_read(const char *text, size_t length, struct dag_draft *draft, struct plan_refusal *refusal)
{
	const char *first = beginning(text);
	int err;

	if (*first == '{')
		return dag_read_json(text, length, draft, refusal);
	if (*first == '<')
		return dag_read_dax(text, length, draft, refusal);
	err = check_text(text, length, refusal);
	if (err)
		return err;
	if (*first >= '0' && *first <= '9')
		return dag_read_stg(text, length, draft, refusal);
	if (!strncasecmp(first, "digraph", 7) || !strncasecmp(first, "strict", 6) ||
	    !strncasecmp(first, "graph", 5))
		return dag_read_dot(text, length, draft, refusal);
	if (!*first)
		return plan_refuse(refusal, 1, NULL, "the input is empty");
	return plan_refuse(refusal, 1, NULL,
			   "no task graph of a known format: JSON, WfFormat, DAX, STG or DOT");
}
