// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.h"

#include <errno.h>
#include <stdio.h>

#include "tools/common/common.h"
#include "tools/common/help.h"
#include "tools/common/options.h"
#include "value.h"

#define TOPOLOGY_BITS_MAX 24 /* n*l of a tree: 2^24 nodes */
#define MESSAGES_BITS_MAX 12 /* the same over messages */
#define THRESHOLD_NOT_GIVEN UINT64_MAX

#define LOAD_ARRIVALS 400000 /* unless said */
#define ARRIVALS 500

/* By enum eh_policy; those after it are for --load only. */
static const char *const arguments_policies[] = { "eta",   "eta1", "eta2", "hint",  "idle",
						  "local", "two",  "jiq",  "shared" };

static int arguments_take_topology(void *arguments, const char *text)
{
	struct eh_topology *t = &((struct arguments *)arguments)->run.tree.topology;

	return eh_topology_parse(text, t) || t->n * t->l > TOPOLOGY_BITS_MAX;
}

static int arguments_take_threshold(void *arguments, const char *text)
{
	struct arguments *a = arguments;

	return value_tasks(text, EH_TREE_VALUE_MAX, &a->run.tree.threshold);
}

static int arguments_take_length(void *arguments, const char *text)
{
	struct arguments *a = arguments;

	return value_tasks(text, EH_TREE_VALUE_MAX, &a->run.tree.length);
}

static int arguments_take_fail(void *arguments, const char *text)
{
	struct arguments *a = arguments;

	if (a->nfail == FAILURES_MAX)
		return -EINVAL;
	a->fail[a->nfail++] = text;
	return 0;
}

static int arguments_take_service(void *arguments, const char *text)
{
	struct arguments *a = arguments;

	a->load.service = text;
	return !*text;
}

static int arguments_take_speeds(void *arguments, const char *text)
{
	return load_options_speeds(&((struct arguments *)arguments)->load, text);
}

#define AT(member) offsetof(struct arguments, member)

static const struct option_row table[] = {
	{ "topology", OPTION_OWN, 0, "n,l", .take = arguments_take_topology,
	  .wanted = "n,l with n*l at most 24 is needed, such as 3,2", .help = "EH(n,l); 3,2" },
	{ "policy", OPTION_WORD, AT(policy), "eta|eta1|eta2|hint|idle|local|two|jiq|shared",
	  .wanted = "eta, eta1, eta2 or hint is needed, or with --load idle, local, two,\n"
		    "jiq or shared",
	  .help = "eta; eta1 has no threshold length, eta2 no threshold changes\n"
		  "either; with hint controllers also know where there is most\n"
		  "room. With --load (eta2 not): idle takes free processors first,\n"
		  "local stays at home, two is the better of home and another\n"
		  "node, jiq joins an idle queue, shared is one queue for all" },
	{ "threshold", OPTION_OWN, 0, "T0", .take = arguments_take_threshold,
	  .wanted = "a number of tasks is needed, such as 1 or 0.5",
	  .help = "of each node at the start; 0, for eta1 and eta2 1" },
	{ "length", OPTION_OWN, 0, "A", .take = arguments_take_length,
	  .wanted = "a number of tasks is needed, such as 1 or 0.5",
	  .help = "threshold length; 1" },
	{ "arrivals", OPTION_COUNT, AT(run.arrivals), "N", .count = { 1, UINT32_MAX },
	  .help = "random ones, of one task each; 500, with --load 400000" },
	{ "release", OPTION_REAL, AT(run.release), "P", .real = { 0, 1 },
	  .wanted = "a probability is needed, from 0 to 1",
	  .help = "probability that a random task ends after each arrival; 0" },
	{ "trace", OPTION_TEXT, AT(trace), "FILE",
	  .help = "instead of random arrivals: `arrive NODE SIZE ID` or\n"
		  "`finish ID` per line" },
	{ "seed", OPTION_COUNT, AT(seed), "S", .count = { 0, UINT64_MAX },
	  .help = "of the first run; 1" },
	{ "runs", OPTION_COUNT, AT(runs), "R", .count = { 1, 1000000 },
	  .help = "runs with the seeds S, S+1, …; 1" },
	{ "descent", OPTION_SWITCH, AT(run.tree.least), "random|least",
	  .wanted = "random or least is needed",
	  .help = "which child is chosen among those of the best state; random" },
	{ "prefer", OPTION_SWITCH, AT(run.tree.receiver_first), "nearest|receiver",
	  .wanted = "nearest or receiver is needed",
	  .help = "the nearest ancestor with room, or the nearest receiver; nearest" },
	{ "initiation", OPTION_SWITCH, AT(run.tree.bidirectional), "sender|bidirectional",
	  .wanted = "sender or bidirectional is needed",
	  .help = "whether receivers look for work too; sender" },
	{ "changes", OPTION_SWITCH, AT(run.tree.lazy), "broadcast|lazy",
	  .wanted = "broadcast or lazy is needed",
	  .help = "thresholds are sent to all, or ride on later messages;\n"
		  "broadcast" },
	{ "delay", OPTION_REAL, AT(run.delay), "D", .real = { 0, 1e5 },
	  .help = "what controllers hear is D mean inter-arrival times old;\n"
		  "with --messages the mean delay of a message; 0" },
	{ "messages", OPTION_FLAG, AT(run.messages),
	  .help = "message by message, by the protocol of the agents, which must\n"
		  "find their controllers; with policy eta" },
	{ "loss", OPTION_REAL, AT(run.loss), "P", .real = { 0, 1 },
	  .wanted = "a probability is needed, from 0 to 1",
	  .help = "with --messages: probability that a message is lost; 0" },
	{ "heartbeat", OPTION_REAL, AT(run.heartbeat), "H", .real = { 0.1, 1e6 },
	  .wanted = "a number of mean inter-arrival times is needed, 0.1 or more",
	  .help = "with --messages, in mean inter-arrival times; 20, or 10 D if\n"
		  "that is more" },
	{ "fail", OPTION_OWN, 0, "'WHAT CODE@T'", .take = arguments_take_fail,
	  .wanted = "too many of them",
	  .help = "with --messages: a failure at arrival T; may be repeated. The\n"
		  "node, controller, group or half (of a group) CODE dies;\n"
		  "`node@T`: a random node; `top@T`: the top controller;\n"
		  "`cut CODE@T..T` separates it from the others for a while;\n"
		  "`back CODE@T`, `back@T` restarts dead nodes" },
	{ "load", OPTION_REAL, AT(load.load.load), "RHO", .real = { 1e-6, 0.9999 },
	  .wanted = "a part of what the processors can do is needed, below 1",
	  .help = "tasks compute, and end: work that arrives for what all\n"
		  "processors can do; times are in mean service times" },
	{ "service", OPTION_OWN, 0, "exp|hyper|pareto|constant|FILE",
	  .take = arguments_take_service,
	  .wanted = "exp, hyper, pareto, constant or a file is needed",
	  .help = "with --load: distribution of service times, or a file of them,\n"
		  "one per line; exp" },
	{ "discipline", OPTION_SWITCH, AT(load.load.queue), "share|queue",
	  .wanted = "share or queue is needed",
	  .help = "with --load: the tasks of a node share its processors, or wait\n"
		  "for one in turn; share" },
	{ "cpus", OPTION_COUNT, AT(load.cpus), "C", .count = { 1, EH_LOAD_PROCESSORS_MAX },
	  .help = "with --load: processors of each node; 1" },
	{ "speeds", OPTION_OWN, 0, "S,S,…", .take = arguments_take_speeds,
	  .wanted = "positive numbers with commas are needed",
	  .help = "with --load: of the nodes' processors, in turn; 1" },
	{ "transfer-cost", OPTION_REAL, AT(load.load.transfer), "X", .real = { 0, 1e3 },
	  .help = "with --load: what a transfer adds to the work of a task; 0.01" },
	{ "stale", OPTION_REAL, AT(load.load.age), "S", .real = { 0, 1e3 },
	  .help = "with --load: how old news of nodes is; 0" },
	{ "hot", OPTION_COUNT, AT(load.hot), "K", .count = { 1, 1u << EH_LOAD_BITS_MAX },
	  .help = "with --load: all tasks arrive at K nodes, far apart; at all" },
	{ "hold", OPTION_REAL, AT(load.load.hold), "H", .real = { 0, 1e6 },
	  .help = "with --policy idle: for which part of its service time an\n"
		  "exec waits for a free processor, at most one for eight\n"
		  "processors; 0.2" },
	{ "decisions", OPTION_FLAG, AT(decisions),
	  .help = "print each placement too, with its path" },
	{ "plot", OPTION_TEXT, AT(plot), "FILE.svg",
	  .help = "draw figure 3 of the paper, and the spread of the loads" },
	{ 0 },
};

const char arguments_usage[] = "[--topology n,l] [--policy POLICY] [OPTION]… [--json]";

void arguments_help(void)
{
	help_command("sim", arguments_usage, "simulate the hierarchy without a cluster\n");
	options_help(table);
	help_text(stdout,
		  "\nCounts are sums over all runs, messages and changes are means of one run; "
		  "loads are in tasks. Decisions are counted per second of processor time.");
}

const char *arguments_policy(const struct arguments *a)
{
	return arguments_policies[a->policy];
}

/* What --messages cannot do, and what only it can. */
static int arguments_check_messages(const struct arguments *a)
{
	const struct eh_tree_options *o = &a->run.tree;

	if (!a->run.messages)
		return a->nfail || a->run.loss > 0 || a->run.heartbeat > 0
			       ? bad_usage("--fail, --loss, --heartbeat: only with --messages")
			       : 0;
	if (o->policy != EH_ETA || o->receiver_first || o->bidirectional)
		return bad_usage("--messages: with --policy eta, --prefer nearest and "
				 "--initiation sender only, as the agents have them");
	if (o->topology.n * o->topology.l > MESSAGES_BITS_MAX)
		return bad_usage("--messages: of a topology with n*l at most 12");
	if (a->plot)
		return bad_usage("--plot: not with --messages");
	return 0;
}

/* What --load cannot do, and what only it can. */
static int arguments_check_load(struct arguments *a)
{
	static const enum eh_load_policy by_policy[] = {
		EH_LOAD_ETA,   EH_LOAD_ETA1, EH_LOAD_POLICIES, EH_LOAD_HINT,   EH_LOAD_IDLE,
		EH_LOAD_LOCAL, EH_LOAD_TWO,  EH_LOAD_JIQ,      EH_LOAD_SHARED,
	};
	const struct run_options *run = &a->run;
	const struct eh_tree_options *o = &run->tree;
	const struct load_options *load = &a->load;

	if (!(load->load.load > 0))
		return a->policy > EH_HINT || load->service || load->load.queue || load->cpus ||
				       load->load.nspeeds || load->load.transfer >= 0 ||
				       load->load.age > 0 || load->hot || load->load.hold >= 0
			       ? bad_usage(
					 "--policy %s, --service, --discipline, --cpus, --speeds, "
					 "--transfer-cost, --stale, --hot, --hold: only with --load",
					 arguments_policies[a->policy])
			       : 0;
	if (by_policy[a->policy] == EH_LOAD_POLICIES)
		return bad_usage("--load: not with --policy eta2, which refuses tasks");
	if (run->messages || a->trace || a->decisions || a->plot || run->release > 0 ||
	    run->delay > 0 || o->least || o->receiver_first || o->bidirectional || o->lazy ||
	    o->threshold != THRESHOLD_NOT_GIVEN || a->nfail || run->loss > 0 || run->heartbeat > 0)
		return bad_usage("--load: with --topology, --policy, --length, --arrivals, --seed, "
				 "--runs and what is for --load only");
	if (o->topology.n * o->topology.l > EH_LOAD_BITS_MAX)
		return bad_usage("--load: of a topology with n*l at most %u", EH_LOAD_BITS_MAX);
	if (load->load.hold >= 0 && by_policy[a->policy] != EH_LOAD_IDLE)
		return bad_usage("--hold: only with --policy idle");
	a->load.load.policy = by_policy[a->policy];
	a->load.load.topology = o->topology;
	a->load.load.length = o->length;
	a->load.load.tasks = run->arrivals ? run->arrivals : LOAD_ARRIVALS;
	return load_options_finish(&a->load);
}

int arguments_parse(struct arguments *a, int argc, char **argv)
{
	struct eh_tree_options *tree = &a->run.tree;
	int code;

	*a = (struct arguments){ .run = { .tree = { .topology = { 3, 2 },
						    .length = EH_TASK,
						    .threshold = THRESHOLD_NOT_GIVEN } },
				 .load = { .load = { .transfer = -1, .hold = -1 } },
				 .seed = 1,
				 .runs = 1 };
	code = options_parse(argc, argv, table, a);
	if (code)
		return code;
	if (optind < argc)
		return bad_usage("%s: not understood", argv[optind]);
	if (a->decisions && a->runs > 1)
		return bad_usage("--decisions: of one run only, not of --runs %u",
				 (unsigned int)a->runs);
	code = arguments_check_load(a);
	if (code)
		return code;
	tree->policy = a->policy <= EH_HINT ? (enum eh_policy)a->policy : EH_ETA;
	if (!a->run.arrivals)
		a->run.arrivals = ARRIVALS;
	/* Two states: with a threshold of 0 all would be senders. */
	if (tree->threshold == THRESHOLD_NOT_GIVEN)
		tree->threshold = tree->policy == EH_ETA1 || tree->policy == EH_ETA2 ? EH_TASK : 0;
	return arguments_check_messages(a);
}

int arguments_failures(struct arguments *a)
{
	double length = (double)run_arrivals(&a->run);

	for (size_t i = 0; i < a->nfail; i++) {
		struct failure *f = &a->failures[i];
		const char *wrong = failure_parse(a->fail[i], &a->run.tree.topology, f);

		if (!wrong && (f->at > length || f->until > length))
			wrong = "that is after the last arrival";
		if (wrong)
			return bad_usage("--fail '%s': %s", a->fail[i], wrong);
	}
	a->run.failures = a->failures;
	a->run.nfailures = a->nfail;
	return 0;
}

void arguments_free(struct arguments *a)
{
	load_options_free(&a->load);
}
