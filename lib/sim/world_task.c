// SPDX-License-Identifier: GPL-2.0-or-later
#include "world_task.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum task_state { TASK_ASKED, TASK_STARTING, TASK_RUNNING };

struct world_task {
	uint64_t id, size;
	enum task_state state;
	bool asked; /* the hierarchy was */
	bool ends; /* as soon as it runs */
	uint32_t home, at;
	unsigned int probes;
	struct eh_probe decider; /* the controller that chose the executor */
	UT_hash_handle hh;
};

static struct world_task *task_find(struct eh_world *w, uint64_t id)
{
	struct world_task *t;

	HASH_FIND(hh, w->tasks, &id, sizeof(id), t);
	return t;
}

static void task_drop(struct eh_world *w, struct world_task *t)
{
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): clang does not follow the links of uthash */
	HASH_DEL(w->tasks, t);
	free(t);
}

static void task_end(struct eh_world *w, struct world_task *t)
{
	w->nodes[t->at].own.load -= t->size;
	w->nodes[t->at].touched = true;
	task_drop(w, t);
}

/* It may end by that. */
static void task_run(struct eh_world *w, struct world_task *t, uint32_t at,
		     const struct eh_message *answer)
{
	struct world_node *n = &w->nodes[at];

	t->at = at;
	t->state = TASK_RUNNING;
	n->own.load += t->size;
	n->touched = true;
	if (at == t->home)
		w->counts.home++;
	else
		w->counts.away++;
	/* the report that has its load settles the grant */
	if (t->asked && n->nseen < EH_SEEN_MAX)
		n->seen[n->nseen++] = t->id;
	world_tell(w, (struct eh_world_event){ .type = EH_WORLD_PLACED,
					       .node = t->home,
					       .to = at,
					       .message = answer,
					       .probes = t->probes,
					       .id = t->id });
	if (t->ends)
		task_end(w, t);
}

void world_task_answer(struct eh_world *w, const struct eh_message *msg)
{
	const struct eh_message_answer *answer = &msg->answer;
	const struct eh_message_ask *ask = &answer->ask;
	struct world_task *t = task_find(w, ask->id);

	if (!t || t->state != TASK_ASKED)
		return;
	w->counts.probes += ask->probes;
	t->probes = ask->probes;
	if (ask->npath)
		t->decider = ask->path[ask->npath - 1];
	if (answer->to == EH_NO_NODE || answer->to == t->home) {
		task_run(w, t, t->home, msg);
		return;
	}
	t->state = TASK_STARTING;
	t->at = answer->to;
	w->counts.reserved++;
	world_plan(w, world_delay(w),
		   (struct world_happening){ .type = WORLD_START, .node = t->home, .id = t->id });
}

void world_task_late(struct eh_world *w, uint64_t id)
{
	struct world_task *t = task_find(w, id);

	if (!t || t->state != TASK_ASKED)
		return;
	w->counts.late++;
	task_run(w, t, t->home, NULL);
}

void world_task_start(struct eh_world *w, uint64_t id)
{
	struct world_task *t = task_find(w, id);
	uint32_t to;

	if (!t || t->state != TASK_STARTING)
		return;
	to = t->at;
	if (w->nodes[to].member && !world_is_cut(w, t->home, to)) {
		task_run(w, t, to, NULL);
		world_touch(w, to);
		return;
	}
	world_step(w, t->home,
		   &(struct eh_member_event){
			   .type = EH_ME_FAILED,
			   .failed = { .id = id, .to = to, .decider = t->decider } });
	task_run(w, t, t->home, NULL);
}

int eh_world_arrive(struct eh_world *w, uint32_t node, uint64_t id, uint64_t size)
{
	const struct eh_report *own;
	struct world_task *t;

	if (!eh_world_alive(w, node) || task_find(w, id))
		return -EINVAL;
	own = &w->nodes[node].own;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->id = id;
	t->size = size;
	t->home = node;
	HASH_ADD(hh, w->tasks, id, sizeof(t->id), t);
	if (!t->hh.tbl) {
		free(t);
		return -ENOMEM;
	}
	w->counts.arrivals++;
	if (eh_state(own->load, own->threshold, own->length) != EH_SENDER) {
		task_run(w, t, node, NULL);
	} else {
		w->counts.asked++;
		t->asked = true;
		world_plan(w, w->options.ask_limit,
			   (struct world_happening){ .type = WORLD_LATE, .node = node, .id = id });
		world_step(w, node,
			   &(struct eh_member_event){ .type = EH_ME_ASK,
						      .ask = { .id = id, .size = size } });
	}
	world_touch(w, node);
	return 0;
}

int eh_world_finish(struct eh_world *w, uint64_t id)
{
	struct world_task *t = task_find(w, id);

	if (!t)
		return -EINVAL;
	t->ends = true;
	if (t->state == TASK_RUNNING) {
		const uint32_t at = t->at;

		task_end(w, t);
		world_touch(w, at);
	}
	return 0;
}

void world_task_lose(struct eh_world *w, uint32_t node)
{
	struct world_task *t, *next;

	HASH_ITER(hh, w->tasks, t, next) {
		bool runs = t->state == TASK_RUNNING;

		if (t->home != node && !(runs && t->at == node))
			continue;
		/* a guest dies with its home */
		if (runs && t->at != node && w->nodes[t->at].member) {
			w->nodes[t->at].own.load -= t->size;
			w->nodes[t->at].touched = true;
		}
		w->counts.lost++;
		world_tell(w, (struct eh_world_event){ .type = EH_WORLD_LOST,
						       .node = t->home,
						       .to = t->at,
						       .id = t->id });
		task_drop(w, t);
	}
}

void world_task_free(struct eh_world *w)
{
	struct world_task *t, *next;

	HASH_ITER(hh, w->tasks, t, next)
		task_drop(w, t);
}
