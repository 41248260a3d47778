// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the problem from JSON. */
#include "divide.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/json.h"

/* So that products of three of them stay finite. */
#define MOST 1e30
#define LEAST 1e-30
#define PROCESSORS_MAX 1000000

static const char *const sends[] = { "parallel", "serial", NULL };
static const char *const kinds[] = { "none", "linear", "power", NULL };

static int read_result(struct divide_problem *p, const json_t *document,
		       const struct plan_path *root, struct plan_refusal *refusal)
{
	static const char *const members[][4] = { { "kind" },
						  { "kind", "m", "b" },
						  { "kind", "k", "e" } };
	struct plan_path path = { root, "result", 0 };
	const json_t *result;
	size_t kind;
	int err;

	err = plan_json_object(document, root, "result", false, &result, refusal);
	if (err || !result)
		return err;
	err = plan_json_word(result, &path, "kind", true, kinds, &kind, refusal);
	if (err)
		return err;
	p->result = kind;
	err = plan_json_known(result, &path, members[kind], refusal);
	if (!err && p->result == DIVIDE_LINEAR) {
		err = plan_json_number(result, &path, "m", true, 0, MOST, &p->m, refusal);
		if (!err)
			err = plan_json_number(result, &path, "b", false, 0, MOST, &p->b, refusal);
	}
	if (!err && p->result == DIVIDE_POWER) {
		err = plan_json_number(result, &path, "k", true, 0, MOST, &p->k, refusal);
		if (!err)
			err = plan_json_number(result, &path, "e", true, 0, 16, &p->e, refusal);
	}
	if (!err && !(divide_result_of(p, p->work) <= MOST))
		return plan_json_refuse(&path, NULL, refusal,
					"the results of all the work are above %g", MOST);
	return err;
}

static int read_processor(struct divide_problem *p, const json_t *element,
			  const struct plan_path *path, struct plan_refusal *refusal)
{
	static const char *const members[] = { "id", "a", "s", "c", NULL };
	int err;

	err = plan_json_known(element, path, members, refusal);
	if (!err)
		err = plan_json_number(element, path, "a", true, LEAST, MOST, &p->a[p->n], refusal);
	if (!err)
		err = plan_json_number(element, path, "s", true, 0, MOST, &p->s[p->n], refusal);
	if (!err)
		err = plan_json_number(element, path, "c", true, 0, MOST, &p->c[p->n], refusal);
	if (err)
		return err;
	err = plan_json_id(element, path, p->names, refusal);
	if (!err)
		p->n++;
	return err;
}

static int read_processors(struct divide_problem *p, const json_t *document,
			   const struct plan_path *root, struct plan_refusal *refusal)
{
	struct plan_path list = { root, "processors", 0 }, path = { &list, NULL, 0 };
	const json_t *processors, *element;
	size_t count;
	int err;

	err = plan_json_array(document, root, "processors", true, &processors, refusal);
	if (err)
		return err;
	err = plan_json_filled(processors, &list, PROCESSORS_MAX, refusal);
	if (err)
		return err;
	count = json_array_size(processors);
	p->names = plan_names_new();
	p->a = calloc(3 * count, sizeof(*p->a));
	if (!p->names || !p->a)
		return -ENOMEM;
	p->s = p->a + count;
	p->c = p->s + count;
	json_array_foreach(processors, path.index, element) {
		err = read_processor(p, element, &path, refusal);
		if (err)
			return err;
	}
	return 0;
}

int divide_problem_read(struct divide_problem *problem, const char *text, size_t length,
			struct plan_refusal *refusal)
{
	static const char *const members[] = { "work", "processors", "send", "result", NULL };
	struct plan_path root = { 0 };
	json_t *document;
	size_t send = 0;
	int err;

	*problem = (struct divide_problem){ 0 };
	document = plan_json_parse(text, length, refusal);
	if (!document)
		return -EINVAL;
	err = plan_json_known(document, &root, members, refusal);
	if (!err)
		err = plan_json_number(document, &root, "work", true, LEAST, MOST, &problem->work,
				       refusal);
	if (!err)
		err = plan_json_word(document, &root, "send", false, sends, &send, refusal);
	if (!err) {
		problem->serial = send;
		err = read_result(problem, document, &root, refusal);
	}
	if (!err)
		err = read_processors(problem, document, &root, refusal);
	json_decref(document);
	return err;
}

void divide_problem_end(struct divide_problem *problem)
{
	plan_names_free(problem->names);
	free(problem->a);
	*problem = (struct divide_problem){ 0 };
}

double divide_result_of(const struct divide_problem *problem, double share)
{
	if (problem->result == DIVIDE_NONE || !(share > 0))
		return 0;
	if (problem->result == DIVIDE_LINEAR)
		return problem->m * share + problem->b;
	return problem->k * pow(share, problem->e);
}
