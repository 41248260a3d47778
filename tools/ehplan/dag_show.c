// SPDX-License-Identifier: GPL-2.0-or-later
#include "dag.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *node_name(const struct dag_call *c, uint32_t node)
{
	return plan_names_text(c->machine->names, node);
}

/* ---- JSON ---- */

/* Ids as JSON strings, in the order of the input. */
struct ids {
	char **tasks, **nodes;
};

static void free_ids(char **list)
{
	for (char **id = list; list && *id; id++)
		free(*id);
	free(list);
}

/* NULL: no memory. */
static char **encode_ids(const struct plan_names *names, uint32_t count)
{
	char **list = calloc(count + 1, sizeof(*list));

	for (uint32_t i = 0; list && i < count; i++) {
		json_t *text = json_string(plan_names_text(names, i));

		list[i] = json_dumps(text, JSON_ENCODE_ANY);
		json_decref(text);
		if (!list[i]) {
			free_ids(list); /* which ends at the first NULL */
			return NULL;
		}
	}
	return list;
}

/* Each with a comma behind it: more members follow. The keys are words that need no escapes. */
static void print_members(json_t *document)
{
	const char *key;
	json_t *value;

	json_object_foreach(document, key, value) {
		printf("\"%s\":", key);
		json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
		putchar(',');
	}
}

/* In the order of the input; `number` has room for all tasks. */
static void print_schedule(const struct dag_call *c, const struct ids *ids, uint32_t *number)
{
	const struct dag_schedule *s = &c->plan.schedule;
	uint32_t count = c->graph->tasks;

	for (uint32_t t = 0; t < count; t++)
		number[c->graph->origin[t]] = t;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t t = number[i];

		printf("%s{\"task\":%s,\"processor\":%s,\"start\":%.15g,\"finish\":%.15g}",
		       i ? "," : "", ids->tasks[i], ids->nodes[s->processor[t]], s->start[t],
		       s->finish[t]);
	}
}

static void print_message(const struct dag_call *c, const struct ids *ids,
			  const struct dag_message *message)
{
	const struct dag_hop *hops = &c->plan.messages.hops[message->hop];

	printf("{\"from\":%s,\"to\":%s,\"route\":[%s", ids->tasks[c->graph->origin[message->from]],
	       ids->tasks[c->graph->origin[message->to]],
	       ids->nodes[c->plan.schedule.processor[message->from]]);
	for (uint32_t h = 0; h < message->hops; h++)
		printf(",%s", ids->nodes[hops[h].node]);
	printf("],\"start\":%.15g,\"finish\":%.15g,\"hops\":[", hops[0].start,
	       hops[message->hops - 1].finish);
	for (uint32_t h = 0; h < message->hops; h++)
		printf("%s{\"start\":%.15g,\"finish\":%.15g}", h ? "," : "", hops[h].start,
		       hops[h].finish);
	printf("]}");
}

/* The lists may have millions of entries, which would take gigabytes as a document: so they are
 * printed entry by entry, with ids that are encoded once. */
int dag_show_json(const struct dag_call *c, json_t *document)
{
	const struct dag_messages *messages = &c->plan.messages;
	struct ids ids = { encode_ids(c->graph->names, c->graph->tasks),
			   encode_ids(c->machine->names, c->machine->nodes) };
	uint32_t *number = malloc(c->graph->tasks * sizeof(*number));
	int code = EXIT_DONE;

	if (!ids.tasks || !ids.nodes || !number) {
		code = fail(EXIT_REFUSED, "no memory for the output");
		goto out;
	}
	printf("{");
	print_members(document);
	printf("\"schedule\":[");
	print_schedule(c, &ids, number);
	printf("],\"messages\":[");
	for (size_t i = 0; i < messages->count; i++) {
		if (i)
			putchar(',');
		print_message(c, &ids, &messages->list[i]);
	}
	printf("]}\n");
out:
	free(number);
	free_ids(ids.tasks);
	free_ids(ids.nodes);
	return code;
}

/* ---- text ---- */

static int by_place(const void *a, const void *b, void *ctx)
{
	const struct dag_schedule *s = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (s->processor[x] != s->processor[y])
		return s->processor[x] < s->processor[y] ? -1 : 1;
	if (s->start[x] != s->start[y])
		return s->start[x] < s->start[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Tasks by processor and start. NULL: no memory. */
static uint32_t *sort_tasks(const struct dag_call *c)
{
	uint32_t *list = malloc(c->graph->tasks * sizeof(*list));

	if (!list)
		return NULL;
	for (uint32_t t = 0; t < c->graph->tasks; t++)
		list[t] = t;
	qsort_r(list, c->graph->tasks, sizeof(*list), by_place, (void *)&c->plan.schedule);
	return list;
}

static const char *number_text(double value, char buffer[32])
{
	snprintf(buffer, 32, "%.*f", value == floor(value) && fabs(value) < 1e15 ? 0 : 3, value);
	return buffer;
}

int dag_show_table(const struct dag_call *c)
{
	const struct dag_schedule *s = &c->plan.schedule;
	uint32_t *list = sort_tasks(c);
	char start[32], finish[32];
	struct table *t;

	if (!list)
		return fail(EXIT_REFUSED, "no memory for the output");
	printf("makespan %s, at least %s%s, by %s\n\n", number_text(s->makespan, start),
	       number_text(c->plan.lower_bound, finish), c->plan.optimal ? " (optimal)" : "",
	       c->algorithm);
	t = table_new("PROCESSOR", "START", "FINISH", "TASK", NULL);
	for (uint32_t i = 0; i < c->graph->tasks; i++) {
		uint32_t task = list[i];

		table_row(t, node_name(c, s->processor[task]), number_text(s->start[task], start),
			  number_text(s->finish[task], finish), dag_task_name(c->graph, task),
			  NULL);
	}
	table_print(t);
	free(list);
	return EXIT_DONE;
}

/* ---- the diagram ---- */

enum bar_kind { TASK, MESSAGE };

struct diagram {
	const struct dag_call *c;
	struct plan_names *rows;
	struct gantt_bar *bars;
	size_t nbars;
};

/* 0 or -ENOMEM. The row is added if it is new. */
static int add_bar(struct diagram *d, const char *row, double start, double finish, uint32_t task,
		   enum bar_kind kind)
{
	int64_t number = plan_names_find(d->rows, row);

	if (number < 0)
		number = plan_names_add(d->rows, row);
	if (number < 0)
		return (int)number;
	d->bars[d->nbars++] =
		(struct gantt_bar){ number, start, finish, dag_task_name(d->c->graph, task), kind };
	return 0;
}

static int add_tasks(struct diagram *d)
{
	const struct dag_schedule *s = &d->c->plan.schedule;
	uint32_t *list = sort_tasks(d->c);
	int err = list ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < d->c->graph->tasks && !err; i++) {
		uint32_t task = list[i];

		err = add_bar(d, node_name(d->c, s->processor[task]), s->start[task],
			      s->finish[task], task, TASK);
	}
	free(list);
	return err;
}

static int add_message(struct diagram *d, const struct dag_message *message)
{
	uint32_t from = d->c->plan.schedule.processor[message->from];
	int err = 0;

	for (uint32_t h = 0; h < message->hops && !err; h++) {
		const struct dag_hop *hop = &d->c->plan.messages.hops[message->hop + h];
		char link[200];

		snprintf(link, sizeof(link), "%.80s > %.80s", node_name(d->c, from),
			 node_name(d->c, hop->node));
		err = add_bar(d, link, hop->start, hop->finish, message->to, MESSAGE);
		from = hop->node;
	}
	return err;
}

static int fill(struct diagram *d)
{
	const struct dag_messages *messages = &d->c->plan.messages;
	int err;

	d->rows = plan_names_new();
	d->bars = calloc(d->c->graph->tasks + messages->nhops, sizeof(*d->bars));
	if (!d->rows || !d->bars)
		return -ENOMEM;
	err = add_tasks(d);
	for (size_t i = 0; i < messages->count && !err; i++)
		err = add_message(d, &messages->list[i]);
	return err;
}

static int draw(const struct diagram *d, const char **rows)
{
	static const char *const kinds[] = { [TASK] = "task", [MESSAGE] = "message", NULL };
	struct gantt gantt = { .unit = "time",
			       .rows = rows,
			       .nrows = plan_names_count(d->rows),
			       .kinds = kinds,
			       .bars = d->bars,
			       .nbars = d->nbars };
	char title[80];

	snprintf(title, sizeof(title), "%u tasks on %u processors", d->c->graph->tasks,
		 d->c->machine->processors);
	gantt.title = title;
	for (uint32_t i = 0; i < gantt.nrows; i++)
		rows[i] = plan_names_text(d->rows, i);
	return gantt_draw(&gantt, d->c->call->gantt);
}

int dag_show_gantt(const struct dag_call *c)
{
	struct diagram d = { .c = c };
	const char **rows = NULL;
	int code, err = fill(&d);

	if (!err)
		rows = malloc(plan_names_count(d.rows) * sizeof(*rows));
	code = rows ? draw(&d, rows)
		    : fail(EXIT_REFUSED, "%s: no memory for the diagram", c->call->gantt);
	free(rows);
	free(d.bars);
	plan_names_free(d.rows);
	return code;
}
