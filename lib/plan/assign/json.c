// SPDX-License-Identifier: GPL-2.0-or-later
/* {"tasks", "comm", "processors"} and, for processors that differ, "b0" and "links". */
#include "assign.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/json.h"
#include "problem.h"

/* Speeds and shares beyond these are mistakes, and would cost the other values their digits. */
#define FACTOR_LEAST 1e-9
#define FACTOR_MOST 1e9

struct reader {
	struct assign_problem *p;
	const struct assign_defaults *defaults;
	struct plan_refusal *refusal;
	struct plan_path top;
};

static int read_tasks(struct reader *r, const json_t *tasks)
{
	static const char *const known[] = { "id", "work", NULL };
	const struct plan_path list = { &r->top, "tasks", 0 };
	struct assign_problem *p = r->p;
	size_t count = json_array_size(tasks);
	int err = plan_json_filled(tasks, &list, ASSIGN_TASKS_MAX, r->refusal);

	if (err)
		return err;
	p->tasks = count;
	p->task_names = plan_names_new();
	p->work = calloc(count, sizeof(*p->work));
	if (!p->task_names || !p->work)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct plan_path path = { &list, NULL, i };
		const json_t *task = json_array_get(tasks, i);

		err = plan_json_known(task, &path, known, r->refusal);
		p->work[i] = r->defaults->work;
		if (!err)
			err = plan_json_number(task, &path, "work", p->work[i] < 0, 0, ASSIGN_MOST,
					       &p->work[i], r->refusal);
		if (err)
			return err;
		err = plan_json_id(task, &path, p->task_names, r->refusal);
		if (err)
			return err;
	}
	return 0;
}

struct pair {
	uint32_t a, b;
	double volume;
};

static int read_pairs(struct reader *r, const json_t *comm, struct pair *pairs)
{
	static const char *const known[] = { "a", "b", "volume", NULL };
	const struct plan_path list = { &r->top, "comm", 0 };

	for (size_t i = 0; i < json_array_size(comm); i++) {
		const struct plan_path path = { &list, NULL, i };
		const json_t *pair = json_array_get(comm, i);
		struct pair *out = &pairs[i];
		int err = plan_json_known(pair, &path, known, r->refusal);

		out->volume = r->defaults->volume;
		if (!err)
			err = plan_json_reference(pair, &path, "a", r->p->task_names, "task",
						  &out->a, r->refusal);
		if (!err)
			err = plan_json_reference(pair, &path, "b", r->p->task_names, "task",
						  &out->b, r->refusal);
		if (!err)
			err = plan_json_number(pair, &path, "volume", out->volume < 0, 0,
					       ASSIGN_MOST, &out->volume, r->refusal);
		if (err)
			return err;
		if (out->a == out->b)
			return plan_json_refuse(&path, NULL, r->refusal,
						"a task cannot communicate with itself");
	}
	return 0;
}

/* Puts both ends of each pair into rows. Rows ascend, because they are a transpose of rows. */
static int link_pairs(struct reader *r, const struct pair *pairs, size_t count)
{
	const struct plan_path list = { &r->top, "comm", 0 };
	struct assign_problem *p = r->p;
	uint32_t *row = calloc(2 * count + 1, sizeof(*row)),
		 *by = calloc(2 * count + 1, sizeof(*by));
	uint32_t *next = calloc((size_t)p->tasks + 1, sizeof(*next));
	int err = -ENOMEM;

	p->start = calloc((size_t)p->tasks + 1, sizeof(*p->start));
	p->to = calloc(2 * count + 1, sizeof(*p->to));
	p->volume = calloc(2 * count + 1, sizeof(*p->volume));
	if (!row || !by || !next || !p->start || !p->to || !p->volume)
		goto done;
	for (size_t i = 0; i < count; i++) {
		p->start[pairs[i].a + 1]++;
		p->start[pairs[i].b + 1]++;
	}
	for (uint32_t u = 0; u < p->tasks; u++)
		next[u + 1] = p->start[u + 1] += p->start[u];
	/* sorted by one end: pair 2i is a to b, 2i + 1 is b to a */
	for (size_t i = 0; i < 2 * count; i++)
		by[next[i & 1 ? pairs[i / 2].b : pairs[i / 2].a]++] = i;
	for (uint32_t u = p->tasks; u-- > 0;)
		next[u] = p->start[u];
	for (size_t i = 0; i < 2 * count; i++) {
		const struct pair *pair = &pairs[by[i] / 2];
		uint32_t u = by[i] & 1 ? pair->a : pair->b, v = by[i] & 1 ? pair->b : pair->a;
		uint32_t at = next[u]++;

		p->to[at] = v;
		p->volume[at] = pair->volume;
		row[at] = by[i] / 2;
		if (at > p->start[u] && p->to[at - 1] == v) {
			const struct plan_path path = { &list, NULL,
							row[at] > row[at - 1] ? row[at]
									      : row[at - 1] };

			err = plan_json_refuse(&path, NULL, r->refusal,
					       "this pair is listed twice");
			goto done;
		}
	}
	err = 0;

done:
	free(row);
	free(by);
	free(next);
	return err;
}

static int read_comm(struct reader *r, const json_t *comm)
{
	const struct plan_path list = { &r->top, "comm", 0 };
	size_t count = json_array_size(comm);
	struct pair *pairs;
	int err;

	if (count > UINT32_MAX / 2 - 1)
		return plan_json_refuse(&list, NULL, r->refusal, "too many pairs");
	pairs = calloc(count + 1, sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	err = read_pairs(r, comm, pairs);
	if (!err)
		err = link_pairs(r, pairs, count);
	free(pairs);
	return err;
}

/* Tables for processors that differ, made when the first difference is seen. */
static int make_machine(struct reader *r, const struct plan_path *path)
{
	struct assign_problem *p = r->p;
	uint32_t count = p->processors;
	struct assign_machine *m;

	if (p->machine)
		return 0;
	if (count > ASSIGN_MACHINE_MAX)
		return plan_json_refuse(path, NULL, r->refusal,
					"with speeds, shares or links at most %u processors",
					ASSIGN_MACHINE_MAX);
	m = p->machine = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->compute = calloc(count, sizeof(*m->compute));
	m->talk = calloc((size_t)count * count, sizeof(*m->talk));
	if (!m->compute || !m->talk)
		return -ENOMEM;
	for (uint32_t k = 0; k < count; k++) {
		m->compute[k] = 1;
		for (uint32_t j = 0; j < count; j++)
			m->talk[(size_t)k * count + j] = j != k;
	}
	return 0;
}

/* Divides costs by a speed. */
static int read_speed(struct reader *r, const json_t *object, const struct plan_path *path,
		      bool needed, double *speed)
{
	*speed = 1;
	return plan_json_number(object, path, "speed", needed, FACTOR_LEAST, FACTOR_MOST, speed,
				r->refusal);
}

static int read_processor(struct reader *r, const json_t *entry, const struct plan_path *path,
			  uint32_t k)
{
	static const char *const known[] = { "id", "speed", "b", "cores", NULL };
	struct assign_problem *p = r->p;
	uint64_t cores = 0;
	double speed;
	int err = plan_json_known(entry, path, known, r->refusal);

	if (!err)
		err = read_speed(r, entry, path, false, &speed);
	if (!err)
		err = plan_json_count(entry, path, "cores", false, 1, 1u << 20, &cores, r->refusal);
	if (!err && speed != 1)
		err = make_machine(r, path);
	if (err)
		return err;
	if (speed != 1)
		p->machine->compute[k] = 1 / speed;
	p->cores[k] = cores;
	return plan_json_id(entry, path, p->processor_names, r->refusal);
}

static int read_processors(struct reader *r, const json_t *document)
{
	const struct plan_path list = { &r->top, "processors", 0 };
	const json_t *entries = json_object_get(document, "processors");
	struct assign_problem *p = r->p;
	uint64_t count = r->defaults->processors;
	int err;

	if (!json_is_array(entries)) {
		if (entries || !count)
			err = plan_json_count(document, &r->top, "processors", true, 1,
					      ASSIGN_PROCESSORS_MAX, &count, r->refusal);
		else
			err = 0;
		p->processors = r->defaults->processors ? r->defaults->processors : count;
		return err;
	}
	count = json_array_size(entries);
	err = plan_json_filled(entries, &list, ASSIGN_PROCESSORS_MAX, r->refusal);
	if (err)
		return err;
	if (r->defaults->processors && r->defaults->processors != count)
		return plan_json_refuse(&list, NULL, r->refusal,
					"%llu processors are listed, but --processors asks for %u",
					(unsigned long long)count, r->defaults->processors);
	p->processors = count;
	p->processor_names = plan_names_new();
	p->cores = calloc(count, sizeof(*p->cores));
	if (!p->processor_names || !p->cores)
		return -ENOMEM;
	err = 0;
	for (size_t i = 0; i < count && !err; i++) {
		const struct plan_path path = { &list, NULL, i };

		err = read_processor(r, json_array_get(entries, i), &path, i);
	}
	return err;
}

/* S_ij. A link is for both directions, unless the other direction is listed too. */
static int read_links(struct reader *r, const json_t *links)
{
	static const char *const known[] = { "a", "b", "speed", NULL };
	const struct plan_path list = { &r->top, "links", 0 };
	struct assign_problem *p = r->p;
	uint32_t a, b;
	double speed;
	int err;

	if (!json_array_size(links))
		return 0;
	if (!p->processor_names)
		return plan_json_refuse(&list, NULL, r->refusal,
					"links need a list of processors with ids");
	err = make_machine(r, &list);
	/* listed directions are negative numbers until all are known */
	for (size_t i = 0; i < json_array_size(links) && !err; i++) {
		const struct plan_path path = { &list, NULL, i };
		const json_t *link = json_array_get(links, i);
		double *way;

		err = plan_json_known(link, &path, known, r->refusal);
		if (!err)
			err = plan_json_reference(link, &path, "a", p->processor_names, "processor",
						  &a, r->refusal);
		if (!err)
			err = plan_json_reference(link, &path, "b", p->processor_names, "processor",
						  &b, r->refusal);
		if (!err)
			err = read_speed(r, link, &path, true, &speed);
		if (err)
			break;
		if (a == b)
			return plan_json_refuse(&path, NULL, r->refusal,
						"a link goes to another processor");
		way = &p->machine->talk[(size_t)a * p->processors + b];
		if (*way < 0)
			return plan_json_refuse(&path, NULL, r->refusal,
						"this link is listed twice");
		*way = -1 / speed;
		way = &p->machine->talk[(size_t)b * p->processors + a];
		if (*way >= 0)
			*way = 1 / speed;
	}
	for (size_t i = 0; i < (size_t)p->processors * p->processors && !err; i++)
		p->machine->talk[i] = fabs(p->machine->talk[i]);
	return err;
}

/* B_0 of work, and B_j of communication with processor j: B_0 < B_j, and their sum is 1. */
static int read_shares(struct reader *r, const json_t *document)
{
	const struct plan_path list = { &r->top, "processors", 0 };
	const json_t *entries = json_object_get(document, "processors");
	struct assign_problem *p = r->p;
	double b0 = -1, sum;
	int err =
		plan_json_number(document, &r->top, "b0", false, FACTOR_LEAST, 1, &b0, r->refusal);

	if (err)
		return err;
	for (size_t i = 0; b0 < 0 && i < json_array_size(entries); i++) {
		const struct plan_path path = { &list, NULL, i };

		if (json_object_get(json_array_get(entries, i), "b"))
			return plan_json_refuse(&path, "b", r->refusal, "it needs b0");
	}
	if (b0 < 0)
		return 0;
	if (!p->processor_names)
		return plan_json_refuse(&r->top, "b0", r->refusal,
					"it needs a list of processors with their b");
	err = make_machine(r, &list);
	if (err)
		return err;
	sum = b0;
	for (uint32_t j = 0; j < p->processors; j++) {
		const struct plan_path path = { &list, NULL, j };
		double b;

		err = plan_json_number(json_array_get(entries, j), &path, "b", true, FACTOR_LEAST,
				       1, &b, r->refusal);
		if (err)
			return err;
		if (b <= b0)
			return plan_json_refuse(&path, "b", r->refusal,
						"%g is not above b0, which is %g", b, b0);
		sum += b;
		p->machine->compute[j] *= b0;
		for (uint32_t k = 0; k < p->processors; k++)
			p->machine->talk[(size_t)k * p->processors + j] *= b;
	}
	if (fabs(sum - 1) > 1e-6)
		return plan_json_refuse(&r->top, "b0", r->refusal,
					"b0 and all b sum up to %g, not to 1", sum);
	return 0;
}

static int read_document(struct reader *r, const json_t *document)
{
	static const char *const known[] = { "tasks", "comm", "processors", "b0", "links", NULL };
	const json_t *tasks, *comm, *links;
	int err = plan_json_known(document, &r->top, known, r->refusal);

	if (!err)
		err = plan_json_array(document, &r->top, "tasks", true, &tasks, r->refusal);
	if (!err)
		err = plan_json_array(document, &r->top, "comm", false, &comm, r->refusal);
	if (!err)
		err = plan_json_array(document, &r->top, "links", false, &links, r->refusal);
	if (!err)
		err = read_tasks(r, tasks);
	if (!err)
		err = read_comm(r, comm);
	if (!err)
		err = read_processors(r, document);
	if (!err)
		err = read_links(r, links);
	if (!err)
		err = read_shares(r, document);
	return err;
}

int assign_read_json(const char *text, size_t length, const struct assign_defaults *defaults,
		     struct assign_problem **out, struct plan_refusal *refusal)
{
	struct reader r = { .defaults = defaults, .refusal = refusal };
	json_t *document = plan_json_parse(text, length, refusal);
	int err;

	if (!document)
		return -EINVAL;
	r.p = calloc(1, sizeof(*r.p));
	err = r.p ? read_document(&r, document) : -ENOMEM;
	json_decref(document);
	if (err) {
		assign_free(r.p);
		return err;
	}
	assign_settle(r.p);
	*out = r.p;
	return 0;
}
