// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ssh's options. Those about the connection have no meaning here, and are ignored: agents are connected
 * already. Those that promise something that ehrsh does not do are refused.
 */
#include "ehrsh.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "wire/view.h"

/* All of OpenSSH's. */
#define OPTIONS_ALL "+:1246AB:CD:E:F:GI:J:KL:MNO:P:Q:R:S:TVW:XYab:c:e:fghi:kl:m:no:p:qstvw:xy"

static const char OPTIONS_PORTS[] = "ports are not forwarded";
static const char OPTIONS_WINDOWS[] = "windows and keys are not forwarded";
static const char OPTIONS_MASTER[] = "there is no connection of its own to be controlled";
static const char OPTIONS_BACKGROUND[] = "it does not go into the background: use `ehrsh … &`";
static const char OPTIONS_NO_COMMAND[] = "it is for running commands only";

static const struct {
	char letter;
	const char *why;
} options_refused[] = {
	{ 'A', OPTIONS_WINDOWS },    { 'X', OPTIONS_WINDOWS },	  { 'Y', OPTIONS_WINDOWS },
	{ 'D', OPTIONS_PORTS },	     { 'L', OPTIONS_PORTS },	  { 'R', OPTIONS_PORTS },
	{ 'W', OPTIONS_PORTS },	     { 'w', OPTIONS_PORTS },	  { 'f', OPTIONS_BACKGROUND },
	{ 'N', OPTIONS_NO_COMMAND }, { 's', OPTIONS_NO_COMMAND }, { 'O', OPTIONS_MASTER },
	{ 'G', OPTIONS_MASTER },     { 'Q', OPTIONS_MASTER },
};

enum keyword {
	KEYWORD_USER,
	KEYWORD_TTY,
	KEYWORD_NULL,
	KEYWORD_SEND,
	KEYWORD_SET,
	KEYWORD_VIEW,
	KEYWORD_REFUSED, /* unless it is "no", "none" or "default" */
};

static const struct {
	const char *name;
	enum keyword keyword;
	const char *why;
} options_keywords[] = {
	{ "User", KEYWORD_USER, NULL },
	{ "RequestTTY", KEYWORD_TTY, NULL },
	{ "StdinNull", KEYWORD_NULL, NULL },
	{ "SendEnv", KEYWORD_SEND, NULL },
	{ "SetEnv", KEYWORD_SET, NULL },
	{ "View", KEYWORD_VIEW, NULL }, /* ours */
	{ "ForkAfterAuthentication", KEYWORD_REFUSED, OPTIONS_BACKGROUND },
	{ "RemoteCommand", KEYWORD_REFUSED, "give the command as arguments" },
	{ "SessionType", KEYWORD_REFUSED, OPTIONS_NO_COMMAND },
	{ "ForwardAgent", KEYWORD_REFUSED, OPTIONS_WINDOWS },
	{ "ForwardX11", KEYWORD_REFUSED, OPTIONS_WINDOWS },
	{ "DynamicForward", KEYWORD_REFUSED, OPTIONS_PORTS },
	{ "LocalForward", KEYWORD_REFUSED, OPTIONS_PORTS },
	{ "RemoteForward", KEYWORD_REFUSED, OPTIONS_PORTS },
	{ "Tunnel", KEYWORD_REFUSED, OPTIONS_PORTS },
};

/* Splits at blanks, which double quotes protect. 0, or EHRSH_FAILED after a message. */
static int options_list(const char *keyword, char *text, const char **list, size_t *n)
{
	for (;;) {
		char *to;
		bool quoted = false;

		text += strspn(text, " \t");
		if (!*text)
			return 0;
		if (*n == EHRSH_LIST)
			return ehrsh_fail("-o %s: more than %d words", keyword, EHRSH_LIST);
		list[(*n)++] = to = text;
		for (; *text && (quoted || !strchr(" \t", *text)); text++) {
			if (*text == '"')
				quoted = !quoted;
			else
				*to++ = *text;
		}
		if (*text)
			text++;
		*to = '\0';
	}
}

static int options_tty(struct wish *wish, const char *value)
{
	static const struct {
		const char *word;
		int terminal;
	} words[] = { { "auto", 0 }, { "no", -1 }, { "yes", 1 }, { "force", 2 } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcasecmp(value, words[i].word)) {
			wish->terminal = words[i].terminal;
			return 0;
		}
	return ehrsh_fail("-o RequestTTY=%s: must be auto, no, yes or force", value);
}

static int options_set(struct wish *wish, char *value)
{
	const size_t before = wish->nset;
	int err = options_list("SetEnv", value, wish->set, &wish->nset);

	for (size_t i = before; !err && i < wish->nset; i++)
		if (!strchr(wish->set[i], '=') || wish->set[i][0] == '=')
			err = ehrsh_fail("-o SetEnv: %s: not NAME=VALUE", wish->set[i]);
	return err;
}

static int options_keyword(struct wish *wish, size_t which, char *value)
{
	const char *name = options_keywords[which].name;

	switch (options_keywords[which].keyword) {
	case KEYWORD_USER:
		wish->user = value;
		return 0;
	case KEYWORD_TTY:
		return options_tty(wish, value);
	case KEYWORD_NULL:
		wish->null = !strcasecmp(value, "yes");
		return 0;
	case KEYWORD_SEND:
		return options_list(name, value, wish->send, &wish->nsend);
	case KEYWORD_SET:
		return options_set(wish, value);
	case KEYWORD_VIEW:
		wish->view = value;
		if (view_parse(value) != VIEW_UNSET)
			return 0;
		return ehrsh_fail("-o View=%s: must be shared, home or auto", value);
	case KEYWORD_REFUSED:
		if (!strcasecmp(value, "no") || !strcasecmp(value, "none") ||
		    !strcasecmp(value, "default"))
			return 0;
		return ehrsh_fail("-o %s=%s: %s", name, value, options_keywords[which].why);
	}
	return 0;
}

/* "Keyword=value" or "Keyword value". The words of the text are used, so it stays. */
static int options_o(struct wish *wish, const char *argument)
{
	char *text = strdup(argument), *value;
	size_t length;

	if (!text)
		return ehrsh_fail("out of memory");
	value = text + strspn(text, " \t");
	length = strcspn(value, " \t=");
	for (size_t i = 0; i < sizeof(options_keywords) / sizeof(*options_keywords); i++) {
		if (strncasecmp(value, options_keywords[i].name, length) ||
		    options_keywords[i].name[length])
			continue;
		value += length;
		value += strspn(value, " \t");
		value += *value == '=';
		value += strspn(value, " \t");
		return options_keyword(wish, i, value);
	}
	/* About the connection. */
	free(text);
	return 0;
}

static int options_letter(struct wish *wish, int letter)
{
	for (size_t i = 0; i < sizeof(options_refused) / sizeof(*options_refused); i++)
		if (options_refused[i].letter == letter)
			return ehrsh_fail("-%c: %s", letter, options_refused[i].why);
	switch (letter) {
	case 'l':
		wish->user = optarg;
		return 0;
	case 'n':
		wish->null = true;
		return 0;
	case 'o':
		return options_o(wish, optarg);
	case 'q':
		wish->quiet = true;
		return 0;
	case 't':
		wish->terminal = wish->terminal > 0 ? 2 : 1;
		return 0;
	case 'T':
		wish->terminal = -1;
		return 0;
	case 'V':
		wish->version = true;
		return 0;
	case 'h':
		wish->help = true;
		return 0;
	case ':':
		return ehrsh_fail("-%c: an argument is required", optopt);
	case '?':
		return ehrsh_fail("-%c: no such option of ssh", optopt);
	default:
		return 0;
	}
}

int options_take(struct wish *wish, int argc, char **argv)
{
	int letter;

	/* glibc: from the beginning again */
	optind = 0;
	opterr = 0;
	while ((letter = getopt(argc, argv, OPTIONS_ALL)) != -1) {
		if (options_letter(wish, letter))
			return -1;
		if (wish->version || wish->help)
			break;
	}
	return optind;
}
