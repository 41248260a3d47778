// SPDX-License-Identifier: GPL-2.0-or-later
#include "load_node.h"

#include <stdlib.h>
#include <string.h>

/* ---- the heap ---- */

/* Of the first entry, so that the children of one begin at a multiple of four. */
#define HEAP_SHIFT 3

static void node_sift_down(struct load_queue *q, struct load_event e)
{
	size_t at = 0;

	for (;;) {
		size_t child = 4 * at + 1, end = child + 4 < q->count ? child + 4 : q->count, least;

		if (child >= q->count)
			break;
		least = child;
		for (size_t c = child + 1; c < end; c++)
			least = q->heap[c].at < q->heap[least].at ? c : least;
		if (q->heap[least].at >= e.at)
			break;
		q->heap[at] = q->heap[least];
		at = least;
	}
	q->heap[at] = e;
}

static void node_queue_drop(struct load_queue *q)
{
	struct load_event last = q->heap[--q->count];

	if (q->count)
		node_sift_down(q, last);
}

static void node_queue_add(struct eh_load *load, struct load_event e)
{
	struct load_queue *q = &load->queue;
	size_t at = q->count;

	if (q->count == q->room) {
		size_t room = q->room ? 2 * q->room : 1024;
		/* four children in one line of the caches */
		struct load_event *memory =
			aligned_alloc(64, (room + HEAP_SHIFT + 1) * sizeof(*memory));

		if (!memory) {
			load->no_memory = true;
			return;
		}
		if (at)
			memcpy(memory + HEAP_SHIFT, q->heap, at * sizeof(*memory));
		free(q->memory);
		q->memory = memory;
		q->heap = memory + HEAP_SHIFT;
		q->room = room;
	}
	q->count++;
	for (; at; at = (at - 1) / 4) {
		size_t parent = (at - 1) / 4;

		if (q->heap[parent].at <= e.at)
			break;
		q->heap[at] = q->heap[parent];
	}
	q->heap[at] = e;
}

/* ---- a node ---- */

static double node_rate(const struct eh_load *load, const struct load_node *n)
{
	uint32_t processors = load_processors(load);

	return n->running <= processors ? n->speed : n->speed * processors / n->running;
}

static void node_pass(const struct eh_load *load, struct load_node *n)
{
	n->clock += (load->now - n->since) * node_rate(load, n);
	n->since = load->now;
}

/* After its tasks have changed. */
static void node_plan(struct eh_load *load, uint32_t node)
{
	struct load_node *n = &load->nodes[node];

	if (n->first == LOAD_NONE) {
		n->clock = 0;
		n->next = INFINITY;
		return;
	}
	n->next = load->now + (load->tasks[n->first].tag - n->clock) / node_rate(load, n);
	if (n->next < load->now)
		n->next = load->now;
	if (n->next < n->listed) {
		n->listed = n->next;
		node_queue_add(load, (struct load_event){ n->next, node });
	}
}

static void node_begin(struct eh_load *load, struct load_node *n, uint32_t task)
{
	struct load_task *t = &load->tasks[task];
	uint32_t *at = &n->first;

	t->tag = n->clock + t->work;
	while (*at != LOAD_NONE && load->tasks[*at].tag <= t->tag)
		at = &load->tasks[*at].next;
	t->next = *at;
	*at = task;
	n->running++;
}

void load_node_start(struct eh_load *load, uint32_t node, uint32_t task)
{
	struct load_node *n = &load->nodes[node];

	if (load->options->queue && n->running >= load_processors(load)) {
		load_list_add(load, &n->wait, task);
		n->waiting++;
		return;
	}
	node_pass(load, n);
	node_begin(load, n, task);
	node_plan(load, node);
}

uint32_t load_node_due(struct eh_load *load, double until)
{
	struct load_queue *q = &load->queue;

	while (q->count && q->heap[0].at <= until) {
		struct load_event e = q->heap[0];
		struct load_node *n = &load->nodes[e.node];

		if (e.at != n->listed) { /* an earlier one was listed later */
			node_queue_drop(q);
		} else if (n->next > e.at) {
			n->listed = n->next;
			if (n->next == INFINITY)
				node_queue_drop(q);
			else
				node_sift_down(q, (struct load_event){ n->next, e.node });
		} else {
			load->now = e.at;
			return e.node;
		}
	}
	return LOAD_NONE;
}

uint32_t load_node_end(struct eh_load *load, uint32_t node)
{
	struct load_node *n = &load->nodes[node];
	uint32_t task = n->first;

	node_pass(load, n);
	n->first = load->tasks[task].next;
	n->running--;
	if (n->waiting && n->running < load_processors(load)) {
		n->waiting--;
		node_begin(load, n, load_list_take(load, &n->wait));
	}
	node_plan(load, node);
	return task;
}
