// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay.h"

#include <errno.h>
#include <stdlib.h>

#define NOTHING UINT32_MAX
#define END (-1.0) /* less than any start */

/* The end of a task, or of a message's stay on a link, or a message that comes to a link. */
struct event {
	double time;
	double start, finish; /* on the link, in the plan; they decide between equal times */
	size_t number; /* of a task, or tasks + message, or tasks + messages + message that comes */
};

struct replay {
	const struct dag_problem *p;
	struct dag_schedule *s;
	struct dag_messages *m;
	struct event *heap;
	size_t count, comes; /* comes: number of the event that the first message comes to a link */
	uint32_t *waits; /* of tasks: how many tasks and messages it waits for */
	uint32_t *next; /* of tasks: the next one on the processor */
	uint32_t *sent_at, *sent; /* of tasks: their messages */
	uint32_t *hop; /* of messages: the hop that they are on */
	uint32_t *head, *tail, *behind; /* of links: the queue; of messages: the next one */
	bool *busy;
};

/* Ends are before the messages that come at the same time, and these are in the order of the plan.
 * So the replay of a replay is the same, even with messages that take no time. */
static bool sooner(const struct event *a, const struct event *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->start != b->start)
		return a->start < b->start;
	if (a->finish != b->finish)
		return a->finish < b->finish;
	return a->number < b->number;
}

static void put(struct replay *r, struct event e)
{
	size_t at = r->count++;

	for (; at && sooner(&e, &r->heap[(at - 1) / 2]); at = (at - 1) / 2)
		r->heap[at] = r->heap[(at - 1) / 2];
	r->heap[at] = e;
}

static struct event take(struct replay *r)
{
	struct event first = r->heap[0], last = r->heap[--r->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < r->count) {
		if (child + 1 < r->count && sooner(&r->heap[child + 1], &r->heap[child]))
			child++;
		if (!sooner(&r->heap[child], &last))
			break;
		r->heap[at] = r->heap[child];
		at = child;
	}
	r->heap[at] = last;
	return first;
}

static double data_of(const struct replay *r, const struct dag_message *m)
{
	const struct dag_graph *g = r->p->graph;
	uint32_t low = g->in_at[m->to], high = g->in_at[m->to + 1] - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (g->in[middle].task < m->from)
			low = middle + 1;
		else
			high = middle;
	}
	return g->in[low].data;
}

static uint32_t link_of(const struct replay *r, uint32_t message)
{
	const struct dag_message *m = &r->m->list[message];
	uint32_t hop = r->hop[message];
	uint32_t from = hop ? r->m->hops[m->hop + hop - 1].node : r->s->processor[m->from];

	return dag_machine_link_number(r->p->machine, from, r->m->hops[m->hop + hop].node);
}

static void send(struct replay *r, uint32_t message, double time)
{
	const struct dag_message *m = &r->m->list[message];
	struct dag_hop *hop = &r->m->hops[m->hop + r->hop[message]];
	uint32_t from = r->hop[message] ? hop[-1].node : r->s->processor[m->from];
	struct dag_link buffer;
	const struct dag_link *link = dag_machine_link(r->p->machine, from, hop->node, &buffer);

	hop->start = time;
	hop->finish = time + (data_of(r, m) / link->rate + link->startup);
	put(r, (struct event){ hop->finish, END, END, r->p->tasks + message });
}

/* The message comes to its next link. */
static void come(struct replay *r, uint32_t message, double time)
{
	const struct dag_hop *hop = &r->m->hops[r->m->list[message].hop + r->hop[message]];

	put(r, (struct event){ time, hop->start, hop->finish, r->comes + message });
}

/* All that come before it in the plan are there. */
static void queue(struct replay *r, uint32_t message, double time)
{
	uint32_t link = link_of(r, message);

	if (!r->p->contention || !r->busy[link]) {
		r->busy[link] = true;
		send(r, message, time);
		return;
	}
	r->behind[message] = NOTHING;
	if (r->head[link] == NOTHING)
		r->head[link] = message;
	else
		r->behind[r->tail[link]] = message;
	r->tail[link] = message;
}

static void wake(struct replay *r, uint32_t task, double time)
{
	if (--r->waits[task])
		return;
	r->s->start[task] = time;
	r->s->finish[task] = time + dag_run_time(r->p, task, r->s->processor[task]);
	put(r, (struct event){ r->s->finish[task], END, END, task });
}

static void end_task(struct replay *r, uint32_t task, double time)
{
	const struct dag_graph *g = r->p->graph;

	for (uint32_t i = r->sent_at[task]; i < r->sent_at[task + 1]; i++)
		come(r, r->sent[i], time);
	for (uint32_t i = g->out_at[task]; i < g->out_at[task + 1]; i++)
		if (r->s->processor[g->out[i].task] == r->s->processor[task])
			wake(r, g->out[i].task, time);
	if (r->next[task] != NOTHING)
		wake(r, r->next[task], time);
}

static void end_stay(struct replay *r, uint32_t message, double time)
{
	const struct dag_message *m = &r->m->list[message];
	uint32_t link = link_of(r, message), next = r->head[link];

	r->busy[link] = false;
	if (next != NOTHING) {
		r->head[link] = r->behind[next];
		r->busy[link] = true;
		send(r, next, time);
	}
	if (++r->hop[message] < m->hops)
		come(r, message, time);
	else
		wake(r, m->to, time);
}

/* The next task on each processor in the order of the plan, and the messages of each task. */
static int prepare(struct replay *r)
{
	const struct dag_graph *g = r->p->graph;
	uint32_t n = r->p->tasks, messages = r->m->count;
	uint32_t *last = malloc(r->p->processors * sizeof(*last));

	if (!last)
		return -ENOMEM;
	for (uint32_t t = 0; t < n; t++) {
		r->next[t] = NOTHING;
		r->waits[t] = 1 + g->in_at[t + 1] - g->in_at[t]; /* one to begin with */
	}
	for (uint32_t j = 0; j < r->p->processors; j++)
		last[j] = NOTHING;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = r->s->order[i], j = r->s->processor[t];

		if (last[j] != NOTHING) {
			r->next[last[j]] = t;
			r->waits[t]++;
		}
		last[j] = t;
	}
	for (uint32_t i = 0; i < messages; i++)
		r->sent_at[r->m->list[i].from + 1]++;
	for (uint32_t t = 0; t < n; t++)
		r->sent_at[t + 1] += r->sent_at[t];
	for (uint32_t i = messages; i-- > 0;)
		r->sent[--r->sent_at[r->m->list[i].from + 1]] = i;
	/* each index is now where the next one began, so move them by one */
	for (uint32_t t = 0; t < n; t++)
		r->sent_at[t] = r->sent_at[t + 1];
	r->sent_at[n] = messages;
	free(last);
	return 0;
}

int dag_replay(const struct dag_problem *p, struct dag_schedule *s, struct dag_messages *m)
{
	struct replay r = { .p = p, .s = s, .m = m, .comes = (size_t)p->tasks + m->count };
	uint32_t n = p->tasks, links = dag_machine_links(p->machine) + 1;
	int err = -ENOMEM;

	r.heap = malloc((n + m->count) * sizeof(*r.heap));
	r.waits = malloc(n * sizeof(*r.waits));
	r.next = malloc(n * sizeof(*r.next));
	r.sent_at = calloc(n + 2, sizeof(*r.sent_at));
	r.sent = malloc((m->count + 1) * sizeof(*r.sent));
	r.hop = calloc(m->count + 1, sizeof(*r.hop));
	r.behind = malloc((m->count + 1) * sizeof(*r.behind));
	r.head = malloc(links * sizeof(*r.head));
	r.tail = malloc(links * sizeof(*r.tail));
	r.busy = calloc(links, sizeof(*r.busy));
	if (!r.heap || !r.waits || !r.next || !r.sent_at || !r.sent || !r.hop || !r.behind ||
	    !r.head || !r.tail || !r.busy)
		goto out;
	for (uint32_t l = 0; l < links; l++)
		r.head[l] = NOTHING;
	err = prepare(&r);
	for (uint32_t t = 0; t < n && !err; t++)
		wake(&r, t, 0);
	while (!err && r.count) {
		struct event e = take(&r);

		if (e.number < n)
			end_task(&r, e.number, e.time);
		else if (e.number < r.comes)
			end_stay(&r, e.number - n, e.time);
		else
			queue(&r, e.number - r.comes, e.time);
	}
	dag_schedule_measure(s);
out:
	free(r.heap);
	free(r.waits);
	free(r.next);
	free(r.sent_at);
	free(r.sent);
	free(r.hop);
	free(r.behind);
	free(r.head);
	free(r.tail);
	free(r.busy);
	return err;
}
