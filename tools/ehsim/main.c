// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl sim: what the hierarchy would do, as the paper's experiment or from a trace. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ehsim.h"

static const char *const policies[] = { "eta", "eta1", "eta2", "hint", NULL };
static const char *const descents[] = { "random", "least", NULL };
static const char *const preferences[] = { "nearest", "receiver", NULL };
static const char *const initiations[] = { "sender", "bidirectional", NULL };
static const char *const changes[] = { "broadcast", "lazy", NULL };

struct arguments {
	struct sim_options sim;
	uint64_t seed;
	unsigned int runs;
	bool decisions, threshold_given;
	const char *trace, *plot;
	const char *fail[SIM_FAILURES_MAX];
	size_t nfail;
	struct sim_failure failures[SIM_FAILURES_MAX];
};

enum {
	O_TOPOLOGY = 1,
	O_POLICY,
	O_THRESHOLD,
	O_LENGTH,
	O_ARRIVALS,
	O_RELEASE,
	O_SEED,
	O_RUNS,
	O_DESCENT,
	O_PREFER,
	O_INITIATION,
	O_CHANGES,
	O_DELAY,
	O_MESSAGES,
	O_LOSS,
	O_HEARTBEAT,
	O_FAIL,
	O_TRACE,
	O_DECISIONS,
	O_PLOT,
};

static const struct option options[] = {
	{ "topology", required_argument, NULL, O_TOPOLOGY },
	{ "policy", required_argument, NULL, O_POLICY },
	{ "threshold", required_argument, NULL, O_THRESHOLD },
	{ "length", required_argument, NULL, O_LENGTH },
	{ "arrivals", required_argument, NULL, O_ARRIVALS },
	{ "release", required_argument, NULL, O_RELEASE },
	{ "seed", required_argument, NULL, O_SEED },
	{ "runs", required_argument, NULL, O_RUNS },
	{ "descent", required_argument, NULL, O_DESCENT },
	{ "prefer", required_argument, NULL, O_PREFER },
	{ "initiation", required_argument, NULL, O_INITIATION },
	{ "changes", required_argument, NULL, O_CHANGES },
	{ "delay", required_argument, NULL, O_DELAY },
	{ "messages", no_argument, NULL, O_MESSAGES },
	{ "loss", required_argument, NULL, O_LOSS },
	{ "heartbeat", required_argument, NULL, O_HEARTBEAT },
	{ "fail", required_argument, NULL, O_FAIL },
	{ "trace", required_argument, NULL, O_TRACE },
	{ "decisions", no_argument, NULL, O_DECISIONS },
	{ "plot", required_argument, NULL, O_PLOT },
	{ 0 },
};

/* ---- options ---- */

static int parse_option(struct arguments *a, int option, const char *text)
{
	struct eh_tree_options *tree = &a->sim.tree;
	uint64_t number = 0;
	int word = 0;

	switch (option) {
	case O_TOPOLOGY:
		return eh_topology_parse(text, &tree->topology) ||
		       tree->topology.n * tree->topology.l > 24;
	case O_POLICY:
		word = word_of(policies, text);
		tree->policy = word;
		return word < 0;
	case O_THRESHOLD:
		a->threshold_given = true;
		return sim_parse_tasks(text, EH_TREE_VALUE_MAX, &tree->threshold);
	case O_LENGTH:
		return sim_parse_tasks(text, EH_TREE_VALUE_MAX, &tree->length);
	case O_ARRIVALS:
		return parse_count(text, UINT32_MAX, &a->sim.arrivals) || !a->sim.arrivals;
	case O_RELEASE:
		return parse_real(text, 1, &a->sim.release);
	case O_SEED:
		return parse_count(text, UINT64_MAX, &a->seed);
	case O_RUNS:
		if (parse_count(text, 1000000, &number) || !number)
			return -EINVAL;
		a->runs = number;
		return 0;
	case O_DESCENT:
		word = word_of(descents, text);
		tree->least = word == 1;
		return word < 0;
	case O_PREFER:
		word = word_of(preferences, text);
		tree->receiver_first = word == 1;
		return word < 0;
	case O_INITIATION:
		word = word_of(initiations, text);
		tree->bidirectional = word == 1;
		return word < 0;
	case O_CHANGES:
		word = word_of(changes, text);
		tree->lazy = word == 1;
		return word < 0;
	case O_DELAY:
		return parse_real(text, 1e5, &a->sim.delay);
	case O_MESSAGES:
		a->sim.messages = true;
		return 0;
	case O_LOSS:
		return parse_real(text, 1, &a->sim.loss);
	case O_HEARTBEAT:
		return parse_real(text, 1e6, &a->sim.heartbeat) || a->sim.heartbeat < 0.1;
	case O_FAIL:
		if (a->nfail == SIM_FAILURES_MAX)
			return -EINVAL;
		a->fail[a->nfail++] = text;
		return 0;
	case O_TRACE:
		a->trace = text;
		return 0;
	case O_DECISIONS:
		a->decisions = true;
		return 0;
	default:
		a->plot = text;
		return 0;
	}
}

/* What each option wants, for the message. */
static const char *wanted(int option)
{
	switch (option) {
	case O_TOPOLOGY:
		return "n,l with n*l at most 24 is needed, such as 3,2";
	case O_POLICY:
		return "eta, eta1, eta2 or hint is needed";
	case O_DESCENT:
		return "random or least is needed";
	case O_PREFER:
		return "nearest or receiver is needed";
	case O_INITIATION:
		return "sender or bidirectional is needed";
	case O_CHANGES:
		return "broadcast or lazy is needed";
	case O_RELEASE:
	case O_LOSS:
		return "a probability is needed, from 0 to 1";
	case O_HEARTBEAT:
		return "a number of mean inter-arrival times is needed, 0.1 or more";
	case O_FAIL:
		return "too many of them";
	case O_THRESHOLD:
	case O_LENGTH:
		return "a number of tasks is needed, such as 1 or 0.5";
	default:
		return "no such number";
	}
}

/* What --messages cannot do, and what only it can. */
static int check_messages(const struct arguments *a)
{
	const struct eh_tree_options *o = &a->sim.tree;

	if (!a->sim.messages)
		return a->nfail || a->sim.loss > 0 || a->sim.heartbeat > 0
			       ? bad_usage("--fail, --loss, --heartbeat: only with --messages")
			       : 0;
	if (o->policy != EH_ETA || o->receiver_first || o->bidirectional)
		return bad_usage("--messages: with --policy eta, --prefer nearest and "
				 "--initiation sender only, as the agents have them");
	if (o->topology.n * o->topology.l > 12)
		return bad_usage("--messages: of a topology with n*l at most 12");
	if (a->plot)
		return bad_usage("--plot: not with --messages");
	return 0;
}

/* Once the topology is known, and how long the run is. */
static int parse_failures(struct arguments *a)
{
	double length = (double)a->sim.arrivals;

	if (a->sim.trace) {
		length = 0;
		for (size_t i = 0; i < a->sim.trace->count; i++)
			length += !a->sim.trace->events[i].finish;
	}
	for (size_t i = 0; i < a->nfail; i++) {
		struct sim_failure *f = &a->failures[i];
		const char *wrong = sim_failure_parse(a->fail[i], &a->sim.tree.topology, f);

		if (!wrong && (f->at > length || f->until > length))
			wrong = "that is behind the last arrival";
		if (wrong)
			return bad_usage("--fail '%s': %s", a->fail[i], wrong);
	}
	a->sim.failures = a->failures;
	a->sim.nfailures = a->nfail;
	return 0;
}

static int parse_arguments(struct arguments *a, int argc, char **argv)
{
	int option, index = 0;

	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, "+:", options, &index)) != -1) {
		if (option == '?')
			return bad_usage("%s: no such option", argv[optind - 1]);
		if (option == ':')
			return bad_usage("%s: a value is needed", argv[optind - 1]);
		if (parse_option(a, option, optarg))
			return bad_usage("--%s %s: %s", options[index].name, optarg,
					 wanted(option));
	}
	if (optind < argc)
		return bad_usage("%s: not understood", argv[optind]);
	if (a->decisions && a->runs > 1)
		return bad_usage("--decisions: of one run only, not of --runs %u", a->runs);
	if (check_messages(a))
		return EXIT_USAGE;
	/* Two states: with a threshold of 0 all would be senders. */
	if (!a->threshold_given && (a->sim.tree.policy == EH_ETA1 || a->sim.tree.policy == EH_ETA2))
		a->sim.tree.threshold = EH_TASK;
	return 0;
}

/* ---- runs and their sums ---- */

struct sums {
	const struct arguments *arguments;
	unsigned int run;
	json_t *decisions;
	double mpn, mpn2, spread, spread2, total;
	struct eh_tree_counts counts;
	struct sim_protocol protocol;
	uint64_t load_min, load_max, refusal_min, refusal_max;
	size_t bytes;
	double seconds, cpu; /* of processor time */
};

static void progressed(void *ctx, uint64_t arrivals, const struct eh_tree *tree)
{
	const struct sums *s = ctx;
	const struct sim_options *sim = &s->arguments->sim;
	uint64_t each = sim->trace ? sim->trace->count : sim->arrivals;

	show_progress("running", s->run * each + arrivals, s->arguments->runs * each);
}

static json_t *path_of(const struct eh_topology *t, uint32_t from, uint32_t to, uint64_t seed)
{
	struct eh_code path[EH_PATH_MAX];
	int length = eh_path(t, (struct eh_code){ 0, from }, (struct eh_code){ 0, to }, seed, path);
	json_t *list = json_array();
	char text[EH_CODE_TEXT];

	for (int i = 0; i < length; i++)
		json_array_append_new(list, json_string(eh_code_format(t, path[i], text)));
	return list;
}

static void decided(void *ctx, uint32_t task, uint32_t at, const struct eh_tree_update *up)
{
	struct sums *s = ctx;
	const struct eh_topology *t = &s->arguments->sim.tree.topology;
	const struct sim_trace *trace = s->arguments->sim.trace;
	char number[16], from[EH_CODE_TEXT], to[EH_CODE_TEXT];

	snprintf(number, sizeof(number), "%u", task);
	eh_code_format(t, (struct eh_code){ 0, at }, from);
	eh_code_format(t, (struct eh_code){ 0, up->node }, to);
	json_array_append_new(
		s->decisions,
		json_pack("{s:s,s:s,s:s?,s:i,s:o}", "id", trace ? trace->ids[task] : number, "at",
			  from, "to", up->refused ? NULL : to, "probes", (int)up->probes, "path",
			  up->refused ? json_array() : path_of(t, at, up->node, task)));
}

static void add_counts(struct eh_tree_counts *to, const struct eh_tree_counts *from)
{
	uint64_t *sum = (uint64_t *)to;
	const uint64_t *one = (const uint64_t *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += one[i];
}

static int run_all(struct sums *s)
{
	const struct arguments *a = s->arguments;
	struct sim_watch watch = { .ctx = s,
				   .decided = a->decisions ? decided : NULL,
				   .sampled = isatty(STDERR_FILENO) ? progressed : NULL,
				   .every = 1 << 16 };
	double began = seconds_of(CLOCK_MONOTONIC);
	double began_cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

	for (s->run = 0; s->run < a->runs; s->run++) {
		struct sim_result r;
		int err = sim_run(&a->sim, a->seed + s->run, &watch, &r);
		double mpn, spread;

		if (err)
			return fail(EXIT_REFUSED, "run %u: %s", s->run + 1,
				    err == -ENOMEM ? "no memory" : "more load than can be counted");
		mpn = r.counts.arrivals ? (double)r.counts.probes / (double)r.counts.arrivals : 0;
		spread = (double)(r.load_max - r.load_min) / EH_TASK;
		s->mpn += mpn;
		s->mpn2 += mpn * mpn;
		s->spread += spread;
		s->spread2 += spread * spread;
		s->total += (double)r.load_total / EH_TASK;
		add_counts(&s->counts, &r.counts);
		sim_protocol_add(&s->protocol, &r.protocol);
		s->load_min = r.load_min < s->load_min ? r.load_min : s->load_min;
		s->load_max = r.load_max > s->load_max ? r.load_max : s->load_max;
		if (r.refused) {
			s->refusal_min =
				r.first_refusal < s->refusal_min ? r.first_refusal : s->refusal_min;
			s->refusal_max =
				r.first_refusal > s->refusal_max ? r.first_refusal : s->refusal_max;
		}
		s->bytes = r.bytes;
		if (watch.sampled)
			show_progress("running", s->run + 1, a->runs);
	}
	s->seconds = seconds_of(CLOCK_MONOTONIC) - began;
	s->cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - began_cpu;
	return 0;
}

/* ---- what is printed ---- */

static double deviation(double sum, double squares, unsigned int n)
{
	double variance = n > 1 ? (squares - sum * sum / n) / (n - 1) : 0;

	return variance > 0 ? sqrt(variance) : 0;
}

static json_t *tasks_json(bool known, uint64_t thousandths)
{
	if (!known)
		return json_null();
	if (thousandths % EH_TASK == 0)
		return json_integer((json_int_t)(thousandths / EH_TASK));
	return json_real((double)thousandths / EH_TASK);
}

static json_t *result_json(const struct sums *s)
{
	const struct arguments *a = s->arguments;
	const struct eh_tree_options *o = &a->sim.tree;
	const struct eh_tree_counts *c = &s->counts;
	bool refused = s->refusal_max != 0 || c->refused;
	double nodes = (double)(1u << o->topology.n * o->topology.l), runs = a->runs;
	json_t *doc;

	doc = json_pack("{s:i,s:s,s:{s:i,s:i},s:I,s:i,s:I,s:{s:f,s:f},s:{s:f},s:I,s:{s:o,s:o},s:I}",
			"version", 1, "policy", policies[o->policy], "topology", "n",
			(int)o->topology.n, "l", (int)o->topology.l, "arrivals",
			(json_int_t)c->arrivals / a->runs, "runs", (int)a->runs, "seed",
			(json_int_t)a->seed, "mpn", "mean", s->mpn / runs, "sd",
			deviation(s->mpn, s->mpn2, a->runs), "threshold_changes", "mean",
			(double)c->changes / runs, "refused", (json_int_t)c->refused,
			"first_refusal_load", "min", tasks_json(refused, s->refusal_min), "max",
			tasks_json(refused, s->refusal_max), "transfers", (json_int_t)c->transfers);
	if (!doc)
		return NULL;
	json_object_set_new(doc, "load",
			    json_pack("{s:o,s:o,s:f}", "min", tasks_json(true, s->load_min), "max",
				      tasks_json(true, s->load_max), "total", s->total / runs));
	json_object_set_new(doc, "spread",
			    json_pack("{s:f,s:f}", "mean", s->spread / runs, "sd",
				      deviation(s->spread, s->spread2, a->runs)));
	json_object_set_new(
		doc, "looked_at",
		json_pack("{s:f}", "mean",
			  c->arrivals ? (double)(c->probes + c->forwards) / (double)c->arrivals
				      : 0));
	json_object_set_new(
		doc, "messages",
		json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "forwards",
			  (double)c->forwards / runs, "probes", (double)c->probes / runs,
			  "receiver_probes", (double)c->receiver_probes / runs, "thresholds",
			  (double)c->threshold_messages / runs, "rides", (double)c->rides / runs,
			  "states", (double)c->state_messages / runs, "hints",
			  (double)c->hint_messages / runs, "offers", (double)c->offers / runs,
			  "offers_used", (double)c->offers_used / runs, "missed",
			  (double)c->missed / runs));
	json_object_set_new(doc, "seconds", json_real(s->seconds));
	json_object_set_new(doc, "decisions_per_second",
			    json_real(s->cpu > 0 ? (double)c->arrivals / s->cpu : 0));
	json_object_set_new(doc, "bytes_per_node",
			    a->sim.messages ? json_null() : json_real((double)s->bytes / nodes));
	json_object_set_new(doc, "protocol",
			    a->sim.messages ? sim_protocol_json(&s->protocol, a->runs)
					    : json_null());
	if (a->decisions)
		json_object_set(doc, "decisions", s->decisions);
	return doc;
}

static void print_text(const struct sums *s)
{
	const struct arguments *a = s->arguments;
	const struct eh_tree_options *o = &a->sim.tree;
	const struct eh_tree_counts *c = &s->counts;
	double runs = a->runs;
	const json_t *decision;
	size_t i;

	json_array_foreach(s->decisions, i, decision)
		printf("%s at %s to %s, %s probes\n", text_of(decision, "id"),
		       text_of(decision, "at"), text_of(decision, "to"),
		       integer_of(decision, "probes"));
	printf("%s on EH(%u,%u), %u run%s of %llu arrivals\n", policies[o->policy], o->topology.n,
	       o->topology.l, a->runs, a->runs > 1 ? "s" : "",
	       (unsigned long long)c->arrivals / a->runs);
	printf("controllers probed for an arrival (MPN)  %.3f ± %.3f\n", s->mpn / runs,
	       deviation(s->mpn, s->mpn2, a->runs));
	printf("and with those it was sent down through  %.3f\n",
	       c->arrivals ? (double)(c->probes + c->forwards) / (double)c->arrivals : 0);
	printf("threshold changes                        %.2f\n", (double)c->changes / runs);
	printf("transfers                                %.1f\n", (double)c->transfers / runs);
	if (c->refused)
		printf("refused                                  %.1f, first at load %.2f to %.2f\n",
		       (double)c->refused / runs, (double)s->refusal_min / EH_TASK,
		       (double)s->refusal_max / EH_TASK);
	printf("load of the nodes at the end             %.2f to %.2f, in one run %.2f apart\n",
	       (double)s->load_min / EH_TASK, (double)s->load_max / EH_TASK, s->spread / runs);
	if (a->sim.messages) {
		sim_protocol_print(&s->protocol, a->runs);
		return;
	}
	printf("messages: thresholds %.1f (and %.1f rode along), states %.1f, hints %.1f, offers %.1f\n",
	       (double)c->threshold_messages / runs, (double)c->rides / runs,
	       (double)c->state_messages / runs, (double)c->hint_messages / runs,
	       (double)c->offers / runs);
	if (c->missed)
		printf("declined by the executor                 %.1f\n", (double)c->missed / runs);
	printf("%.3g decisions a second, %.1f bytes a node\n",
	       s->cpu > 0 ? (double)c->arrivals / s->cpu : 0,
	       (double)s->bytes / (double)(1u << o->topology.n * o->topology.l));
}

static int simulate(int argc, char **argv, bool json)
{
	struct arguments a = { .sim = { .tree = { .topology = { 3, 2 }, .length = EH_TASK },
					.arrivals = 500 },
			       .seed = 1,
			       .runs = 1 };
	struct sums s = { .arguments = &a, .load_min = UINT64_MAX, .refusal_min = UINT64_MAX };
	struct sim_trace trace = { 0 };
	json_t *doc = NULL;
	int code;

	code = parse_arguments(&a, argc, argv);
	if (code)
		return code;
	if (a.trace) {
		code = sim_trace_read(a.trace, &a.sim.tree.topology, &trace);
		if (code)
			return code;
		a.sim.trace = &trace;
	}
	code = parse_failures(&a);
	if (code)
		goto free_trace;
	s.decisions = json_array();
	code = run_all(&s);
	if (code)
		goto put;
	if (a.plot)
		code = sim_plot(&a.sim, policies[a.sim.tree.policy], a.seed, a.runs, a.plot);
	if (code)
		goto put;
	if (json) {
		doc = result_json(&s);
		code = doc ? json_print(doc) : fail(EXIT_REFUSED, "no memory for the output");
	} else {
		print_text(&s);
	}
put:
	json_decref(doc);
	json_decref(s.decisions);
free_trace:
	sim_trace_free(&trace);
	return code;
}

static const char usage[] = "[--topology n,l] [--policy POLICY] [OPTION]… [--json]";

static const char help_text[] =
	"what the hierarchy would do, without a cluster\n\n"
	"  --topology n,l          EH(n,l); 3,2\n"
	"  --policy POLICY         eta; eta1 has no length, eta2 no changes either; with hint\n"
	"                          controllers also know where there is most room\n"
	"  --threshold T0          of each node at the start; 0, for eta1 and eta2 1\n"
	"  --length A              threshold length; 1\n"
	"  --arrivals N            random ones, of a task each; 500\n"
	"  --release P             probability that a random task ends after each arrival; 0\n"
	"  --trace FILE            these instead: `arrive NODE SIZE ID` or `finish ID` a line\n"
	"  --seed S, --runs R      runs with the seeds S, S+1, …; 1, 1\n"
	"  --descent random|least  among children of the best state; random\n"
	"  --prefer nearest|receiver  the nearest ancestor with room, or the nearest receiver\n"
	"  --initiation sender|bidirectional  whether receivers look for work too\n"
	"  --changes broadcast|lazy   thresholds are told to all, or ride on later messages\n"
	"  --delay D               what controllers hear is D mean inter-arrival times old\n"
	"  --messages              message by message, as agents do it that must find their\n"
	"                          controllers; with policy eta. Then also:\n"
	"  --delay D               mean delay of a message in mean inter-arrival times\n"
	"  --loss P                probability that a message does not arrive\n"
	"  --heartbeat H           in mean inter-arrival times; 20, or 10 D if that is more\n"
	"  --fail 'WHAT CODE@T'    at arrival T; again for more. node, controller, group or half\n"
	"                          (of a group) CODE dies, or `node@T` a random one, `top@T` the\n"
	"                          top controller; `cut CODE@T..T` parts it from the others for a\n"
	"                          while; `back CODE@T`, `back@T` starts again who is dead\n"
	"  --decisions             each placement too, with its path\n"
	"  --plot FILE.svg         figure 3 of the paper, and the spread of the loads\n"
	"Counts are sums over all runs, messages and changes means of one run; loads are tasks.\n"
	"Decisions are counted for a second of processor time.";

int main(int argc, char **argv)
{
	bool json = false, help = false;

	command_name = "sim";
	command_usage = usage;
	argc = take_common(argc, argv, &json, &help);
	if (help) {
		printf("usage: ehctl sim %s\n\n%s\n", usage, help_text);
		return finish_output(EXIT_DONE);
	}
	return finish_output(simulate(argc, argv, json));
}
