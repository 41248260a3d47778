// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the problem from JSON. */
#include "gang.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/json.h"

#define MOST 1e30

static int read_costs(struct gang_problem *p, const json_t *model, const struct plan_path *path,
		      struct plan_refusal *refusal)
{
	struct {
		const char *name;
		double *to;
	} costs[] = { { "alpha", &p->alpha },
		      { "beta", &p->beta },
		      { "t_mult", &p->t_mult },
		      { "t_add", &p->t_add } };
	int err = 0;

	for (size_t i = 0; !err && i < 4; i++)
		err = plan_json_number(model, path, costs[i].name, true, 0, MOST, costs[i].to,
				       refusal);
	return err;
}

static int read_size(const json_t *model, const struct plan_path *path, const char *name,
		     double *to, struct plan_refusal *refusal)
{
	uint64_t size;
	int err = plan_json_count(model, path, name, true, 1, 1ull << 50, &size, refusal);

	if (!err)
		*to = (double)size;
	return err;
}

static int read_list(struct gang_problem *p, const json_t *model, const struct plan_path *path,
		     const char *name, bool needed, double **to, struct plan_refusal *refusal)
{
	struct plan_path list = { path, name, 0 }, element = { &list, NULL, 0 };
	const json_t *array, *value;
	int err = plan_json_array(model, path, name, needed, &array, refusal);

	if (err || !array)
		return err;
	if (!json_array_size(array))
		return plan_json_refuse(&list, NULL, refusal, "it is empty");
	if (p->counts && json_array_size(array) != p->counts)
		return plan_json_refuse(&list, NULL, refusal, "it has %zu entries, compute %zu",
					json_array_size(array), p->counts);
	p->counts = json_array_size(array);
	*to = calloc(p->counts, sizeof(**to));
	if (!*to)
		return -ENOMEM;
	json_array_foreach(array, element.index, value) {
		double number = json_number_value(value);

		if (!json_is_number(value) || !(number >= 0 && number <= MOST))
			return plan_json_refuse(&element, NULL, refusal,
						"a number from 0 to %g is needed", MOST);
		(*to)[element.index] = number;
	}
	return 0;
}

static int read_table(struct gang_problem *p, const json_t *model, const struct plan_path *path,
		      struct plan_refusal *refusal)
{
	int err = read_list(p, model, path, "compute", true, &p->compute, refusal);

	if (!err)
		err = read_list(p, model, path, "comm", false, &p->comm, refusal);
	if (!err)
		err = read_list(p, model, path, "load", false, &p->load, refusal);
	if (!err)
		err = read_list(p, model, path, "collect", false, &p->collect, refusal);
	return err;
}

static int read_model(struct gang_problem *p, const json_t *document, const struct plan_path *root,
		      struct plan_refusal *refusal)
{
	static const char *const members[][9] = {
		[GANG_MATMUL] = { "kind", "n", "alpha", "beta", "t_mult", "t_add" },
		[GANG_WAVE] = { "kind", "points", "steps", "alpha", "beta", "t_mult", "t_add" },
		[GANG_TABLE] = { "kind", "compute", "comm", "load", "collect" },
	};
	static const char *const kinds[] = { "matmul", "wave", "table", NULL };
	struct plan_path path = { root, "model", 0 };
	const json_t *model;
	size_t k;
	int err;

	err = plan_json_object(document, root, "model", true, &model, refusal);
	if (!err)
		err = plan_json_word(model, &path, "kind", true, kinds, &k, refusal);
	if (err)
		return err;
	p->kind = k;
	err = plan_json_known(model, &path, members[k], refusal);
	if (err)
		return err;
	if (k == GANG_TABLE)
		return read_table(p, model, &path, refusal);
	err = read_size(model, &path, k == GANG_MATMUL ? "n" : "points", &p->size, refusal);
	if (!err && k == GANG_WAVE)
		err = read_size(model, &path, "steps", &p->steps, refusal);
	return err ? err : read_costs(p, model, &path, refusal);
}

static int read_host(struct gang_problem *p, const json_t *element, const struct plan_path *path,
		     struct plan_refusal *refusal)
{
	static const char *const members[] = { "id", "utilization", NULL };
	int err;

	err = plan_json_known(element, path, members, refusal);
	if (!err)
		err = plan_json_number(element, path, "utilization", true, 0, 1,
				       &p->utilization[p->n], refusal);
	if (err)
		return err;
	p->utilization[p->n] += 0.0; /* no -0 */
	err = plan_json_id(element, path, p->names, refusal);
	if (!err)
		p->n++;
	return err;
}

static int read_hosts(struct gang_problem *p, const json_t *document, const struct plan_path *root,
		      struct plan_refusal *refusal)
{
	struct plan_path list = { root, "hosts", 0 }, path = { &list, NULL, 0 };
	const json_t *hosts, *element;
	size_t count;
	int err;

	err = plan_json_array(document, root, "hosts", true, &hosts, refusal);
	if (err)
		return err;
	err = plan_json_filled(hosts, &list, GANG_HOSTS_MAX, refusal);
	if (err)
		return err;
	count = json_array_size(hosts);
	p->names = plan_names_new();
	p->utilization = calloc(count, sizeof(*p->utilization));
	if (!p->names || !p->utilization)
		return -ENOMEM;
	json_array_foreach(hosts, path.index, element) {
		err = read_host(p, element, &path, refusal);
		if (err)
			return err;
	}
	return 0;
}

int gang_problem_read(struct gang_problem *problem, const char *text, size_t length,
		      struct plan_refusal *refusal)
{
	static const char *const members[] = { "hosts", "model", NULL };
	struct plan_path root = { 0 };
	json_t *document;
	int err;

	*problem = (struct gang_problem){ 0 };
	document = plan_json_parse(text, length, refusal);
	if (!document)
		return -EINVAL;
	err = plan_json_known(document, &root, members, refusal);
	if (!err)
		err = read_model(problem, document, &root, refusal);
	if (!err)
		err = read_hosts(problem, document, &root, refusal);
	json_decref(document);
	return err;
}

void gang_problem_end(struct gang_problem *problem)
{
	plan_names_free(problem->names);
	free(problem->utilization);
	free(problem->compute);
	free(problem->comm);
	free(problem->load);
	free(problem->collect);
	*problem = (struct gang_problem){ 0 };
}
