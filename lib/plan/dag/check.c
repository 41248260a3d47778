// SPDX-License-Identifier: GPL-2.0-or-later
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The use of a processor or link, which must not overlap with others. */
struct use {
	uint64_t place;
	double start, finish;
	uint32_t task;
};

static bool comes_first(const struct use *x, const struct use *y)
{
	if (x->place != y->place)
		return x->place < y->place;
	if (x->start != y->start)
		return x->start < y->start;
	return x->finish <= y->finish;
}

/* The two sorted halves of a list, through `spare`. */
static void merge(struct use *list, size_t half, size_t count, struct use *spare)
{
	size_t a = 0, b = half, out = 0;

	if (comes_first(&list[half - 1], &list[half]))
		return;
	memcpy(spare, list, half * sizeof(*list));
	while (a < half && b < count)
		list[out++] = comes_first(&spare[a], &list[b]) ? spare[a++] : list[b++];
	memcpy(list + out, spare + a, (half - a) * sizeof(*list));
}

/* Merge sort: of a million, qsort() would take most of the check. */
static void sort_uses(struct use *list, size_t count, struct use *spare)
{
	size_t half = count / 2;

	if (count < 2)
		return;
	sort_uses(list, half, spare);
	sort_uses(list + half, count - half, spare);
	merge(list, half, count, spare);
}

struct checker {
	const struct dag_graph *g;
	const struct dag_machine *m;
	const struct dag_problem *p;
	const struct dag_schedule *s;
	double eps;
	struct plan_refusal *refusal;
};

static const char *name(const struct checker *c, uint32_t task)
{
	return plan_names_text(c->g->names, c->g->origin[task]);
}

static int check_tasks(const struct checker *c)
{
	double end = 0;

	for (uint32_t t = 0; t < c->g->tasks; t++) {
		uint32_t j = c->s->processor[t];
		double run, start = c->s->start[t], finish = c->s->finish[t];

		if (j >= c->m->processors)
			return plan_refuse(c->refusal, 0, NULL, "task %.60s has no processor",
					   name(c, t));
		run = c->g->times ? c->g->times[(size_t)t * c->g->columns + j]
				  : c->g->work[t] / c->m->speed[j] + c->m->startup[j];
		if (!(start >= -c->eps) || !(fabs(finish - start - run) <= c->eps))
			return plan_refuse(c->refusal, 0, NULL,
					   "task %.60s is to run from %.17g to %.17g, but takes "
					   "%.17g",
					   name(c, t), start, finish, run);
		end = finish > end ? finish : end;
	}
	if (!(fabs(end - c->s->makespan) <= c->eps))
		return plan_refuse(c->refusal, 0, NULL, "the last task ends at %.17g, not %.17g",
				   end, c->s->makespan);
	return 0;
}

static int check_alone(const struct checker *c, struct use *uses, size_t count, const char *what)
{
	sort_uses(uses, count, uses + count);
	for (size_t i = 1; i < count; i++) {
		if (uses[i].place == uses[i - 1].place &&
		    uses[i].start < uses[i - 1].finish - c->eps)
			return plan_refuse(
				c->refusal, 0, NULL, "%s %.60s and %.60s overlap at %.17g", what,
				name(c, uses[i - 1].task), name(c, uses[i].task), uses[i].start);
		if (uses[i].place == uses[i - 1].place && uses[i].finish < uses[i - 1].finish)
			uses[i].finish = uses[i - 1].finish;
	}
	return 0;
}

static int check_message(const struct checker *c, const struct dag_message *message,
			 const struct dag_hop *hops, double data)
{
	uint32_t at = c->s->processor[message->from];
	double now = c->s->finish[message->from];

	for (uint32_t h = 0; h < message->hops; h++) {
		const struct dag_hop *hop = &hops[message->hop + h];
		const struct dag_link *link = NULL;
		struct dag_link direct = { hop->node, c->m->rate, c->m->link_startup };

		if (c->m->full && hop->node != at && hop->node < c->m->nodes)
			link = &direct;
		for (uint32_t l = c->m->full ? 0 : c->m->link_at[at];
		     !c->m->full && l < c->m->link_at[at + 1]; l++)
			if (c->m->links[l].to == hop->node)
				link = &c->m->links[l];
		if (!link)
			return plan_refuse(c->refusal, 0, NULL,
					   "the data from %.60s to %.60s take a link that is not "
					   "there",
					   name(c, message->from), name(c, message->to));
		if (!(hop->start >= now - c->eps) ||
		    !(fabs(hop->finish - hop->start - data / link->rate - link->startup) <= c->eps))
			return plan_refuse(c->refusal, 0, NULL,
					   "the data from %.60s to %.60s are on a link from %.17g "
					   "to %.17g, which cannot be",
					   name(c, message->from), name(c, message->to), hop->start,
					   hop->finish);
		now = hop->finish;
		at = hop->node;
	}
	if (at != c->s->processor[message->to] || !(c->s->start[message->to] >= now - c->eps))
		return plan_refuse(c->refusal, 0, NULL,
				   "task %.60s starts before the data from %.60s are there",
				   name(c, message->to), name(c, message->from));
	return 0;
}

static const struct dag_arc *find_arc(const struct dag_graph *g, uint32_t from, uint32_t to)
{
	uint32_t low = g->out_at[from], high = g->out_at[from + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (g->out[middle].task < to)
			low = middle + 1;
		else
			high = middle;
	}
	return low < g->out_at[from + 1] && g->out[low].task == to ? &g->out[low] : NULL;
}

static int check_messages(const struct checker *c, const struct dag_messages *messages)
{
	bool *sent = calloc(c->g->edges + 1, sizeof(*sent));
	int err = sent ? 0 : -ENOMEM;

	for (size_t i = 0; i < messages->count && !err; i++) {
		const struct dag_message *message = &messages->list[i];
		const struct dag_arc *arc = find_arc(c->g, message->from, message->to);

		if (!arc || sent[arc - c->g->out])
			err = plan_refuse(c->refusal, 0, NULL,
					  "data are sent from %.60s to %.60s, which no edge joins",
					  name(c, message->from), name(c, message->to));
		else
			err = check_message(c, message, messages->hops, arc->data);
		if (!err)
			sent[arc - c->g->out] = true;
	}
	for (uint32_t t = 0; t < c->g->tasks && !err; t++)
		for (uint32_t e = c->g->out_at[t]; e < c->g->out_at[t + 1] && !err; e++) {
			uint32_t to = c->g->out[e].task;

			if (c->s->processor[t] != c->s->processor[to]) {
				if (!sent[e])
					err = plan_refuse(c->refusal, 0, NULL,
							  "the data from %.60s to %.60s are not "
							  "sent",
							  name(c, t), name(c, to));
			} else if (!(c->s->start[to] >= c->s->finish[t] - c->eps)) {
				err = plan_refuse(c->refusal, 0, NULL,
						  "task %.60s starts before %.60s ends",
						  name(c, to), name(c, t));
			}
		}
	free(sent);
	return err;
}

/* No processor and no direction of a link is used twice at the same time. */
static int check_overlap(const struct checker *c, const struct dag_messages *messages)
{
	size_t room = c->g->tasks, count = 0;
	struct use *uses;
	int err;

	if (messages->nhops > room)
		room = messages->nhops;
	uses = malloc((room + room / 2) * sizeof(*uses)); /* half of it to sort */
	if (!uses)
		return -ENOMEM;
	for (uint32_t t = 0; t < c->g->tasks; t++)
		uses[t] = (struct use){ c->s->processor[t], c->s->start[t], c->s->finish[t], t };
	err = check_alone(c, uses, c->g->tasks, "the tasks");
	for (size_t i = 0; i < messages->count && c->p->contention; i++) {
		const struct dag_message *message = &messages->list[i];
		uint64_t at = c->s->processor[message->from];

		for (uint32_t h = 0; h < message->hops; h++) {
			const struct dag_hop *hop = &messages->hops[message->hop + h];

			uses[count++] = (struct use){ at << 32 | hop->node, hop->start, hop->finish,
						      message->to };
			at = hop->node;
		}
	}
	if (!err && count)
		err = check_alone(c, uses, count, "messages to");
	free(uses);
	return err;
}

int dag_check(const struct dag_problem *problem, const struct dag_schedule *schedule,
	      const struct dag_messages *messages, struct plan_refusal *refusal)
{
	struct checker c = { problem->graph, problem->machine,		problem,
			     schedule,	     1e-9 * schedule->makespan, refusal };
	int err = check_tasks(&c);

	if (!err)
		err = check_messages(&c, messages);
	return err ? err : check_overlap(&c, messages);
}
