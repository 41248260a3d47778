// SPDX-License-Identifier: GPL-2.0-or-later
#include "world_task.h"

#include <stdlib.h>

struct world_task *world_task_find(struct eh_world *w, uint64_t id)
{
	struct world_task *t;

	HASH_FIND(hh, w->tasks, &id, sizeof(id), t);
	return t;
}

struct world_task *world_task_new(struct eh_world *w, uint64_t id, uint64_t size, uint32_t home)
{
	struct world_task *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->id = id;
	t->size = size;
	t->home = home;
	HASH_ADD(hh, w->tasks, id, sizeof(t->id), t);
	if (t->hh.tbl)
		return t;
	free(t);
	return NULL;
}

static void task_drop(struct eh_world *w, struct world_task *t)
{
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): clang does not follow the links of uthash */
	HASH_DEL(w->tasks, t);
	free(t);
}

void world_task_end(struct eh_world *w, struct world_task *t)
{
	w->nodes[t->at].own.load -= t->size;
	w->nodes[t->at].touched = true;
	task_drop(w, t);
}

void world_task_run(struct eh_world *w, struct world_task *t, uint32_t at,
		    const struct eh_message *answer)
{
	struct world_node *n = &w->nodes[at];

	t->at = at;
	t->state = WORLD_TASK_RUNNING;
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
		world_task_end(w, t);
}

void world_task_answer(struct eh_world *w, const struct eh_message *msg)
{
	const struct eh_message_answer *answer = &msg->answer;
	const struct eh_message_ask *ask = &answer->ask;
	struct world_task *t = world_task_find(w, ask->id);

	if (!t || t->state != WORLD_TASK_ASKED)
		return;
	w->counts.probes += ask->probes;
	t->probes = ask->probes;
	if (ask->npath)
		t->decider = ask->path[ask->npath - 1];
	if (answer->to == EH_NO_NODE || answer->to == t->home) {
		world_task_run(w, t, t->home, msg);
		return;
	}
	t->state = WORLD_TASK_STARTING;
	t->at = answer->to;
	w->counts.reserved++;
	world_plan(w, world_delay(w),
		   (struct world_happening){ .type = WORLD_START, .node = t->home, .id = t->id });
}

void world_task_late(struct eh_world *w, uint64_t id)
{
	struct world_task *t = world_task_find(w, id);

	if (!t || t->state != WORLD_TASK_ASKED)
		return;
	w->counts.late++;
	world_task_run(w, t, t->home, NULL);
}

void world_task_lose(struct eh_world *w, uint32_t node)
{
	struct world_task *t, *next;

	HASH_ITER(hh, w->tasks, t, next) {
		bool runs = t->state == WORLD_TASK_RUNNING;

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
