// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace has "arrive NODE SIZE ID" and "finish ID", one per line; "#" begins a comment. */
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "tools/common/common.h"
#include "value.h"

struct task {
	char *id; /* belongs to the trace */
	uint32_t index;
	uint64_t size;
	bool finished;
	UT_hash_handle hh;
};

struct reader {
	const char *name;
	unsigned long line;
	const struct eh_topology *topology;
	struct trace *trace;
	size_t event_room, id_room;
	struct task *tasks;
};

/* The input may be anything: only printable characters are shown. */
static int trace_bad_line(const struct reader *r, const char *what, const char *why)
{
	char shown[64];
	size_t n = 0;

	for (; what[n] && n < sizeof(shown) - 1; n++)
		shown[n] = what[n] < ' ' || what[n] > '~' ? '?' : what[n];
	shown[n] = '\0';
	return fail(EXIT_USAGE, "%s:%lu: %s: %s", r->name, r->line, shown, why);
}

static int trace_no_memory(const struct reader *r)
{
	return fail(EXIT_REFUSED, "%s:%lu: no memory for more", r->name, r->line);
}

static int trace_add_event(struct reader *r, struct trace_event event)
{
	struct trace *t = r->trace;

	if (t->count == r->event_room) {
		size_t room = r->event_room ? 2 * r->event_room : 256;
		struct trace_event *events = realloc(t->events, room * sizeof(*events));

		if (!events)
			return -ENOMEM;
		t->events = events;
		r->event_room = room;
	}
	t->events[t->count++] = event;
	return 0;
}

/* Takes the id over. */
static struct task *trace_add_task(struct reader *r, char *id, uint64_t size)
{
	struct trace *t = r->trace;
	struct task *task;

	if (t->tasks == r->id_room) {
		size_t room = r->id_room ? 2 * r->id_room : 256;
		char **ids = realloc(t->ids, room * sizeof(*ids));

		if (!ids)
			goto free_id;
		t->ids = ids;
		r->id_room = room;
	}
	task = calloc(1, sizeof(*task));
	if (!task)
		goto free_id;
	*task = (struct task){ .id = id, .index = t->tasks, .size = size };
	HASH_ADD_KEYPTR(hh, r->tasks, task->id, strlen(task->id), task);
	if (!task->hh.tbl)
		goto free_task;
	t->ids[t->tasks++] = id;
	return task;
free_task:
	free(task);
free_id:
	free(id);
	return NULL;
}

static int trace_read_arrive(struct reader *r, char *node, char *size, char *id)
{
	struct trace_event event = { 0 };
	struct task *task;

	if (!id)
		return trace_bad_line(r, "arrive", "NODE SIZE ID are needed");
	if (value_node(r->topology, node, &event.node))
		return trace_bad_line(r, node, "no node of this topology, by index or code");
	if (value_tasks(size, 1ull << 40, &event.size))
		return trace_bad_line(r, size, "no size in tasks, such as 1 or 0.5");
	HASH_FIND_STR(r->tasks, id, task);
	if (task)
		return trace_bad_line(r, id, "this task has arrived already");
	id = strdup(id);
	task = id ? trace_add_task(r, id, event.size) : NULL;
	if (!task)
		return trace_no_memory(r);
	event.task = task->index;
	return trace_add_event(r, event) ? trace_no_memory(r) : 0;
}

static int trace_read_finish(struct reader *r, const char *id)
{
	struct task *task;

	if (!id)
		return trace_bad_line(r, "finish", "ID is needed");
	HASH_FIND_STR(r->tasks, id, task);
	if (!task)
		return trace_bad_line(r, id, "no such task has arrived");
	if (task->finished)
		return trace_bad_line(r, id, "this task has finished already");
	task->finished = true;
	return trace_add_event(r, (struct trace_event){ .finish = true,
							.task = task->index,
							.size = task->size })
		       ? trace_no_memory(r)
		       : 0;
}

static int trace_read_line(struct reader *r, char *line)
{
	char *words[5] = { NULL }, *save = NULL;
	size_t n = 0;

	if (r->line == 1)
		line += parse_mark(line);
	line[strcspn(line, "#\r\n")] = '\0';
	for (char *w = strtok_r(line, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		if (n == 5)
			break;
		words[n++] = w;
	}
	if (!n)
		return 0;
	if (!strcmp(words[0], "arrive"))
		return n > 4 ? trace_bad_line(r, words[4], "not understood")
			     : trace_read_arrive(r, words[1], words[2], words[3]);
	if (!strcmp(words[0], "finish"))
		return n > 2 ? trace_bad_line(r, words[2], "not understood")
			     : trace_read_finish(r, words[1]);
	return trace_bad_line(r, words[0], "`arrive NODE SIZE ID` or `finish ID` is needed");
}

int trace_read(const char *path, const struct eh_topology *topology, struct trace *out)
{
	bool standard = !strcmp(path, "-");
	struct reader r = { .name = standard ? "standard input" : path,
			    .topology = topology,
			    .trace = out };
	struct task *task, *next;
	FILE *file = standard ? stdin : fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	int code = 0;

	*out = (struct trace){ 0 };
	if (!file)
		return fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
	errno = 0;
	while (!code && (length = getline(&line, &room, file)) >= 0) {
		r.line++;
		if (strlen(line) != (size_t)length)
			code = trace_bad_line(&r, "a NUL byte", "this is not text");
		else
			code = trace_read_line(&r, line);
		errno = 0;
	}
	if (!code && !feof(file))
		code = fail(EXIT_USAGE, "%s: %s", r.name, strerror(errno ? errno : EIO));
	HASH_ITER(hh, r.tasks, task, next) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): clang does not follow the links of uthash */
		HASH_DEL(r.tasks, task);
		free(task);
	}
	free(line);
	if (!standard)
		fclose(file);
	if (code)
		trace_free(out);
	return code;
}

uint64_t trace_arrivals(const struct trace *trace)
{
	uint64_t arrivals = 0;

	for (size_t i = 0; i < trace->count; i++)
		arrivals += !trace->events[i].finish;
	return arrivals;
}

void trace_free(struct trace *trace)
{
	for (uint32_t i = 0; i < trace->tasks; i++)
		free(trace->ids[i]);
	free(trace->ids);
	free(trace->events);
	*trace = (struct trace){ 0 };
}
