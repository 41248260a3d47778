// SPDX-License-Identifier: GPL-2.0-or-later
#define XXH_INLINE_ALL
#include "build_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "ehplan.h"
#include "plan/names.h"

#define EDGES_MOST (1 << 24) /* a plan with fewer is still one */
#define DEPTH_MOST 20000
#define GROUP (UINT32_C(1) << 31) /* in a list of items: it is not a task but a group */

struct walk_node {
	struct walk_list needs, items, ends; /* ends: the tasks after which it is made */
	bool visited;
};

struct walk_group {
	struct walk_list tasks, before;
};

static int put(struct walk_list *l, uint32_t value)
{
	if (l->n == l->room) {
		uint32_t room = l->room ? 2 * l->room : 8;
		uint32_t *more = reallocarray(l->at, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->at = more;
		l->room = room;
	}
	l->at[l->n++] = value;
	return 0;
}

int walk_open(struct build_walk *walk)
{
	*walk = (struct build_walk){ .names = plan_names_new() };
	return dag_draft_begin(&walk->draft) || !walk->names ? -ENOMEM : 0;
}

void walk_close(struct build_walk *walk)
{
	for (uint32_t n = 0; n < walk->nodes_room; n++) {
		free(walk->nodes[n].needs.at);
		free(walk->nodes[n].items.at);
		free(walk->nodes[n].ends.at);
	}
	for (uint32_t g = 0; g < walk->ngroups; g++) {
		free(walk->groups[g].tasks.at);
		free(walk->groups[g].before.at);
	}
	for (uint32_t t = 0; t < walk->nlines; t++) {
		free(walk->lines[t].where);
		free(walk->lines[t].text);
	}
	if (walk->names)
		plan_names_free(walk->names);
	free(walk->nodes);
	free(walk->groups);
	free(walk->lines);
	free(walk->stamp);
	dag_draft_end(&walk->draft);
}

int64_t walk_node(struct build_walk *walk, const char *name)
{
	int64_t number = plan_names_find(walk->names, name);
	struct walk_node *more;

	if (number >= 0)
		return number;
	number = plan_names_add(walk->names, name);
	if (number >= walk->nodes_room) {
		uint32_t room = walk->nodes_room ? 2 * walk->nodes_room : 1024;

		more = reallocarray(walk->nodes, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + walk->nodes_room, 0, (room - walk->nodes_room) * sizeof(*more));
		walk->nodes = more;
		walk->nodes_room = room;
	}
	return number < 0 ? -ENOMEM : number;
}

int walk_need(struct build_walk *walk, int64_t node, int64_t other)
{
	return put(&walk->nodes[node].needs, (uint32_t)other);
}

int64_t walk_only_need(const struct build_walk *walk, int64_t node)
{
	const struct walk_list *needs = &walk->nodes[node].needs;

	return needs->n == 1 ? (int64_t)needs->at[0] : -1;
}

static int need_group(struct build_walk *walk, uint32_t group)
{
	struct walk_group *more;

	if (group < walk->ngroups)
		return 0;
	more = reallocarray(walk->groups, group + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + walk->ngroups, 0, (group + 1 - walk->ngroups) * sizeof(*more));
	walk->groups = more;
	walk->ngroups = group + 1;
	return 0;
}

/* A target with several commands has them as "target", "target (2)" and so on. */
static int64_t name_task(struct build_walk *walk, const char *name)
{
	int64_t number = dag_draft_task(&walk->draft, name, 0);
	char *more;

	for (unsigned int i = 2; number == -EEXIST; i++) {
		if (asprintf(&more, "%s (%u)", name, i) < 0)
			return -ENOMEM;
		number = dag_draft_task(&walk->draft, more, 0);
		free(more);
	}
	return number;
}

int walk_task(struct build_walk *walk, int64_t node, uint32_t group, const char *name,
	      const char *where, const char *text)
{
	struct build_line *more;
	int64_t task;
	int err = need_group(walk, group);

	if (walk->nlines == walk->lines_room && !err) {
		uint32_t room = walk->lines_room ? 2 * walk->lines_room : 256;

		more = reallocarray(walk->lines, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		walk->lines = more;
		walk->lines_room = room;
	}
	task = err ? err : name_task(walk, name);
	if (task < 0)
		return (int)task;
	more = &walk->lines[walk->nlines++];
	*more = (struct build_line){ .where = strdup(where), .text = strdup(text) };
	if (!more->where || !more->text)
		return -ENOMEM;
	err = put(&walk->groups[group].tasks, (uint32_t)task);
	return err ? err : put(&walk->nodes[node].items, (uint32_t)task);
}

int walk_group(struct build_walk *walk, int64_t node, uint32_t group)
{
	int err = need_group(walk, group);

	return err ? err : put(&walk->nodes[node].items, GROUP | group);
}

/* ---- edges ---- */

/* Adds those that are not in the list yet: they have no stamp of this turn. */
static int unite(struct build_walk *walk, struct walk_list *to, const struct walk_list *from,
		 uint32_t turn)
{
	int err = 0;

	for (uint32_t i = 0; i < from->n && !err; i++) {
		if (walk->stamp[from->at[i]] == turn)
			continue;
		walk->stamp[from->at[i]] = turn;
		err = put(to, from->at[i]);
	}
	return err;
}

static int join(struct build_walk *walk, const struct walk_list *from, uint32_t to)
{
	int err = 0;

	for (uint32_t i = 0; i < from->n && !err && walk->draft.nedges < EDGES_MOST; i++)
		if (from->at[i] != to)
			err = dag_draft_edge(&walk->draft, from->at[i], to, 0, to);
	return err;
}

/* The group comes after `ends`, and is what ends then; an empty one changes nothing. */
static int pass_group(struct build_walk *walk, struct walk_group *group, struct walk_list *ends)
{
	int err = unite(walk, &group->before, ends, ++walk->turn);

	if (err || !group->tasks.n)
		return err;
	ends->n = 0;
	return unite(walk, ends, &group->tasks, ++walk->turn);
}

/* What must be done for the node: in `ends` of it. A circle is cut, as make does. */
static int visit(struct build_walk *walk, uint32_t number, unsigned int depth)
{
	struct walk_node *node = &walk->nodes[number];
	struct walk_list ends = { 0 };
	uint32_t turn;
	int err = 0;

	if (node->visited || depth > DEPTH_MOST)
		return 0;
	node->visited = true;
	for (uint32_t i = 0; i < node->needs.n && !err; i++)
		err = visit(walk, node->needs.at[i], depth + 1);
	turn = ++walk->turn;
	for (uint32_t i = 0; i < node->needs.n && !err; i++)
		err = unite(walk, &ends, &walk->nodes[node->needs.at[i]].ends, turn);
	for (uint32_t i = 0; i < node->items.n && !err; i++) {
		uint32_t item = node->items.at[i];

		if (item & GROUP) {
			err = pass_group(walk, &walk->groups[item & ~GROUP], &ends);
			continue;
		}
		err = join(walk, &ends, item);
		ends.n = 0;
		if (!err)
			err = put(&ends, item);
	}
	node->ends = ends;
	return err;
}

static int make_edges(struct build_walk *walk)
{
	uint32_t nnodes = plan_names_count(walk->names);
	int err = 0;

	walk->stamp = calloc(walk->nlines + 1, sizeof(*walk->stamp));
	if (!walk->stamp)
		return -ENOMEM;
	for (uint32_t n = 0; n < nnodes && !err; n++)
		err = visit(walk, n, 0);
	for (uint32_t g = 0; g < walk->ngroups && !err; g++)
		for (uint32_t i = 0; i < walk->groups[g].tasks.n && !err; i++)
			err = join(walk, &walk->groups[g].before, walk->groups[g].tasks.at[i]);
	return err;
}

/* ---- the graph ---- */

static int add_places(struct build *b)
{
	b->places = plan_names_new();
	b->first = malloc((b->nlines + 1) * sizeof(*b->first));
	if (!b->places || !b->first)
		return -ENOMEM;
	/* backwards, so that the first of several lines of a target comes first */
	for (uint32_t t = b->nlines; t-- > 0;) {
		int64_t place = plan_names_find(b->places, b->lines[t].where);

		if (place < 0) {
			place = plan_names_add(b->places, b->lines[t].where);
			if (place < 0)
				return -ENOMEM;
			b->first[place] = BUILD_NO_TASK;
		}
		b->lines[t].next = b->first[place];
		b->first[place] = t;
	}
	return 0;
}

static int make_graph(struct build *b, struct workflow *w, struct dag_draft *draft,
		      struct build_line *lines, uint32_t nlines)
{
	struct plan_refusal refusal = { 0 };
	int err;

	if (!nlines) {
		w->graph = calloc(1, sizeof(*w->graph));
		return w->graph ? 0 : fail(EXIT_REFUSED, "no memory for a graph");
	}
	dag_draft_unite(draft);
	err = dag_graph_make(draft, &w->graph, &refusal);
	b->lines = calloc(nlines, sizeof(*b->lines));
	w->key = calloc(nlines, sizeof(*w->key));
	if (err || !b->lines || !w->key)
		return call_refused(b->ninja ? "ninja" : "make", &refusal, err ? err : -ENOMEM);
	b->nlines = nlines;
	for (uint32_t t = 0; t < nlines; t++) {
		struct build_line *l = &b->lines[t];
		struct build_line *from = &lines[w->graph->origin[t]];

		*l = *from;
		*from = (struct build_line){ 0 };
		l->fd = -1;
		w->key[t] = XXH3_64bits_withSeed(l->text, strlen(l->text),
						 XXH3_64bits(l->where, strlen(l->where)));
	}
	err = add_places(b);
	return err ? fail(EXIT_REFUSED, "no memory for %u commands", nlines) : 0;
}

int walk_finish(struct build_walk *walk, struct build *b, struct workflow *w)
{
	int err = make_edges(walk);

	if (err)
		return fail(EXIT_REFUSED, "a graph of %u commands: %s", walk->nlines,
			    strerror(-err));
	return make_graph(b, w, &walk->draft, walk->lines, walk->nlines);
}
