// SPDX-License-Identifier: GPL-2.0-or-later
/* Which rank runs on which host of the gang: by what ranks sent each other in an earlier run, and what a
 * message costs between these hosts now (paper 0). */
#include "gang_place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ehplan.h"
#include "links.h"
#include "tools/ehctl/client.h"

int gang_place_read(struct gang_place *place, const char *path)
{
	struct plan_refusal refusal = { 0 };
	const char *name;
	size_t length;
	char *text;
	int err, code = call_read(path, &name, &text, &length);

	if (code)
		return code;
	err = assign_profile_read(text, length, &place->profile, &refusal);
	free(text);
	return err ? call_refused(name, &refusal, err) : 0;
}

/* The hosts of the gang, and which of them is this one. 0 or an exit code after a message. */
static int list_hosts(const struct gang_run *run, struct cluster_host *hosts)
{
	int code = 0;
	json_t *status = client_ask(json_pack("{s:s}", "command", "status"), &code);
	const char *own = json_string_value(json_object_get(status, "self"));

	for (uint32_t i = 0; i < run->count && status; i++) {
		const struct gang_offer *o = &run->offers[run->chosen[i]];

		hosts[i].name = o->host;
		hosts[i].self = own && !strcmp(own, o->node);
	}
	json_decref(status);
	return status ? 0 : code ? code : EXIT_REFUSED;
}

/* The problem with so much more work for each rank. NULL after a message. */
static struct assign_problem *make_problem(const struct gang_place *place,
					   const struct assign_hosts *hosts, double extra)
{
	const struct assign_defaults none = { .work = -1, .volume = -1 };
	json_t *document = assign_profile_problem(&place->profile, hosts, extra);
	char *text = document ? json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	struct assign_problem *problem = NULL;
	struct plan_refusal refusal = { 0 };

	json_decref(document);
	if (!text)
		fail(0, "no memory");
	else if (assign_read_json(text, strlen(text), &none, &problem, &refusal))
		fail(0, "the profile cannot be planned with: %s %s", refusal.where, refusal.what);
	free(text);
	return problem;
}

/* As many on each host as there are in the order of the hosts. */
static bool is_even(const struct assign_plan *plan, uint32_t tasks, uint32_t hosts)
{
	uint32_t *count = calloc(hosts, sizeof(*count));
	bool even = count;

	for (uint32_t u = 0; u < tasks && even; u++)
		even = ++count[plan->at[u]] <= tasks / hosts;
	free(count);
	return even;
}

static int search(const struct assign_hosts *hosts, const struct gang_place *place, double extra,
		  struct assign_plan **plan)
{
	struct assign_problem *problem = make_problem(place, hosts, extra);
	struct plan_watch watch = { 0 };
	struct plan_refusal wrong = { 0 };
	int saved, err = -1;

	if (!problem)
		return EXIT_REFUSED;
	*plan = assign_plan_new(problem);
	saved = call_hide_output();
	if (*plan)
		err = assign_best(problem, 1, &watch, *plan);
	call_show_output(saved);
	if (!err)
		err = assign_check(problem, *plan, &wrong);
	if (!err && !is_even(*plan, problem->tasks, hosts->n))
		(*plan)->total = INFINITY; /* the order of the hosts is better than this */
	assign_free(problem);
	if (err)
		return fail(EXIT_REFUSED, "no plan for the ranks: %s",
			    *wrong.what ? wrong.what : "no memory");
	return 0;
}

/* Takes the plan if it costs less than the order of the hosts. */
static int choose(const struct assign_hosts *hosts, struct gang_place *place)
{
	struct assign_problem *real = make_problem(place, hosts, 0);
	struct assign_plan *plan = real ? assign_plan_new(real) : NULL, *found = NULL;
	int code = EXIT_REFUSED;

	if (!plan)
		goto out;
	for (uint32_t u = 0; u < real->tasks; u++)
		plan->at[u] = u / (real->tasks / hosts->n);
	assign_evaluate(real, plan);
	place->in_order = place->cost = plan->total * real->unit;
	memcpy(place->at, plan->at, place->profile.ranks * sizeof(*place->at));
	code = place->cost > 0 ? search(hosts, place, 1.01 * place->cost, &found) : 0;
	if (code || !found || isinf(found->total))
		goto out;
	memcpy(plan->at, found->at, real->tasks * sizeof(*plan->at));
	assign_evaluate(real, plan);
	if (plan->total * real->unit < place->cost) {
		place->cost = plan->total * real->unit;
		memcpy(place->at, plan->at, place->profile.ranks * sizeof(*place->at));
	}
out:
	assign_plan_free(found);
	assign_plan_free(plan);
	assign_free(real);
	return code;
}

int gang_place_make(struct gang_run *run, struct gang_place *place)
{
	struct cluster_host *list = calloc(run->count, sizeof(*list));
	const char **names = calloc(run->count, sizeof(*names));
	int code;

	place->links = calloc((size_t)run->count * run->count, sizeof(*place->links));
	place->at = calloc(place->profile.ranks, sizeof(*place->at));
	if (!list || !names || !place->links || !place->at) {
		code = fail(EXIT_REFUSED, "no memory");
		goto out;
	}
	code = list_hosts(run, list);
	if (!code)
		code = links_measure(list, run->count, run->signals, place->links);
	for (uint32_t i = 0; i < run->count; i++)
		names[i] = list[i].name;
	if (!code)
		code = choose(&(struct assign_hosts){ names, run->count, run->slots, place->links },
			      place);
	if (!code)
		run->place = place;
out:
	free(names);
	free(list);
	return code;
}

json_t *gang_place_json(const struct gang_run *run, const struct gang_place *place)
{
	json_t *ranks = json_array(), *links = json_array();

	for (uint32_t r = 0; r < place->profile.ranks; r++)
		json_array_append_new(ranks,
				      json_string(run->offers[run->chosen[place->at[r]]].host));
	for (uint32_t a = 0; a < run->count; a++)
		for (uint32_t b = a + 1; b < run->count; b++) {
			const struct assign_link *link = &place->links[(size_t)a * run->count + b];

			json_array_append_new(links,
					      json_pack("{s:s, s:s, s:f, s:f}", "a",
							run->offers[run->chosen[a]].host, "b",
							run->offers[run->chosen[b]].host, "seconds",
							link->seconds, "per_byte", link->per_byte));
		}
	return json_pack("{s:f, s:f, s:o, s:o}", "cost", place->cost, "cost_in_order",
			 place->in_order, "ranks", ranks, "links", links);
}

void gang_place_end(struct gang_place *place)
{
	assign_profile_end(&place->profile);
	free(place->at);
	free(place->links);
}

/* ---- the run that is measured ---- */

int gang_profile_begin(struct gang_profile *p, const char *path)
{
	struct stat st;
	char *folder = realpath(".", NULL);
	int length = -1;

	if (*path == '/')
		length = asprintf(&p->path, "%s", path);
	else if (folder)
		length = asprintf(&p->path, "%s/%s", folder, path);
	free(folder);
	if (length < 0) {
		p->path = NULL;
		return fail(EXIT_REFUSED, "--profile %s: the path of this directory is not known",
			    path);
	}
	if (!stat(p->path, &st))
		p->before = st.st_ctim;
	/* Open MPI takes only variables with its own prefix to other hosts */
	if (setenv("EHSCHED_PROFILE", p->path, 1) || setenv("OMPI_EHSCHED_PROFILE", p->path, 1))
		return fail(EXIT_REFUSED, "no memory for the environment");
	return 0;
}

int gang_profile_check(const struct gang_profile *p)
{
	struct gang_place place = { 0 };
	struct stat st;
	int code;

	if (stat(p->path, &st) ||
	    (st.st_ctim.tv_sec == p->before.tv_sec && st.st_ctim.tv_nsec == p->before.tv_nsec))
		return fail(
			EXIT_REFUSED,
			"%s was not written: link or load examples/profile.c with the program, and "
			"use a directory that its rank 0 has, too",
			p->path);
	code = gang_place_read(&place, p->path);
	gang_place_end(&place);
	return code;
}

void gang_profile_end(struct gang_profile *p)
{
	free(p->path);
}
