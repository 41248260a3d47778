// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl plan dag: tasks that wait for each other, on processors with links (paper 3). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ehplan.h"
#include "plan/dag/check.h"
#include "plan/dag/read.h"
#include "plan/dag/solve.h"

#define ETHERNET_RATE \
	125e6 /* bytes a second: what data in bytes are sent at when nothing is said */
#define LABELS_MAX 2000

enum {
	O_MACHINE = 256,
	O_PROCESSORS,
	O_TOPOLOGY,
	O_RATE,
	O_STARTUP,
	O_CONTENTION,
	O_STEPS,
};

static struct {
	const char *machine, *topology;
	uint64_t processors, steps;
	double rate, startup; /* rate 0: by the input's kind */
	bool rate_given, startup_given, contention;
} options;

/* What one call has read and made. */
struct work {
	struct plan_call *call;
	struct dag_graph *graph;
	struct dag_machine *machine;
	struct dag_problem *problem;
	struct dag_plan plan;
	const char *algorithm;
	double rate;
	uint32_t *by_place; /* tasks by processor and start */
};

static const char *take_option(int option, const char *text)
{
	static const char *const switches[] = { "off", "on", NULL };

	switch (option) {
	case O_MACHINE:
		options.machine = text;
		return NULL;
	case O_PROCESSORS:
		return parse_count(text, DAG_PROCESSORS_MAX, &options.processors) ||
				       !options.processors
			       ? "a number of processors from 1 to 1000000 is needed"
			       : NULL;
	case O_TOPOLOGY:
		options.topology = text;
		return NULL;
	case O_RATE:
		options.rate_given = true;
		return parse_real(text, DAG_NUMBER_MAX, &options.rate) ||
				       options.rate < DAG_NUMBER_LEAST
			       ? "a rate from 1e-9 to 1e15 is needed"
			       : NULL;
	case O_STARTUP:
		options.startup_given = true;
		return parse_real(text, DAG_NUMBER_MAX, &options.startup)
			       ? "a time from 0 to 1e15 is needed"
			       : NULL;
	case O_CONTENTION:
		options.contention = parse_word(switches, text) == 1;
		return parse_word(switches, text) < 0 ? "on or off is needed" : NULL;
	case O_STEPS:
		return parse_count(text, 1000000000000, &options.steps) ? "a whole number is needed"
									: NULL;
	default:
		return "no such option";
	}
}

/* ---- reading ---- */

static int read_machine_file(struct work *w)
{
	struct plan_refusal refusal = { 0 };
	const char *name;
	char *text;
	size_t length;
	int err, code = read_input(options.machine, &name, &text, &length);

	if (code)
		return code;
	err = dag_machine_read(text, length, w->rate, options.startup, &w->machine, &refusal);
	code = err ? call_refused(name, &refusal, err) : 0;
	free(text);
	return code;
}

static int make_machine(struct work *w, uint32_t processors)
{
	struct plan_refusal refusal = { 0 };
	const char *topology = options.topology ? options.topology : "full";
	uint32_t wanted = options.processors ? options.processors : processors;
	int err;

	if (options.machine && (options.processors || options.topology))
		return bad_usage("--machine names the processors: no --%s beside it",
				 options.processors ? "processors" : "topology");
	if (options.machine)
		return read_machine_file(w);
	/* what the input says is a wish; a topology that says how many is an order */
	if (options.topology && strchr(topology, ':') && !options.processors)
		wanted = 0;
	else if (!wanted)
		return bad_usage("on which machine? --processors P or --machine FILE");
	err = dag_machine_topology(topology, wanted, w->rate, options.startup, &w->machine,
				   &refusal);
	if (err == -EINVAL)
		return fail(EXIT_USAGE, "--topology %s: %s", topology, refusal.what);
	return err ? fail(EXIT_REFUSED, "%s", strerror(-err)) : 0;
}

static int read_problem(struct work *w)
{
	struct plan_refusal refusal = { 0 };
	struct dag_draft draft;
	int err = dag_draft_begin(&draft), code = 0;

	if (!err)
		err = dag_read(w->call->text, w->call->length, &draft, &refusal);
	if (!err)
		err = dag_graph_make(&draft, &w->graph, &refusal);
	if (!err) {
		w->rate = options.rate_given ? options.rate : draft.bytes ? ETHERNET_RATE : 1;
		code = make_machine(w, draft.processors);
	}
	dag_draft_end(&draft);
	if (!err && !code)
		err = dag_problem_make(w->graph, w->machine, options.contention, &w->problem,
				       &refusal);
	return err ? call_refused(w->call->name, &refusal, err) : code;
}

/* ---- output ---- */

static const struct dag_schedule *place_schedule;

/* ehplan makes one plan and ends, so the sort may know which. */
static int by_place(const void *a, const void *b)
{
	const struct dag_schedule *s = place_schedule;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (s->processor[x] != s->processor[y])
		return s->processor[x] < s->processor[y] ? -1 : 1;
	if (s->start[x] != s->start[y])
		return s->start[x] < s->start[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int sort_places(struct work *w)
{
	w->by_place = malloc(w->graph->tasks * sizeof(*w->by_place));
	if (!w->by_place)
		return -ENOMEM;
	for (uint32_t t = 0; t < w->graph->tasks; t++)
		w->by_place[t] = t;
	place_schedule = &w->plan.schedule;
	qsort(w->by_place, w->graph->tasks, sizeof(*w->by_place), by_place);
	return 0;
}

static const char *node_name(const struct work *w, uint32_t node)
{
	return plan_names_text(w->machine->names, node);
}

/* The lists may have millions of entries, which as a document would take gigabytes: they are written
 * as they go, with ids that were encoded once. */
static void free_names(char **list)
{
	for (char **name = list; list && *name; name++)
		free(*name);
	free(list);
}

/* As JSON strings; NULL: no memory. */
static char **encode_names(const struct plan_names *names, uint32_t count)
{
	char **list = calloc(count + 1, sizeof(*list));

	for (uint32_t i = 0; list && i < count; i++) {
		json_t *text = json_string(plan_names_text(names, i));

		list[i] = json_dumps(text, JSON_ENCODE_ANY);
		json_decref(text);
		if (!list[i]) { /* a list that ends early is one that is not whole */
			free_names(list);
			return NULL;
		}
	}
	return list;
}

/* Tasks in the order of the input; `number` has room for all. */
static void print_schedule(const struct work *w, char **tasks, char **nodes, uint32_t *number)
{
	const struct dag_schedule *s = &w->plan.schedule;
	uint32_t count = w->graph->tasks;

	for (uint32_t t = 0; t < count; t++)
		number[w->graph->origin[t]] = t;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t t = number[i];

		printf("%s{\"task\":%s,\"processor\":%s,\"start\":%.15g,\"finish\":%.15g}",
		       i ? "," : "", tasks[i], nodes[s->processor[t]], s->start[t], s->finish[t]);
	}
}

static void print_messages(const struct work *w, char **tasks, char **nodes)
{
	const struct dag_messages *m = &w->plan.messages;

	for (size_t i = 0; i < m->count; i++) {
		const struct dag_message *message = &m->list[i];
		const struct dag_hop *hops = &m->hops[message->hop];

		printf("%s{\"from\":%s,\"to\":%s,\"route\":[%s", i ? "," : "",
		       tasks[w->graph->origin[message->from]], tasks[w->graph->origin[message->to]],
		       nodes[w->plan.schedule.processor[message->from]]);
		for (uint32_t h = 0; h < message->hops; h++)
			printf(",%s", nodes[hops[h].node]);
		printf("],\"start\":%.15g,\"finish\":%.15g,\"hops\":[", hops[0].start,
		       hops[message->hops - 1].finish);
		for (uint32_t h = 0; h < message->hops; h++)
			printf("%s{\"start\":%.15g,\"finish\":%.15g}", h ? "," : "", hops[h].start,
			       hops[h].finish);
		printf("]}");
	}
}

static int print_json(const struct work *w, const json_t *document)
{
	char **tasks = encode_names(w->graph->names, w->graph->tasks);
	char **nodes = encode_names(w->machine->names, w->machine->nodes);
	char *head = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(15));
	uint32_t *number = malloc(w->graph->tasks * sizeof(*number));
	int code = EXIT_DONE;

	if (!tasks || !nodes || !head || !number) {
		code = fail(EXIT_REFUSED, "no memory for the output");
		goto done;
	}
	printf("%.*s,\"schedule\":[", (int)strlen(head) - 1, head);
	print_schedule(w, tasks, nodes, number);
	printf("],\"messages\":[");
	print_messages(w, tasks, nodes);
	printf("]}\n");
done:
	free(number);
	free(head);
	free_names(tasks);
	free_names(nodes);
	return code;
}

static const char *number_text(double value, char buffer[32])
{
	snprintf(buffer, 32, "%.*f", value == floor(value) && fabs(value) < 1e15 ? 0 : 3, value);
	return buffer;
}

static int print_table(const struct work *w)
{
	const struct dag_schedule *s = &w->plan.schedule;
	struct table *t = table_new("PROCESSOR", "START", "FINISH", "TASK", NULL);
	char start[32], finish[32];

	printf("makespan %s", number_text(s->makespan, start));
	printf(", at least %s%s, by %s\n\n", number_text(w->plan.lower_bound, finish),
	       w->plan.optimal ? " (optimal)" : "", w->algorithm);
	for (uint32_t i = 0; i < w->graph->tasks; i++) {
		uint32_t task = w->by_place[i];

		table_row(t, node_name(w, s->processor[task]), number_text(s->start[task], start),
			  number_text(s->finish[task], finish), dag_task_name(w->graph, task),
			  NULL);
	}
	table_print(t);
	return EXIT_DONE;
}

/* Processors that have tasks, and below them the links that have messages. */
static int draw(const struct work *w)
{
	static const char *const kinds[] = { "task", "message", NULL };
	const struct dag_schedule *s = &w->plan.schedule;
	const struct dag_messages *m = &w->plan.messages;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it was read, as fail() never returns 0 here */
	size_t nbars = w->graph->tasks + m->nhops, at = 0;
	struct gantt_bar *bars = calloc(nbars, sizeof(*bars));
	struct plan_names *rows = plan_names_new();
	const char **names = NULL;
	char title[200], link[200];
	int code = EXIT_DONE, err = bars && rows ? 0 : -ENOMEM;
	struct gantt g = { .title = title, .kinds = kinds, .bars = bars, .nbars = nbars };

	for (uint32_t i = 0; i < w->graph->tasks && !err; i++) {
		uint32_t task = w->by_place[i];
		int64_t row = plan_names_find(rows, node_name(w, s->processor[task]));

		if (row < 0)
			row = plan_names_add(rows, node_name(w, s->processor[task]));
		err = row < 0 ? (int)row : 0;
		bars[at++] = (struct gantt_bar){ row, s->start[task], s->finish[task],
						 dag_task_name(w->graph, task), 0 };
	}
	for (size_t i = 0; i < m->count && !err; i++) {
		const struct dag_message *message = &m->list[i];
		uint32_t from = s->processor[message->from];

		for (uint32_t h = 0; h < message->hops && !err; h++) {
			const struct dag_hop *hop = &m->hops[message->hop + h];
			int64_t row;

			snprintf(link, sizeof(link), "%.80s > %.80s", node_name(w, from),
				 node_name(w, hop->node));
			row = plan_names_find(rows, link);
			if (row < 0)
				row = plan_names_add(rows, link);
			err = row < 0 ? (int)row : 0;
			bars[at++] = (struct gantt_bar){ row, hop->start, hop->finish,
							 dag_task_name(w->graph, message->to), 1 };
			from = hop->node;
		}
	}
	if (!err) {
		g.nrows = plan_names_count(rows);
		names = malloc(g.nrows * sizeof(*names));
		err = names ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < g.nrows && !err; i++)
		names[i] = plan_names_text(rows, i);
	g.rows = names;
	g.unit = "time";
	snprintf(title, sizeof(title), "%u tasks on %u processors", w->graph->tasks,
		 w->machine->processors);
	if (!err)
		code = gantt_draw(&g, w->call->gantt);
	free(bars);
	free(names);
	plan_names_free(rows);
	return err ? fail(EXIT_REFUSED, "%s", strerror(-err)) : code;
}

/* ---- the call ---- */

static const char *const algorithms[] = { "best", "list", "heft", "exact", NULL };

static int make_plan(struct work *w, json_t **document)
{
	struct plan_call *call = w->call;
	struct plan_refusal refusal = { 0 };
	struct dag_options how = { .seed = call->seed, .steps = options.steps };
	int err;

	w->algorithm = call->algorithm ? call->algorithm : algorithms[0];
	how.method = parse_word(algorithms, w->algorithm);
	if (how.method == DAG_EXACT && options.contention)
		return bad_usage("--algorithm exact plans without contention only");
	call_begin(call);
	err = dag_solve(w->problem, &how, &call->watch, &w->plan);
	*document = err ? NULL : call_document(call, "dag", w->algorithm);
	if (!err && !*document)
		err = -ENOMEM;
	if (!err)
		err = dag_check(w->problem, &w->plan.schedule, &w->plan.messages, &refusal);
	if (err == -EINVAL)
		return fail(EXIT_REFUSED,
			    "%s: the plan is wrong, which is a fault of this program: %s",
			    call->name, refusal.what);
	if (!err)
		err = sort_places(w);
	return err ? fail(EXIT_REFUSED, "%s: %s", call->name, strerror(-err)) : 0;
}

static int run(struct plan_call *call)
{
	struct work w = { .call = call };
	json_t *document = NULL;
	int code = read_problem(&w);

	if (!code)
		code = make_plan(&w, &document);
	if (!code && call->gantt)
		code = draw(&w);
	if (!code) {
		json_t *members = json_pack(
			"{s:f, s:f, s:b, s:i, s:i, s:b, s:I, s:f}", "makespan",
			w.plan.schedule.makespan, "lower_bound", w.plan.lower_bound, "optimal",
			/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the same */
			(int)w.plan.optimal, "tasks", (int)w.graph->tasks, "processors",
			(int)w.machine->processors, "contention", (int)options.contention, "seed",
			(json_int_t)call->seed, "rate", w.rate);

		json_object_update(document, members);
		json_decref(members);
		code = call->json ? print_json(&w, document) : print_table(&w);
	}
	json_decref(document);
	dag_plan_end(&w.plan);
	dag_problem_free(w.problem);
	dag_machine_free(w.machine);
	dag_graph_free(w.graph);
	free(w.by_place);
	return code;
}

static const struct option own_options[] = {
	{ "machine", required_argument, NULL, O_MACHINE },
	{ "processors", required_argument, NULL, O_PROCESSORS },
	{ "topology", required_argument, NULL, O_TOPOLOGY },
	{ "rate", required_argument, NULL, O_RATE },
	{ "startup", required_argument, NULL, O_STARTUP },
	{ "contention", required_argument, NULL, O_CONTENTION },
	{ "steps", required_argument, NULL, O_STEPS },
	{ NULL, 0, NULL, 0 },
};

const struct planner dag_planner = {
	.name = "dag",
	.arguments = "(--machine FILE | --processors P [--topology T]) [--rate R] [--startup I]\n"
		     "       [--contention on|off] [--algorithm A] [--steps N]",
	.help = "Where and when tasks run that wait for each other's data.\n"
		"FILE is STG, DOT, WfFormat, DAX or JSON; docs/planners.md has their meaning.\n\n"
		"  --machine FILE     processors and links: JSON, or a SimGrid platform\n"
		"  --processors P     so many equal ones\n"
		"  --topology T       full (default), ring, hypercube, mesh:RxC or eh:n,l\n"
		"  --rate R           data a link carries in a unit of time (1; of bytes 125e6)\n"
		"  --startup I        time a message takes to start on a link (0)\n"
		"  --contention C     on: a link carries one message at a time; off (default)\n"
		"  --steps N          of local search, instead of as many as fit the size",
	.algorithms = algorithms,
	.gantt = true,
	.options = own_options,
	.option = take_option,
	.run = run,
};
