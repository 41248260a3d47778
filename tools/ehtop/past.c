// SPDX-License-Identifier: GPL-2.0-or-later
#include "past.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/common.h"
#include "tools/ehctl/client.h"
#include "tools/ehctl/ended.h"

static bool past_failed(const json_t *task)
{
	const char *state = text_of(task, "state");

	return !strcmp(state, "lost") || !strcmp(state, "refused") ||
	       json_is_integer(json_object_get(task, "signal")) ||
	       json_integer_value(json_object_get(task, "exit"));
}

static int past_task(struct picture *p, const struct picture_look *look, const json_t *task)
{
	char start[ENDED_TEXT], end[ENDED_TEXT];
	struct line *line;

	line = ROW(p, look->columns, { ended_clock(text_of(task, "started"), start), 11 },
		   { text_of(task, "user"), 8 }, { client_host(task, "home"), 8 },
		   { client_host(task, "executor"), 8 }, { duration_of(task, "elapsed"), -7 },
		   { ended_how(task, end), 7 }, { text_of(task, "reason"), 13 },
		   { text_of(task, "command"), 0 });
	if (!line)
		return -ENOMEM;
	line->about = ABOUT_TASK;
	line->tone = past_failed(task) ? TONE_FAILED : TONE_PLAIN;
	snprintf(line->id, sizeof(line->id), "%s", text_of(task, "id"));
	snprintf(line->name, sizeof(line->name), "%s (%.48s)", line->id, text_of(task, "command"));
	return 0;
}

int past_make(struct picture *p, const struct picture_look *look)
{
	json_t *tasks =
		order_list(json_object_get(look->past, "tasks"), look->order, look->filter ?: "");
	struct line *line;
	int err = tasks ? 0 : -ENOMEM;

	line = ROW(p, look->columns, { "START", 11 }, { "USER", 8 }, { "HOME", 8 },
		   { "EXECUTOR", 8 }, { "ELAPSED", -7 }, { "EXIT", 7 }, { "REASON", 13 },
		   { "COMMAND", 0 });
	if (!line_heading(line))
		err = -ENOMEM;
	/* ehctl has the newest last */
	for (size_t i = json_array_size(tasks); !err && i--;)
		err = past_task(
			p, look,
			json_array_get(tasks, look->order ? json_array_size(tasks) - 1 - i : i));
	json_decref(tasks);
	return err;
}
