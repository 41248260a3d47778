// SPDX-License-Identifier: GPL-2.0-or-later
#include "outcome.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "ended.h"
#include "past.h"
#include "tools/common/common.h"

#define OUTCOME_KINDS 16 /* nodes, or reasons, that are named */
#define OUTCOME_LEAST_S 1 /* of less, rounding says more than work */

static json_int_t outcome_count(const json_t *object, const char *member)
{
	return json_integer_value(json_object_get(object, member));
}

static double outcome_number(const json_t *object, const char *member)
{
	return json_number_value(json_object_get(object, member));
}

/* ---- what the history has ---- */

static json_t *outcome_groups(const char *session, json_int_t since, const char *by,
			      const char *reason, int *code)
{
	json_t *ask = json_pack("{s:s,s:I}", "session", session, "since", since);

	if (reason)
		json_object_set_new(ask, "reason", json_string(reason));
	return past_groups(ask, by, code);
}

/* Those with the most tasks first. */
static void outcome_insert(json_t *list, json_t *one)
{
	size_t i = json_array_size(list);

	while (i &&
	       outcome_count(json_array_get(list, i - 1), "tasks") < outcome_count(one, "tasks"))
		i--;
	json_array_insert_new(list, i, one);
}

/* Adds up the groups of nodes; the list has those that tasks went to. */
static void outcome_add_nodes(json_t *outcome, const json_t *groups)
{
	static const char *const counts[] = { "tasks", "away", "running", "failed", "lost" };
	json_t *nodes = json_array(), *group;
	const char *started, *last, *first = "", *end = "";
	double cpu = 0;
	size_t i;

	for (size_t n = 0; n < sizeof(counts) / sizeof(*counts); n++) {
		json_int_t sum = 0;

		json_array_foreach((json_t *)groups, i, group)
			sum += outcome_count(group, counts[n]);
		json_object_set_new(outcome, counts[n], json_integer(sum));
	}
	json_array_foreach((json_t *)groups, i, group) {
		started = json_string_value(json_object_get(group, "started")) ?: "";
		last = json_string_value(json_object_get(group, "last")) ?: "";
		first = !*first || strcmp(started, first) < 0 ? started : first;
		end = strcmp(last, end) > 0 ? last : end;
		cpu += outcome_number(group, "cpu_away");
		if (outcome_count(group, "away"))
			outcome_insert(nodes,
				       json_pack("{s:O,s:O,s:O,s:O}", "node",
						 json_object_get(group, "key"), "host",
						 json_object_get(group, "executor_host"), "tasks",
						 json_object_get(group, "away"), "cpu_away",
						 json_object_get(group, "cpu_away")));
	}
	json_object_set_new(outcome, "started", *first ? json_string(first) : json_null());
	json_object_set_new(outcome, "last", *end ? json_string(end) : json_null());
	json_object_set_new(outcome, "cpu_away", json_real(cpu));
	json_object_set_new(outcome, "nodes", nodes);
}

static void outcome_add_reasons(json_t *outcome, const json_t *groups)
{
	json_t *stayed = json_array(), *group;
	json_int_t n;
	size_t i;

	json_array_foreach((json_t *)groups, i, group) {
		n = outcome_count(group, "tasks") - outcome_count(group, "away");
		if (n > 0)
			outcome_insert(stayed, json_pack("{s:s,s:I}", "reason",
							 text_of(group, "key"), "tasks", n));
	}
	json_object_set_new(outcome, "stayed", stayed);
}

/* What was said most often when files differed: a user can do something about these. */
static int outcome_add_files(json_t *outcome, const char *session, json_int_t since)
{
	json_t *document, *stayed;
	const json_t *text;
	int code = 0;
	size_t i;

	json_array_foreach(json_object_get(outcome, "stayed"), i, stayed) {
		if (strcmp(text_of(stayed, "reason"), "files-differ"))
			continue;
		document = outcome_groups(session, since, "text", "files-differ", &code);
		if (!document)
			return code;
		text = json_object_get(json_array_get(json_object_get(document, "groups"), 0),
				       "key");
		if (json_is_string(text))
			json_object_set(stayed, "most", (json_t *)text);
		json_decref(document);
	}
	return code;
}

static void outcome_add_times(json_t *outcome, const struct outcome_seen *seen)
{
	const double elsewhere = outcome_number(outcome, "cpu_away");
	const double all = seen->both ? seen->cpu : seen->cpu + elsewhere;
	double elapsed = seen->elapsed;

	if (elapsed < 0 && outcome_count(outcome, "running"))
		elapsed = ended_since(text_of(outcome, "started"));
	else if (elapsed < 0)
		elapsed = ended_between(text_of(outcome, "started"), text_of(outcome, "last"));
	json_object_set_new(outcome, "elapsed", json_real(elapsed));
	json_object_set_new(outcome, "cpu",
			    seen->cpu >= 0 ? json_real(fmax(all, elsewhere)) : json_null());
}

/* The process that saw its command end knows better: an agent hears of it a moment later. */
static bool outcome_is_not_over(const json_t *outcome)
{
	return outcome_count(outcome, "running") && json_is_null(json_object_get(outcome, "cpu"));
}

/*
 * Alone, this host would have needed all CPU time that is known, spread over all its processors, or more:
 * how much more depends on what nobody has measured. So this is a bound, and where it says nothing, so do
 * we.
 */
static json_t *outcome_alone(const json_t *outcome)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	const double elapsed = outcome_number(outcome, "elapsed");
	double cpu, times;

	cpu = fmax(outcome_number(outcome, "cpu"), outcome_number(outcome, "cpu_away"));
	if (processors < 1 || elapsed < OUTCOME_LEAST_S || outcome_is_not_over(outcome))
		return json_null();
	times = floor(cpu / (double)processors / elapsed * 10) / 10;
	if (times <= 1)
		return json_null();
	return json_pack("{s:i,s:f,s:f}", "processors", (int)processors, "seconds_at_least",
			 cpu / (double)processors, "times_at_least", times);
}

json_t *outcome_ask(const char *session, json_int_t since, const struct outcome_seen *seen,
		    int *code)
{
	json_t *outcome = json_pack("{s:i,s:s}", "version", 1, "session", session);
	json_t *nodes = outcome_groups(session, since, "node", NULL, code);
	json_t *reasons = nodes ? outcome_groups(session, since, "reason", NULL, code) : NULL;

	if (!reasons)
		goto fail;
	outcome_add_nodes(outcome, json_object_get(nodes, "groups"));
	outcome_add_reasons(outcome, json_object_get(reasons, "groups"));
	*code = outcome_add_files(outcome, session, since);
	if (*code)
		goto fail;
	outcome_add_times(outcome, seen);
	json_object_set_new(outcome, "alone", outcome_alone(outcome));
	json_decref(nodes);
	json_decref(reasons);
	return outcome;

fail:
	json_decref(outcome);
	json_decref(nodes);
	json_decref(reasons);
	return NULL;
}

json_t *outcome_ask_last(const char *name, int *code)
{
	static const char *const members[] = {
		"user", "uid", "home", "home_host", "exit", "signal"
	};
	const struct outcome_seen nothing = { -1, -1, false };
	json_t *sessions = outcome_groups(name, 0, "session", NULL, code), *outcome = NULL, *one;
	const json_t *groups = json_object_get(sessions, "groups"), *last = NULL;
	size_t i;

	if (!sessions)
		return NULL;
	json_array_foreach((json_t *)groups, i, one)
		if (!last || strcmp(text_of(one, "started"), text_of(last, "started")) > 0)
			last = one;
	if (!last) {
		*code = fail(
			EXIT_REFUSED,
			"%s: the history of this node has no task of such a session; `ehctl "
			"history --all --by session` lists those of all nodes: ask at its HOME",
			name);
		goto free_sessions;
	}
	outcome = outcome_ask(text_of(last, "key"), 0, &nothing, code);
	if (!outcome)
		goto free_sessions;
	for (i = 0; i < sizeof(members) / sizeof(*members); i++)
		json_object_set(outcome, members[i], json_object_get(last, members[i]));
	json_object_set_new(outcome, "earlier",
			    json_integer((json_int_t)json_array_size(groups) - 1));
free_sessions:
	json_decref(sessions);
	return outcome;
}

/* ---- in words ---- */

static void outcome_print_list(FILE *out, const json_t *list, bool nodes)
{
	json_int_t others = 0;
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)list, i, one) {
		if (i >= OUTCOME_KINDS) {
			others += outcome_count(one, "tasks");
			continue;
		}
		fprintf(out, "%s%s %s", i ? ", " : "",
			nodes ? client_host(one, "node") : text_of(one, "reason"),
			integer_of(one, "tasks"));
		if (json_object_get(one, "most"))
			fprintf(out, " (most often: %s)", text_of(one, "most"));
	}
	if (others)
		fprintf(out, ", others %" JSON_INTEGER_FORMAT, others);
}

static void outcome_print_cpu(FILE *out, const json_t *outcome)
{
	const double elsewhere = outcome_number(outcome, "cpu_away");

	if (json_is_number(json_object_get(outcome, "cpu")))
		fprintf(out, "CPU here %s, elsewhere %s",
			duration_text(fmax(outcome_number(outcome, "cpu") - elsewhere, 0)),
			duration_text(elsewhere));
	else
		fprintf(out, "CPU elsewhere %s; of what stayed it is not known",
			duration_text(elsewhere));
}

void outcome_print(FILE *out, const char *what, const char *indent, const json_t *outcome)
{
	const json_t *alone = json_object_get(outcome, "alone");
	const json_t *stayed = json_object_get(outcome, "stayed");

	fprintf(out, "%s: %s after %s; of %s %s to be placed %s ran elsewhere", what,
		outcome_is_not_over(outcome) ? "not over" : "ended",
		duration_of(outcome, "elapsed"), integer_of(outcome, "tasks"),
		outcome_count(outcome, "tasks") == 1 ? "task that was" : "tasks that were",
		integer_of(outcome, "away"));
	if (outcome_count(outcome, "away")) {
		fprintf(out, " (");
		outcome_print_list(out, json_object_get(outcome, "nodes"), true);
		fprintf(out, ")");
	}
	fprintf(out, "\n%s", indent);
	outcome_print_cpu(out, outcome);
	if (outcome_is_not_over(outcome))
		fprintf(out, "; %s run", integer_of(outcome, "running"));
	if (outcome_count(outcome, "failed"))
		fprintf(out, "\n%s%s failed", indent, integer_of(outcome, "failed"));
	if (outcome_count(outcome, "lost"))
		fprintf(out, ", %s of them lost", integer_of(outcome, "lost"));
	if (json_array_size(stayed)) {
		fprintf(out, "\n%sstayed: ", indent);
		outcome_print_list(out, stayed, false);
	}
	if (json_is_object(alone))
		fprintf(out,
			"\n%s"
			"with processors as fast as theirs, the %s of this host alone would have "
			"taken\n%s%s or longer: at least %.1f times as long",
			indent, integer_of(alone, "processors"), indent,
			duration_of(alone, "seconds_at_least"),
			outcome_number(alone, "times_at_least"));
	fprintf(out, "\n");
}
