// SPDX-License-Identifier: GPL-2.0-or-later
/* The option `log`: a level for all messages, and levels for areas. */

#include "base/log_level.h"

#include <stdio.h>
#include <string.h>

#define LOG_WORD 64
#define LOG_ROOT "agent/"
#define LOG_SPACE " ,"

static const char *const log_names[] = { "error", "warning", "info", "debug", NULL };

/* Documented in ehagent.conf(5). */
const struct log_area log_areas[] = {
	{ "base", { "base/", "main", "wiring", "confine" } },
	{ "net", { "net/" } },
	{ "job", { "job/" } },
	{ "node", { "node/" } },
	{ "cluster", { "cluster/" } },
	{ "executor", { "executor/" } },
	{ "home", { "home/" } },
	{ "ctl", { "ctl/" } },

	{ "kernel", { "node/kernel", "node/netlink" } },
	{ "load", { "node/node", "node/procload", "node/local_task", "cluster/report" } },
	{ "placement", { "home/placement", "home/record", "cluster/ask", "executor/reserve" } },
	{ "roster", { "cluster/own_roster", "cluster/join", "cluster/leave", "cluster/store" } },
	{ "route", { "job/route", "home/away", "executor/guest" } },
	{ "view", { "executor/view", "home/serve" } },
	{ 0 },
};

static int log_level_find(const char *name, size_t length)
{
	for (int i = 0; log_names[i]; i++)
		if (strlen(log_names[i]) == length && !memcmp(log_names[i], name, length))
			return i;
	return -1;
}

static const struct log_area *log_area_find(const char *name)
{
	for (const struct log_area *a = log_areas; a->name; a++)
		if (!strcmp(a->name, name))
			return a;
	return NULL;
}

static bool log_area_unknown(const char *name, char *why, size_t size)
{
	int at = snprintf(why, size, "\"%s\" is not an area; areas are", name);

	for (const struct log_area *a = log_areas; a->name && at >= 0 && (size_t)at < size; a++)
		at += snprintf(why + at, size - at, "%s %s", a == log_areas ? "" : ",", a->name);
	return false;
}

static bool log_word_parse(struct log_levels *levels, const char *word, char *why, size_t size)
{
	size_t length = strcspn(word, ":");
	int level = log_level_find(word, length);
	const struct log_area *area;

	if (level < 0) {
		snprintf(why, size, "\"%.*s\" is not error, warning, info or debug", (int)length,
			 word);
		return false;
	}
	if (!word[length]) {
		levels->all = level;
		return true;
	}
	area = log_area_find(word + length + 1);
	if (!area)
		return log_area_unknown(word + length + 1, why, size);
	if (levels->nwords == LOG_WORDS_MAX) {
		snprintf(why, size, "more than %d areas", LOG_WORDS_MAX);
		return false;
	}
	levels->words[levels->nwords].level = level;
	levels->words[levels->nwords++].area = area;
	return true;
}

bool log_levels_parse(const char *text, struct log_levels *levels, char *why, size_t size)
{
	char word[LOG_WORD];

	*levels = (struct log_levels){ .all = LOG_LEVEL_INFO };
	if (!text[strspn(text, LOG_SPACE)]) {
		snprintf(why, size, "\"\" is not error, warning, info or debug");
		return false;
	}
	for (text += strspn(text, LOG_SPACE); *text; text += strspn(text, LOG_SPACE)) {
		size_t length = strcspn(text, LOG_SPACE);

		/* a longer word is cut, and then unknown */
		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		if (!log_word_parse(levels, word, why, size))
			return false;
		text += length;
	}
	levels->most = levels->all;
	for (size_t i = 0; i < levels->nwords; i++)
		if (levels->words[i].level > levels->most)
			levels->most = levels->words[i].level;
	return true;
}

static bool log_area_has(const struct log_area *area, const char *file)
{
	for (size_t i = 0; i < LOG_AREA_FILES && area->files[i]; i++)
		if (!strncmp(file, area->files[i], strlen(area->files[i])))
			return true;
	return false;
}

enum log_level log_levels_of(const struct log_levels *levels, const char *file)
{
	const char *below = strstr(file, LOG_ROOT);

	if (below)
		for (size_t i = levels->nwords; i-- > 0;)
			if (log_area_has(levels->words[i].area, below + strlen(LOG_ROOT)))
				return levels->words[i].level;
	return levels->all;
}
