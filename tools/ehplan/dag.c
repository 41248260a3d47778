// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl plan dag: tasks that wait for each other, on processors with links (paper 3). */
#include "dag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/dag/check.h"
#include "plan/dag/read.h"

/* The default for data in bytes: bytes a second of gigabit Ethernet. */
#define ETHERNET_RATE 125e6

static struct settings {
	const char *machine, *topology;
	uint64_t processors, steps;
	double rate, startup; /* of links; rate 0: by the kind of input */
	bool contention;
} settings;

static const struct option_row options[] = {
	{ "machine", OPTION_TEXT, offsetof(struct settings, machine), .value = "FILE" },
	{ "processors", OPTION_COUNT, offsetof(struct settings, processors), "P",
	  .count = { 1, DAG_PROCESSORS_MAX },
	  .wanted = "a number of processors from 1 to 1000000 is needed" },
	{ "topology", OPTION_TEXT, offsetof(struct settings, topology), .value = "T" },
	{ "rate", OPTION_REAL, offsetof(struct settings, rate), "R",
	  .real = { DAG_NUMBER_LEAST, DAG_NUMBER_MAX },
	  .wanted = "a rate from 1e-9 to 1e15 is needed" },
	{ "startup", OPTION_REAL, offsetof(struct settings, startup), "I",
	  .real = { 0, DAG_NUMBER_MAX }, .wanted = "a time from 0 to 1e15 is needed" },
	{ "contention", OPTION_SWITCH, offsetof(struct settings, contention), "off|on",
	  .wanted = "on or off is needed" },
	{ "steps", OPTION_COUNT, offsetof(struct settings, steps), "N",
	  .count = { 0, 1000000000000 }, .wanted = "a whole number is needed" },
	{ 0 },
};

/* ---- reading ---- */

static int read_machine_file(struct dag_call *c)
{
	struct plan_refusal refusal = { 0 };
	const char *name;
	char *text;
	size_t length;
	int err, code = call_read(settings.machine, &name, &text, &length);

	if (code)
		return code;
	err = dag_machine_read(text, length, c->rate, settings.startup, &c->machine, &refusal);
	code = err ? call_refused(name, &refusal, err) : 0;
	free(text);
	return code;
}

/* `processors` is the number that the input names, or 0. */
static int make_machine(struct dag_call *c, uint32_t processors)
{
	struct plan_refusal refusal = { 0 };
	const char *topology = settings.topology ? settings.topology : "full";
	uint32_t wanted = settings.processors ? settings.processors : processors;
	int err;

	if (settings.machine && (settings.processors || settings.topology))
		return bad_usage("--machine already names the processors: --%s is not allowed",
				 settings.processors ? "processors" : "topology");
	if (settings.machine)
		return read_machine_file(c);
	/* a topology with a number of its own goes before the number in the input */
	if (settings.topology && strchr(topology, ':') && !settings.processors)
		wanted = 0;
	else if (!wanted)
		return bad_usage("no machine: --processors P or --machine FILE is needed");
	err = dag_machine_topology(topology, wanted, c->rate, settings.startup, &c->machine,
				   &refusal);
	if (err == -EINVAL)
		return fail(EXIT_USAGE, "--topology %s: %s", topology, refusal.what);
	return err ? fail(EXIT_REFUSED, "%s", strerror(-err)) : 0;
}

static int read_input(struct dag_call *c)
{
	struct plan_refusal refusal = { 0 };
	struct dag_draft draft;
	int err = dag_draft_begin(&draft), code = 0;

	if (!err)
		err = dag_read(c->call->text, c->call->length, &draft, &refusal);
	if (!err)
		err = dag_graph_make(&draft, &c->graph, &refusal);
	if (err) {
		code = call_refused(c->call->name, &refusal, err);
		goto out;
	}
	c->rate = settings.rate > 0 ? settings.rate : draft.bytes ? ETHERNET_RATE : 1;
	code = make_machine(c, draft.processors);
out:
	dag_draft_end(&draft);
	return code;
}

/* ---- planning ---- */

static const char *const algorithms[] = { "best", "list", "heft", "exact", NULL };

static int make_plan(struct dag_call *c)
{
	struct plan_call *call = c->call;
	struct plan_refusal refusal = { 0 };
	struct dag_options how = { .seed = call->seed, .steps = settings.steps };
	int err;

	c->algorithm = call->algorithm ? call->algorithm : algorithms[0];
	how.method = parse_word(algorithms, c->algorithm);
	call_begin(call);
	err = dag_problem_make(c->graph, c->machine, settings.contention, &c->problem, &refusal);
	if (err)
		return call_refused(call->name, &refusal, err);
	if (how.method == DAG_EXACT && settings.contention)
		return bad_usage("--algorithm exact plans without contention only");
	err = dag_solve(c->problem, &how, &call->watch, &c->plan);
	if (!err)
		err = dag_check(c->problem, &c->plan.schedule, &c->plan.messages, &refusal);
	call_end(call);
	if (err == -EINVAL)
		return fail(EXIT_REFUSED,
			    "%s: the plan is wrong, which is a fault of this program: %s",
			    call->name, refusal.what);
	return err ? fail(EXIT_REFUSED, "%s: %s", call->name, strerror(-err)) : 0;
}

/* All but the lists. NULL: no memory. */
static json_t *make_document(const struct dag_call *c)
{
	return call_document(
		c->call, "dag", c->algorithm,
		json_pack("{s:f, s:f, s:b, s:i, s:i, s:b, s:I, s:f}", "makespan",
			  c->plan.schedule.makespan, "lower_bound", c->plan.lower_bound, "optimal",
			  (int)c->plan.optimal, "tasks", (int)c->graph->tasks, "processors",
			  (int)c->machine->processors, "contention", (int)c->problem->contention,
			  "seed", (json_int_t)c->call->seed, "rate", c->rate));
}

static int show(const struct dag_call *c)
{
	json_t *document;
	int code = 0;

	if (c->call->gantt)
		code = dag_show_gantt(c);
	if (code)
		return code;
	if (!c->call->json)
		return dag_show_table(c);
	document = make_document(c);
	code = document ? dag_show_json(c, document)
			: fail(EXIT_REFUSED, "no memory for the output");
	json_decref(document);
	return code;
}

static int run(struct plan_call *call)
{
	struct dag_call c = { .call = call };
	int code = read_input(&c);

	if (!code)
		code = make_plan(&c);
	if (!code)
		code = show(&c);
	dag_plan_end(&c.plan);
	dag_problem_free(c.problem);
	dag_machine_free(c.machine);
	dag_graph_free(c.graph);
	return code;
}

const struct planner dag_planner = {
	.name = "dag",
	.arguments = "(--machine FILE | --processors P [--topology T]) [--rate R] [--startup I]\n"
		     "       [--contention on|off] [--algorithm A] [--steps N]",
	.help = "schedule tasks that wait for each other's data (paper 3)\n\n"
		"FILE is STG, DOT, WfFormat, DAX or JSON; docs/planners.md describes them.\n\n"
		"  --machine FILE     processors and links: JSON, or a SimGrid platform\n"
		"  --processors P     number of equal processors\n"
		"  --topology T       full (default), ring, hypercube, mesh:RxC or eh:n,l\n"
		"  --rate R           units of data per unit of time on a link (1; for bytes 125e6)\n"
		"  --startup I        start-up time of a message on a link (0)\n"
		"  --contention C     on: a link carries one message at a time; off (default)\n"
		"  --steps N          steps of local search (by default the size decides)",
	.algorithms = algorithms,
	.gantt = true,
	.options = options,
	.settings = &settings,
	.run = run,
};
