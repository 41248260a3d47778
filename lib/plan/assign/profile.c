// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/json.h"

#define RANKS_MOST 65536u
#define SECONDS_MOST 1e9
#define AMOUNT_MOST 1e15
/* A link that is so much faster or slower than the mean is not told from one beyond it. */
#define SPEED_MOST 1e6

/* ---- reading ---- */

static int read_ranks(struct assign_profile *p, const json_t *document, const struct plan_path *top,
		      struct plan_refusal *refusal)
{
	static const char *const known[] = { "host", "work", "seconds", "mpi", NULL };
	const struct plan_path list = { top, "ranks", 0 };
	const json_t *ranks;
	int err = plan_json_array(document, top, "ranks", true, &ranks, refusal);

	if (!err)
		err = plan_json_filled(ranks, &list, RANKS_MOST, refusal);
	if (err)
		return err;
	p->work = calloc(json_array_size(ranks), sizeof(*p->work));
	if (!p->work)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(ranks) && !err; i++) {
		const struct plan_path path = { &list, NULL, i };
		const json_t *rank = json_array_get(ranks, i);

		err = plan_json_known(rank, &path, known, refusal);
		if (!err)
			err = plan_json_number(rank, &path, "work", true, 0, SECONDS_MOST,
					       &p->work[i], refusal);
	}
	p->ranks = (uint32_t)json_array_size(ranks);
	return err;
}

static int read_pair(struct assign_profile *p, const json_t *entry, const struct plan_path *path,
		     struct plan_refusal *refusal)
{
	static const char *const known[] = { "a", "b", "count", "bytes", NULL };
	struct assign_pair *pair = &p->pairs[p->npairs];
	uint64_t a = 0, b = 0;
	int err = plan_json_known(entry, path, known, refusal);

	if (!err)
		err = plan_json_count(entry, path, "a", true, 0, p->ranks - 1, &a, refusal);
	if (!err)
		err = plan_json_count(entry, path, "b", true, 0, p->ranks - 1, &b, refusal);
	if (!err)
		err = plan_json_number(entry, path, "count", true, 0, AMOUNT_MOST, &pair->messages,
				       refusal);
	if (!err)
		err = plan_json_number(entry, path, "bytes", true, 0, AMOUNT_MOST, &pair->bytes,
				       refusal);
	if (!err && a >= b)
		err = plan_json_refuse(path, "a", refusal, "it must be less than b");
	if (!err && p->npairs && (a < pair[-1].a || (a == pair[-1].a && b <= pair[-1].b)))
		err = plan_json_refuse(path, NULL, refusal,
				       "pairs must be in ascending order, each once");
	if (err)
		return err;
	pair->a = (uint32_t)a;
	pair->b = (uint32_t)b;
	p->messages += pair->messages;
	p->bytes += pair->bytes;
	p->npairs++;
	return 0;
}

static int read_pairs(struct assign_profile *p, const json_t *document, const struct plan_path *top,
		      struct plan_refusal *refusal)
{
	const struct plan_path list = { top, "messages", 0 };
	const json_t *pairs;
	int err = plan_json_array(document, top, "messages", true, &pairs, refusal);

	if (err)
		return err;
	p->pairs = calloc(json_array_size(pairs) + 1, sizeof(*p->pairs));
	if (!p->pairs)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(pairs) && !err; i++) {
		const struct plan_path path = { &list, NULL, i };

		err = read_pair(p, json_array_get(pairs, i), &path, refusal);
	}
	return err;
}

int assign_profile_read(const char *text, size_t length, struct assign_profile *p,
			struct plan_refusal *refusal)
{
	static const char *const known[] = { "version", "ranks", "messages", NULL };
	const struct plan_path top = { 0 };
	json_t *document = plan_json_parse(text, length, refusal);
	uint64_t version;
	int err;

	*p = (struct assign_profile){ 0 };
	if (!document)
		return -EINVAL;
	err = plan_json_known(document, &top, known, refusal);
	if (!err)
		err = plan_json_count(document, &top, "version", true, 1, 1, &version, refusal);
	if (!err)
		err = read_ranks(p, document, &top, refusal);
	if (!err)
		err = read_pairs(p, document, &top, refusal);
	json_decref(document);
	if (err) {
		assign_profile_end(p);
		*p = (struct assign_profile){ 0 };
	}
	return err;
}

void assign_profile_end(struct assign_profile *p)
{
	free(p->work);
	free(p->pairs);
}

/* ---- the problem ---- */

static double takes(const struct assign_link *link, double messages, double bytes)
{
	return link->seconds * messages + link->per_byte * bytes;
}

static struct assign_link mean_link(const struct assign_hosts *hosts)
{
	struct assign_link mean = { 0 };
	double count = hosts->n * (hosts->n - 1.0) / 2;

	for (uint32_t a = 0; a < hosts->n; a++)
		for (uint32_t b = a + 1; b < hosts->n; b++) {
			mean.seconds += hosts->links[(size_t)a * hosts->n + b].seconds / count;
			mean.per_byte += hosts->links[(size_t)a * hosts->n + b].per_byte / count;
		}
	return mean;
}

static json_t *list_tasks(const struct assign_profile *p, const struct assign_hosts *hosts,
			  double extra)
{
	uint64_t all = ((uint64_t)p->ranks + hosts->n - 1) / hosts->n * hosts->n;
	json_t *tasks = json_array();

	for (uint64_t i = 0; i < all; i++) {
		double work = (i < p->ranks ? p->work[i] : 0) + extra * hosts->slots;

		if (json_array_append_new(
			    tasks, json_pack("{s:I, s:f}", "id", (json_int_t)i, "work", work))) {
			json_decref(tasks);
			return NULL;
		}
	}
	return tasks;
}

static json_t *list_pairs(const struct assign_profile *p, const struct assign_link *mean)
{
	json_t *comm = json_array();

	for (size_t i = 0; i < p->npairs; i++) {
		const struct assign_pair *pair = &p->pairs[i];

		if (json_array_append_new(comm,
					  json_pack("{s:I, s:I, s:f}", "a", (json_int_t)pair->a,
						    "b", (json_int_t)pair->b, "volume",
						    takes(mean, pair->messages, pair->bytes)))) {
			json_decref(comm);
			return NULL;
		}
	}
	return comm;
}

static json_t *list_hosts(const struct assign_hosts *hosts)
{
	json_t *processors = json_array();

	for (uint32_t k = 0; k < hosts->n; k++)
		if (json_array_append_new(processors, json_pack("{s:s, s:f}", "id", hosts->names[k],
								"speed", (double)hosts->slots))) {
			json_decref(processors);
			return NULL;
		}
	return processors;
}

static json_t *list_links(const struct assign_profile *p, const struct assign_hosts *hosts,
			  const struct assign_link *mean)
{
	double middle = takes(mean, p->messages, p->bytes);
	json_t *links = json_array();

	for (uint32_t a = 0; a < hosts->n; a++)
		for (uint32_t b = a + 1; b < hosts->n; b++) {
			double here = takes(&hosts->links[(size_t)a * hosts->n + b], p->messages,
					    p->bytes);
			double speed = here > 0 && middle > 0 ? middle / here : 1;

			speed = fmin(fmax(speed, 1 / SPEED_MOST), SPEED_MOST);
			if (json_array_append_new(
				    links, json_pack("{s:s, s:s, s:f}", "a", hosts->names[a], "b",
						     hosts->names[b], "speed", speed))) {
				json_decref(links);
				return NULL;
			}
		}
	return links;
}

json_t *assign_profile_problem(const struct assign_profile *p, const struct assign_hosts *hosts,
			       double extra)
{
	struct assign_link mean = mean_link(hosts);

	return json_pack("{s:o, s:o, s:o, s:o}", "tasks", list_tasks(p, hosts, extra), "comm",
			 list_pairs(p, &mean), "processors", list_hosts(hosts), "links",
			 list_links(p, hosts, &mean));
}
