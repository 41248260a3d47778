// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl gang: one SPMD job on the hosts of the live cluster on which the model says it is fastest. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cluster.h"
#include "ehplan.h"
#include "gang_learn.h"
#include "gang_place.h"
#include "gang_run.h"
#include "live.h"
#include "remote.h"
#include "plan/json.h"
#include "tools/ehctl/client.h"

#define AGAIN_MS 500 /* between two questions for hosts */
#define ANY_HOST 2.0 /* a threshold above every utilisation */

#define SLOWDOWN_UNSET (GANG_FAIR + 1)

static struct settings {
	const char *model, *only, *profile, *assign;
	unsigned int slowdown;
	double min_speedup, startup, wait;
	uint64_t most, least, slots;
	bool learn, quiet;
} settings = { .slowdown = SLOWDOWN_UNSET, .wait = 10, .least = 1, .slots = 1 };

static const struct option_row options[] = {
	{ "model", OPTION_TEXT, offsetof(struct settings, model), "FILE",
	  .help = "model of the job, as for `ehctl plan gang`; hosts in it are ignored" },
	{ "learn", OPTION_FLAG, offsetof(struct settings, learn), NULL,
	  .help = "the model is how long earlier runs of CMD took, and on how many hosts" },
	{ "profile", OPTION_TEXT, offsetof(struct settings, profile), "FILE",
	  .help = "the job writes there what its ranks compute and send: it has examples/profile.c" },
	{ "assign", OPTION_TEXT, offsetof(struct settings, assign), "FILE",
	  .help = "as many ranks as in this profile, each on the host of the gang on which the\n"
		  "busiest host costs least (paper 0)" },
	{ "slowdown", OPTION_WORD, offsetof(struct settings, slowdown), "paper|fair",
	  .wanted = "paper or fair is needed",
	  .help = "slowdown of a busy host: paper, 1/(1-utilization); fair, that of a\n"
		  "time-sharing scheduler (default: paper; with --learn fair)" },
	{ "min-speedup", OPTION_REAL, offsetof(struct settings, min_speedup), "X",
	  .real = { 1e-9, 1e12 }, .wanted = "a number above 0 is needed",
	  .help = "ask only hosts with which the job is X times as fast as on one" },
	{ "hosts", OPTION_TEXT, offsetof(struct settings, only), "A,B,…",
	  .help = "use these hosts only" },
	{ "least", OPTION_COUNT, offsetof(struct settings, least), "N", .count = { 1, 1 << 20 },
	  .wanted = "a number from 1 is needed",
	  .help = "use at least N hosts (1); with --learn, for a CMD that does not run on fewer" },
	{ "most", OPTION_COUNT, offsetof(struct settings, most), "N", .count = { 1, 1 << 20 },
	  .wanted = "a number from 1 is needed", .help = "use at most N hosts (all)" },
	{ "slots", OPTION_COUNT, offsetof(struct settings, slots), "N", .count = { 1, 1024 },
	  .wanted = "a number from 1 to 1024 is needed", .help = "parts on each host (1)" },
	{ "startup", OPTION_REAL, offsetof(struct settings, startup), "S", .real = { 0, 86400 },
	  .wanted = "seconds from 0 to 86400 are needed",
	  .help = "seconds that the launcher itself takes, added to the prediction (0)" },
	{ "wait", OPTION_REAL, offsetof(struct settings, wait), "S", .real = { 0, 1e9 },
	  .wanted = "seconds are needed",
	  .help = "seconds to keep asking while too few hosts are free (10)" },
	{ "quiet", OPTION_FLAG, offsetof(struct settings, quiet), NULL,
	  .help = "do not print predicted and real times" },
	{ 0 },
};

/* ---- the problem ---- */

/* The model of the file with these hosts: what `ehctl plan gang` would be given. */
static int read_problem(struct gang_problem *p, const json_t *document, json_t *hosts_stolen)
{
	json_t *all = json_pack("{s:o, s:O?}", "hosts", hosts_stolen, "model",
				json_object_get(document, "model"));
	char *text = all ? json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	struct plan_refusal refusal;
	int err, code = 0;

	json_decref(all);
	if (!text)
		return fail(EXIT_REFUSED, "no memory");
	err = gang_problem_read(p, text, strlen(text), &refusal);
	free(text);
	if (err) {
		code = call_refused(settings.model, &refusal, err);
		gang_problem_end(p);
		*p = (struct gang_problem){ 0 };
	}
	/*
	 * What was learned was measured, and a busy host is not as slow as by equation (1), by which a run
	 * that shared its hosts would be known as one of no time at all.
	 */
	if (settings.slowdown == SLOWDOWN_UNSET)
		p->slowdown = settings.learn ? GANG_FAIR : GANG_PAPER;
	else
		p->slowdown = (enum gang_slowdown)settings.slowdown;
	return code;
}

static json_t *host_json(const char *name, double utilization)
{
	return json_pack("{s:s, s:f}", "id", name, "utilization", utilization);
}

/* All hosts that are up, as if they were idle. 0 or an exit code after a message. */
static int idle_hosts(json_t **hosts)
{
	struct cluster cluster;
	int code = cluster_open(&cluster, &(struct cluster_wish){ .only = settings.only });

	*hosts = code ? NULL : json_array();
	for (uint32_t i = 0; i < cluster.n && !code; i++)
		if (cluster.hosts[i].up)
			json_array_append_new(*hosts, host_json(cluster.hosts[i].name, 0));
	cluster_close(&cluster);
	return code;
}

/* Largest utilisation with which the whole cluster is as fast as --min-speedup asks. */
static int find_threshold(struct gang_run *run, const json_t *document, json_t *hosts_stolen)
{
	struct gang_problem idle = { 0 };
	struct gang_plan plan = { 0 };
	int code = read_problem(&idle, document, hosts_stolen);

	run->threshold = ANY_HOST;
	if (code || !(settings.min_speedup > 0))
		goto out;
	idle.min_speedup = settings.min_speedup;
	if (gang_plan(&plan, &idle) == -ERANGE || plan.threshold < 0)
		code = fail(
			EXIT_REFUSED,
			"all hosts together are not %g times as fast as one, even when they are idle",
			settings.min_speedup);
	else if (plan.threshold < 1)
		run->threshold = plan.threshold;
out:
	gang_plan_end(&plan);
	gang_problem_end(&idle);
	return code;
}

/* ---- the choice ---- */

/* The best prefix within these and --least and --most; 0: any number. */
static void take_best(struct gang_run *run, const struct gang_plan *plan, uint32_t least,
		      uint32_t most)
{
	run->predicted = INFINITY;
	for (uint32_t i = 0; i < plan->nprefixes; i++) {
		uint32_t count = plan->counts[i];

		if (count < settings.least || (settings.most && count > settings.most) ||
		    count < least || (most && count > most) || !(plan->times[i] < run->predicted))
			continue;
		run->predicted = plan->times[i];
		run->count = count;
	}
	run->predicted += settings.startup;
	run->alone = plan->alone;
}

static int choose(struct gang_run *run, const json_t *document)
{
	json_t *hosts = json_array();
	struct gang_plan plan = { 0 };
	char why[256];
	int code;

	for (uint32_t i = 0; i < run->n; i++)
		json_array_append_new(hosts,
				      host_json(run->offers[i].host, run->offers[i].utilization));
	code = read_problem(&run->problem, document, hosts);
	if (code)
		return code;
	if (gang_plan(&plan, &run->problem)) {
		gang_plan_end(&plan);
		return fail(EXIT_REFUSED, "no memory");
	}
	if (!gang_check(&plan, &run->problem, why, sizeof(why))) {
		gang_plan_end(&plan);
		return fail(EXIT_REFUSED, "the plan is wrong, and not used: %s", why);
	}
	take_best(run, &plan, run->least, run->most);
	/* so many cannot be had: one that is not known is better than none */
	if (!run->count)
		take_best(run, &plan, 0, 0);
	/* they are the run's now */
	run->chosen = plan.order;
	run->counts = plan.counts;
	run->times = plan.times;
	run->nprefixes = plan.nprefixes;
	return 0;
}

static bool fast_enough(const struct gang_run *run)
{
	return !(settings.min_speedup > 0) ||
	       run->alone / (run->predicted - settings.startup) >= settings.min_speedup;
}

static void drop_choice(struct gang_run *run)
{
	free(run->chosen);
	free(run->counts);
	free(run->times);
	run->chosen = run->counts = NULL;
	run->times = NULL;
	run->count = run->nprefixes = 0;
	gang_problem_end(&run->problem);
	gang_hosts_forget(run);
}

/* `ranks`: of the profile. */
static int nothing_found(const struct gang_run *run, uint32_t ranks)
{
	int code;

	if (run->refusal && client_refused(run->refusal, &code))
		return code;
	if (run->count && !fast_enough(run))
		return fail(
			EXIT_REFUSED,
			"no set of the %u hosts that are free is %g times as fast as one idle host",
			run->n, settings.min_speedup);
	if (settings.assign)
		return fail(
			EXIT_REFUSED,
			"%u hosts are free, and the %u ranks of %s need %llu with %u slots each",
			run->n, ranks, settings.assign, (unsigned long long)settings.least,
			run->slots);
	if (run->n < settings.least)
		return fail(EXIT_REFUSED, "%u hosts are free%s, and %llu are needed (--least)",
			    run->n, run->threshold < 1 ? " and below the threshold" : "",
			    (unsigned long long)settings.least);
	return fail(EXIT_REFUSED,
		    "%u hosts are free%s, and the model has no time for any number of them that is "
		    "allowed",
		    run->n, run->threshold < 1 ? " and below the threshold" : "");
}

/* Another gang may have them for a moment only. 0 or an exit code. */
static int find_hosts(struct gang_run *run, const json_t *document, uint32_t ranks)
{
	double until = progress_now() + settings.wait;
	struct pollfd p = { run->signals, POLLIN, 0 };
	int code, ended;

	for (;;) {
		code = gang_hosts_ask(run, settings.only);
		if (!code && run->n)
			code = choose(run, document);
		if (!code && run->count && fast_enough(run))
			code = gang_hosts_occupy(run);
		else if (!code && progress_now() < until)
			goto again;
		else if (!code)
			code = nothing_found(run, ranks);
		return code;
again:
		gang_hosts_release(run);
		drop_choice(run);
		poll(&p, 1, AGAIN_MS);
		ended = remote_take_signal(run->signals);
		if (ended)
			return fail(128 + ended, "interrupted");
	}
}

/* ---- what was ---- */

/* Without a prediction the model only says which number of hosts is tried. */
static json_t *seconds_json(const struct gang_run *run, double seconds)
{
	return isnan(run->predicted) ? json_null() : json_real(seconds);
}

static json_t *document_of(const struct gang_run *run)
{
	json_t *hosts = json_array(), *offered = json_array(), *prefixes = json_array();

	for (uint32_t i = 0; i < run->count; i++)
		json_array_append_new(hosts, json_string(run->offers[run->chosen[i]].host));
	for (uint32_t i = 0; i < run->n; i++)
		json_array_append_new(offered,
				      json_pack("{s:s, s:f}", "host", run->offers[i].host,
						"utilization", run->offers[i].utilization));
	for (uint32_t i = 0; i < run->nprefixes; i++)
		json_array_append_new(prefixes,
				      json_pack("{s:i, s:o}", "count", (int)run->counts[i],
						"seconds", seconds_json(run, run->times[i])));
	json_t *document = json_pack(
		"{s:i, s:o, s:i, s:o, s:f, s:f, s:o, s:o, s:o, s:i, s:b}", "version", 1, "hosts",
		hosts, "count", (int)run->count, "predicted", seconds_json(run, run->predicted),
		"real", run->real, "startup", settings.startup, "threshold",
		run->threshold <= 1 ? json_real(run->threshold) : json_null(), "offered", offered,
		"prefixes", prefixes, "status", run->code, "lost", (int)run->lost);

	if (run->place)
		json_object_set_new(document, "assign", gang_place_json(run, run->place));
	return document;
}

static int tell(const struct gang_run *run, bool json)
{
	if (json)
		return json_print_new(document_of(run));
	if (!settings.quiet && run->place)
		fprintf(stderr,
			"%u of %u free hosts: %.3f s; ranks by %s: cost %.3f s, in the order of hosts %.3f s\n",
			run->count, run->n, run->real, settings.assign, run->place->cost,
			run->place->in_order);
	else if (!settings.quiet && isnan(run->predicted))
		fprintf(stderr, "%u of %u free hosts: %.3f s; nothing was predicted yet\n",
			run->count, run->n, run->real);
	else if (!settings.quiet)
		fprintf(stderr, "%u of %u free hosts: %.3f s; predicted: %.3f s\n", run->count,
			run->n, run->real, run->predicted);
	return 0;
}

/* ---- the command ---- */

static int read_model(json_t **document)
{
	struct plan_refusal refusal;
	size_t length;
	char *text;
	int code;

	code = call_read(settings.model, &settings.model, &text, &length);
	if (code)
		return code;
	*document = plan_json_parse(text, length, &refusal);
	free(text);
	return *document ? 0 : call_refused(settings.model, &refusal, -EINVAL);
}

/* As many hosts as the ranks of the profile need. 0 or an exit code after a message. */
static int fit_profile(const struct gang_place *place)
{
	uint64_t ranks = place->profile.ranks;
	uint64_t needed = (ranks + settings.slots - 1) / settings.slots;

	if (needed < settings.least && settings.least <= ranks)
		needed = settings.least;
	if (settings.least > needed || (settings.most && settings.most < needed))
		return fail(EXIT_USAGE,
			    "--%s: the %llu ranks of %s need %llu hosts with %llu slots",
			    settings.least > needed ? "least" : "most", (unsigned long long)ranks,
			    settings.assign, (unsigned long long)needed,
			    (unsigned long long)settings.slots);
	settings.least = settings.most = needed;
	return 0;
}

/* The model, by --model, --learn or --assign, and the threshold. 0 or an exit code after a message. */
static int prepare(struct gang_run *run, struct gang_learner *learner, struct gang_place *place,
		   char **words, json_t **document)
{
	json_t *hosts;
	int code = 0;

	if (settings.assign) {
		code = gang_place_read(place, settings.assign);
		if (!code)
			code = fit_profile(place);
	} else if (settings.model) {
		code = read_model(document);
	}

	if (!code)
		code = idle_hosts(&hosts);
	if (code)
		return code;
	if (settings.learn) {
		*document = gang_learner_model(
			learner, words, (uint32_t)json_array_size(hosts),
			&(struct gang_wish){ settings.least, settings.most, settings.slots });
		settings.model = "--learn";
		run->least = learner->least;
		run->most = learner->most;
		/* what is tried for the first time is not known to be faster than anything */
		if (learner->tries)
			settings.min_speedup = 0;
	}
	if (settings.assign) {
		*document = gang_learner_try((uint32_t)settings.least, (uint32_t)settings.least);
		settings.model = "--assign";
	}
	if (!*document) {
		json_decref(hosts);
		return fail(EXIT_REFUSED, "no memory");
	}
	return find_threshold(run, *document, hosts);
}

static int carry_out(struct gang_run *run, struct gang_learner *learner, char **words, bool json)
{
	int code = gang_job_run(run, words, json);

	gang_hosts_release(run);
	if (code)
		return code;
	if (learner->tries || run->place)
		run->predicted = NAN;
	code = tell(run, json);
	if (!code && !run->code && settings.learn)
		gang_learner_put(learner, run, run->real - settings.startup);
	return code ? code : run->code;
}

static int run_gang(void *ctx, char **rest, bool json)
{
	struct gang_run run = { .agent = -1, .signals = -1 };
	struct gang_learner learner = { 0 };
	struct gang_profile profile = { 0 };
	struct gang_place place = { 0 };
	json_t *document = NULL;
	int code;

	if (!rest[0] || !!settings.model + settings.learn + !!settings.assign != 1)
		return bad_usage(
			"one of --model FILE, --learn and --assign FILE, and a command, are needed");
	if (settings.assign && settings.min_speedup > 0)
		return bad_usage("--min-speedup needs a model, and --assign has none");
	if (settings.most && settings.most < settings.least)
		return bad_usage("--most is less than --least");
	run.slots = (uint32_t)settings.slots;
	code = prepare(&run, &learner, &place, rest, &document);
	if (!code && settings.profile)
		code = gang_profile_begin(&profile, settings.profile);
	if (!code)
		code = (run.signals = remote_signals(SFD_NONBLOCK)) < 0 ? EXIT_REFUSED : 0;
	if (!code)
		code = find_hosts(&run, document, place.profile.ranks);
	if (!code && settings.assign)
		code = gang_place_make(&run, &place);
	if (!code)
		code = gang_files_write(&run);
	if (!code)
		code = carry_out(&run, &learner, rest, json);
	if (!code && settings.profile)
		code = gang_profile_check(&profile);
	gang_learner_end(&learner);
	gang_files_remove(&run);
	gang_place_end(&place);
	gang_profile_end(&profile);
	drop_choice(&run);
	if (run.signals >= 0)
		close(run.signals);
	json_decref(document);
	return code;
}

const struct live_command gang_live = {
	.name = "gang",
	.arguments =
		"--model FILE|--learn|--assign FILE [--profile FILE] [--slowdown paper|fair]\n"
		"       [--min-speedup X] [--hosts A,B,…] [--least N] [--most N] [--slots N] [--startup S]\n"
		"       [--wait S] [--quiet] [--json] -- CMD…",
	.help = "run a parallel job on the hosts on which it is fastest (paper 1)\n\n"
		"Hosts that no other gang has say how busy they are; the model says which of them are the\n"
		"best set. These belong to the job until it ends. CMD is a launcher of MPI, such as\n"
		"mpirun: it is given a hostfile and starts its parts by ehrsh. In CMD, {count}, {ranks},\n"
		"{hosts}, {hostfile} and {rankfile} are filled in. The exit status is that of CMD.",
	.options = options,
	.run = run_gang,
	.settings = &settings,
};
