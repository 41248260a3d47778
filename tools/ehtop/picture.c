// SPDX-License-Identifier: GPL-2.0-or-later
#include "picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fit.h"
#include "past.h"
#include "tools/common/common.h"
#include "tools/ehctl/client.h"

#define PICTURE_BAR 10
#define PICTURE_HOST 20
#define PICTURE_REASONS 5

static bool node_drains(const json_t *node)
{
	return json_is_true(json_object_get(node, "draining"));
}

/* Host, nodes and the time of day. */
static int picture_head(struct picture *p, const struct picture_look *look)
{
	size_t up = 0, draining = 0, all = 0, i;
	const json_t *node;
	char text[256], clock[16] = "";
	/* those that do not say what tasks they have */
	const size_t silent = json_array_size(json_object_get(look->tasks, "silent"));
	const time_t now = time(NULL);
	struct tm tm;
	struct line *line;

	json_array_foreach(json_object_get(look->status, "nodes"), i, node) {
		all++;
		up += client_is_up(node);
		draining += node_drains(node);
	}
	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s: ", client_host(look->status, "self"));
	if (look->silence >= PICTURE_SILENCE_S)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "no answer for %.0f s, before that ", look->silence);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%zu of %zu nodes up", up, all);
	if (draining)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %zu draining",
			 draining);
	if (silent)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %zu silent", silent);
	if (look->order)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", by %s",
			 order_name(look->order));
	if (look->filter && *look->filter)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", only \"%.40s\"",
			 look->filter);
	line = ROW(p, look->columns, { text, 0 }, { clock, -8 });
	if (!line_heading(line))
		return -ENOMEM;
	if (look->silence >= PICTURE_SILENCE_S)
		line->tone = TONE_FAILED;
	return 0;
}

static enum line_tone node_tone(const json_t *node)
{
	const char *state = text_of(node, "state");

	if (!client_is_up(node))
		return TONE_DOWN;
	if (node_drains(node))
		return TONE_DRAINING;
	return !strcmp(state, "sender")	    ? TONE_SENDER
	       : !strcmp(state, "receiver") ? TONE_RECEIVER
					    : TONE_PLAIN;
}

/* "kernel upgrade (ann)" */
static void node_note(const json_t *node, char *out, size_t size)
{
	const json_t *drain = json_object_get(node, "drain");
	const char *why = json_string_value(json_object_get(drain, "reason"));
	const char *who = json_string_value(json_object_get(drain, "by"));

	*out = '\0';
	if (!node_drains(node))
		return;
	snprintf(out, size, "%s%s%s%s%s", why ? why : "", why && who ? " " : "", who ? "(" : "",
		 who ? who : "", who ? ")" : "");
}

/* "41%", or "-" */
static void node_part(const json_t *node, const char *member, char out[8])
{
	const json_t *part = json_object_get(node, member);
	const double is = json_number_value(part);

	if (json_is_number(part) && is >= 0 && is <= 1)
		snprintf(out, 8, "%.0f%%", 100 * is);
	else
		strcpy(out, "-");
}

/* As wide as the longest needs, within bounds. */
static int columns_for(const json_t *list, const char *member, int least, int most)
{
	const json_t *item;
	int columns = least;
	size_t i;

	json_array_foreach((json_t *)list, i, item) {
		const int n = (int)fit_width(client_host(item, member));

		columns = n > columns ? n : columns;
	}
	return columns < most ? columns : most;
}

static int picture_node(struct picture *p, const struct picture_look *look, const json_t *node,
			int hosts)
{
	const double load = json_number_value(json_object_get(node, "load"));
	const double threshold = json_number_value(json_object_get(node, "threshold"));
	const json_t *tasks = client_is_up(node) ? json_object_get(node, "tasks") : NULL;
	const bool leads = json_array_size(json_object_get(node, "controller_of"));
	char bar[4 * PICTURE_BAR + 1] = "", note[256], against[32] = "", cpu[8] = "",
				   memory[8] = "";
	struct line *line;

	node_note(node, note, sizeof(note));
	if (client_is_up(node)) {
		/* The threshold is in the middle of the bar. */
		fit_bar(bar, 0, sizeof(bar), load, 2 * threshold, PICTURE_BAR);
		snprintf(against, sizeof(against), "%.1f/%.1f", load, threshold);
		node_part(node, "utilization", cpu);
		node_part(node, "memory", memory);
	}
	line = ROW(p, look->columns, { client_host(node, "node"), hosts }, { leads ? "*" : "", 1 },
		   { client_is_up(node) ? client_state(node) : "down", 8 }, { bar, PICTURE_BAR },
		   { against, -9 }, { integer_of(tasks, "local"), -5 },
		   { integer_of(tasks, "guest"), -6 }, { integer_of(tasks, "away"), -4 },
		   { cpu, -4 }, { memory, -4 }, { note, 0 });
	if (!line)
		return -ENOMEM;
	line->about = ABOUT_NODE;
	line->tone = node_tone(node);
	line->draining = node_drains(node);
	snprintf(line->id, sizeof(line->id), "%s", text_of(node, "code"));
	snprintf(line->name, sizeof(line->name), "%s", client_host(node, "node"));
	return 0;
}

static int picture_nodes(struct picture *p, const struct picture_look *look)
{
	const json_t *all = json_object_get(look->status, "nodes"), *node;
	json_t *nodes = order_list(all, look->order, look->filter ?: "");
	const int hosts = columns_for(all, "node", 6, PICTURE_HOST);
	struct line *line;
	int err = nodes ? 0 : -ENOMEM;
	size_t i;

	line = ROW(p, look->columns, { "HOST", hosts }, { "", 1 }, { "STATE", 8 },
		   { "LOAD", PICTURE_BAR }, { "/THRESH", -9 }, { "LOCAL", -5 }, { "GUESTS", -6 },
		   { "AWAY", -4 }, { "CPU", -4 }, { "MEM", -4 }, { "", 0 });
	if (!line_heading(line))
		err = -ENOMEM;
	json_array_foreach(nodes, i, node)
		err = err ? err : picture_node(p, look, node, hosts);
	json_decref(nodes);
	return err;
}

/* Of one name, home and user. */
struct session {
	const json_t *first; /* of its tasks */
	unsigned int here, away;
	double elapsed; /* of the oldest task that is left */
};

static bool session_is(const struct session *s, const json_t *task)
{
	char own[SESSION_NAME], its[SESSION_NAME];

	return !strcmp(client_session(s->first, own), client_session(task, its)) &&
	       !strcmp(text_of(s->first, "home"), text_of(task, "home")) &&
	       !strcmp(text_of(s->first, "user"), text_of(task, "user"));
}

static int picture_session(struct picture *p, const struct picture_look *look,
			   const struct session *s)
{
	char name[SESSION_NAME], here[16], away[16];
	json_t *oldest = json_pack("{s:f}", "elapsed", s->elapsed);
	struct line *line;

	snprintf(here, sizeof(here), "%u", s->here);
	snprintf(away, sizeof(away), "%u", s->away);
	line = ROW(p, look->columns, { client_session(s->first, name), 24 },
		   { text_of(s->first, "user"), 8 }, { client_host(s->first, "home"), 10 },
		   { here, -5 }, { away, -5 }, { duration_of(oldest, "elapsed"), -8 }, { "", 0 });
	json_decref(oldest);
	return line ? 0 : -ENOMEM;
}

static int picture_sessions(struct picture *p, const struct picture_look *look)
{
	const json_t *tasks = json_object_get(look->tasks, "tasks"), *task;
	struct session *sessions = calloc(json_array_size(tasks) + 1, sizeof(*sessions)), *s;
	struct line *line;
	size_t i, n = 0;
	int err = 0;

	if (!sessions)
		return -ENOMEM;
	json_array_foreach(tasks, i, task) {
		const double elapsed = json_number_value(json_object_get(task, "elapsed"));

		if (!json_string_length(json_object_get(task, "session")))
			continue;
		for (s = sessions; s < sessions + n && !session_is(s, task); s++)
			;
		if (s == sessions + n)
			sessions[n++].first = task;
		if (strcmp(text_of(task, "home"), text_of(task, "executor")) != 0)
			s->away++;
		else
			s->here++;
		s->elapsed = elapsed > s->elapsed ? elapsed : s->elapsed;
	}
	if (!n)
		goto free_sessions;
	line = line_new(p) ? ROW(p, look->columns, { "SESSION", 24 }, { "USER", 8 }, { "HOME", 10 },
				 { "HERE", -5 }, { "AWAY", -5 }, { "ELAPSED", -8 }, { "", 0 })
			   : NULL;
	err = line_heading(line) ? 0 : -ENOMEM;
	for (s = sessions; !err && s < sessions + n; s++)
		err = picture_session(p, look, s);
free_sessions:
	free(sessions);
	return err;
}

/* Wide enough for each: an id is typed again. */
static int task_id_columns(const json_t *tasks)
{
	const json_t *task;
	int columns = 8;
	size_t i;

	json_array_foreach(tasks, i, task) {
		const int id = strlen(id_of(task));

		if (id > columns && id < (int)sizeof(((struct line *)0)->id))
			columns = id;
	}
	return columns;
}

static int picture_task(struct picture *p, const struct picture_look *look, const json_t *task,
			int ids)
{
	const char *id = id_of(task);
	struct line *line =
		ROW(p, look->columns, { id, ids }, { text_of(task, "user"), 8 },
		    { client_host(task, "home"), 8 }, { client_host(task, "executor"), 8 },
		    { text_of(task, "state"), 8 }, { duration_of(task, "elapsed"), -7 },
		    { duration_of(task, "cpu"), -7 }, { size_of(task, "memory"), -5 },
		    { text_of(task, "command"), 0 });

	if (!line)
		return -ENOMEM;
	line->about = ABOUT_TASK;
	snprintf(line->id, sizeof(line->id), "%s", id);
	snprintf(line->name, sizeof(line->name), "%s (%.48s)", id, text_of(task, "command"));
	return 0;
}

static int picture_tasks(struct picture *p, const struct picture_look *look)
{
	json_t *tasks = order_list(json_object_get(look->tasks, "tasks"), look->order,
				   look->filter ?: ""),
	       *task;
	const int ids = task_id_columns(tasks);
	struct line *line;
	int err = tasks && line_new(p) ? 0 : -ENOMEM;
	size_t i;

	line = ROW(p, look->columns, { "TASK", ids }, { "USER", 8 }, { "HOME", 8 },
		   { "EXECUTOR", 8 }, { "STATE", 8 }, { "ELAPSED", -7 }, { "CPU", -7 },
		   { "MEM", -5 }, { "COMMAND", 0 });
	if (!line_heading(line))
		err = -ENOMEM;
	json_array_foreach(tasks, i, task)
		err = err ? err : picture_task(p, look, task, ids);
	if (!err && json_is_true(json_object_get(look->tasks, "more")))
		err = ROW(p, look->columns, { "there are more", 0 }) ? 0 : -ENOMEM;
	json_decref(tasks);
	return err;
}

static json_int_t reason_count(const json_t *status, const char *reason)
{
	const json_t *r;
	size_t i;

	json_array_foreach(json_object_get(status, "reasons"), i, r)
		if (!strcmp(text_of(r, "reason"), reason))
			return json_integer_value(json_object_get(r, "tasks"));
	return 0;
}

struct count {
	const char *reason;
	json_int_t tasks;
};

static int count_compare(const void *a, const void *b)
{
	const struct count *x = a, *y = b;

	return x->tasks < y->tasks ? 1 : x->tasks > y->tasks ? -1 : strcmp(x->reason, y->reason);
}

/* "execs here: 12.0/s: not-sender 71%, files-differ 2%", or how many there were since the agent started. */
static int picture_reasons(struct picture *p, const struct picture_look *look)
{
	const json_t *reasons = json_object_get(look->status, "reasons"), *r;
	struct count *counts = calloc(json_array_size(reasons) + 1, sizeof(*counts));
	char text[512];
	json_int_t all = 0;
	size_t i, n = 0, used;
	struct line *line;

	if (!counts)
		return -ENOMEM;
	json_array_foreach(reasons, i, r) {
		counts[n].reason = text_of(r, "reason");
		counts[n].tasks = json_integer_value(json_object_get(r, "tasks"));
		/* a new agent counts from 0 */
		if (look->before && counts[n].tasks >= reason_count(look->before, counts[n].reason))
			counts[n].tasks -= reason_count(look->before, counts[n].reason);
		all += counts[n].tasks;
		n++;
	}
	qsort(counts, n, sizeof(*counts), count_compare);
	if (look->before && look->seconds > 0)
		used = snprintf(text, sizeof(text), "execs here: %.1f/s", all / look->seconds);
	else
		used = snprintf(text, sizeof(text), "execs here: %" JSON_INTEGER_FORMAT, all);
	for (i = 0; i < n && i < PICTURE_REASONS && counts[i].tasks; i++)
		used += snprintf(text + used, sizeof(text) - used, "%s %.32s %.0f%%", i ? "," : ":",
				 counts[i].reason, 100.0 * counts[i].tasks / all);
	free(counts);
	if (!line_new(p))
		return -ENOMEM;
	line = ROW(p, look->columns, { text, 0 });
	return line ? 0 : -ENOMEM;
}

/* A list without lines may have none, or none with the filter in it. */
static int picture_found(struct picture *p, const struct picture_look *look)
{
	char text[96];

	if (!look->filter || !*look->filter)
		return 0;
	for (size_t i = 0; i < p->n; i++)
		if (p->lines[i].about)
			return 0;
	snprintf(text, sizeof(text), "nothing here has \"%.40s\" in it", look->filter);
	return line_new(p) && ROW(p, look->columns, { text, 0 }) ? 0 : -ENOMEM;
}

int picture_make(struct picture *p, const struct picture_look *look)
{
	int err;

	p->n = 0;
	err = picture_head(p, look);
	if (look->part == PART_PAST) {
		err = err ? err : past_make(p, look);
		return err ? err : picture_found(p, look);
	}
	if (look->part != PART_TASKS)
		err = err ? err : picture_nodes(p, look);
	if (look->part == PART_ALL)
		err = err ? err : picture_sessions(p, look);
	if (look->part != PART_NODES)
		err = err ? err : picture_tasks(p, look);
	err = err ? err : picture_found(p, look);
	return err ? err : picture_reasons(p, look);
}

void picture_free(struct picture *p)
{
	free(p->lines);
	*p = (struct picture){ 0 };
}
