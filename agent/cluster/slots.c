// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "eh/member.h"
#include "eh/slots.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "net/server.h"
#include "node/node.h"

#define SLOTS_LIFE_MS (8 * SLOTS_AGAIN_MS) /* of what was said */
#define SLOTS_WAIT_MS (2 * SLOTS_AGAIN_MS) /* for the top controller */
#define SLOTS_BUILDS 1024 /* here */
#define SLOTS_BUILDS_A_USER 64
#define SLOTS_USERS 256 /* of one node */
#define SLOTS_TELLERS 4096 /* nodes that the top controller hears */

/* A build here. */
struct slots_build {
	LIST_ENTRY(slots_build) link;
	struct slots_wish said;
	uint64_t at;
	unsigned int granted;
};

/* A caller that waits for its answer. */
struct slots_caller {
	STAILQ_ENTRY(slots_caller) link;
	uid_t uid;
	uint64_t build;
	bool asked; /* what it said is in the question on its way */
	slots_fn done;
	void *ctx;
};

/* What a node has told the top controller. */
struct slots_teller {
	LIST_ENTRY(slots_teller) link;
	uint32_t node;
	uint64_t at;
	size_t n;
	struct eh_slots_claim claims[];
};

struct slots {
	LIST_HEAD(, slots_build) builds;
	unsigned int nbuilds;
	STAILQ_HEAD(, slots_caller) callers;
	bool asking, ended; /* `ended`: a build has, which the top controller is to know */
	struct eh_slots_others here;
	/* of the top controller */
	LIST_HEAD(, slots_teller) tellers;
	unsigned int ntellers;
	struct eh_slots_others all;
};

static struct log_limit slots_log;

/* ---- builds here ---- */

static void slots_drop(struct slots *s, struct slots_build *b)
{
	LIST_REMOVE(b, link);
	s->nbuilds--;
	free(b);
}

static void slots_forget(struct slots *s)
{
	const uint64_t now = clock_ms();
	struct slots_build *b, *next;

	for (b = LIST_FIRST(&s->builds); b; b = next) {
		next = LIST_NEXT(b, link);
		if (now - b->at > SLOTS_LIFE_MS)
			slots_drop(s, b);
	}
}

static struct slots_build *slots_find(struct slots *s, uid_t uid, uint64_t build)
{
	struct slots_build *b;

	LIST_FOREACH(b, &s->builds, link)
		if (b->said.uid == uid && b->said.build == build)
			return b;
	return NULL;
}

/* NULL: there are too many, or no memory. */
static struct slots_build *slots_build(struct slots *s, const struct slots_wish *wish)
{
	struct slots_build *b = slots_find(s, wish->uid, wish->build), *other;
	unsigned int same = 0;

	if (b)
		return b;
	LIST_FOREACH(other, &s->builds, link)
		same += other->said.uid == wish->uid;
	if (s->nbuilds >= SLOTS_BUILDS || same >= SLOTS_BUILDS_A_USER)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	LIST_INSERT_HEAD(&s->builds, b, link);
	s->nbuilds++;
	return b;
}

/* What this node's processors have free for builds. */
static unsigned int slots_here(struct agent *agent)
{
	const unsigned int away = node_away(agent);
	const struct slots_build *b;
	uint64_t used = 0;

	LIST_FOREACH(b, &agent->slots->builds, link)
		used += b->said.used;
	return eh_slots_offer(eh_slots_free(&agent->slots->here, agent->config->capacity,
					    node_load(agent), used > away ? used - away : 0,
					    clock_ms()),
			      1);
}

/* Shares out slots among the builds of a user, or with `all` among all; with `here` those that cannot leave. */
static void slots_divide(struct agent *agent, unsigned int slots, bool all, uid_t uid, bool here)
{
	struct slots *s = agent->slots;
	struct eh_slots_claim *claims = calloc(s->nbuilds + 1, sizeof(*claims));
	struct slots_build *b;
	size_t n = 0, i;

	if (!claims)
		return;
	LIST_FOREACH(b, &s->builds, link) {
		if ((!all && b->said.uid != uid) || (here && !b->said.here))
			continue;
		/* A user is one here: the place in the list finds the build again. */
		claims[n] = (struct eh_slots_claim){ .user = all ? b->said.uid : 0,
						     .builds = 1,
						     .used = b->said.used,
						     .wants = b->said.wants,
						     .build = b };
		n++;
	}
	if (eh_slots_share(slots, claims, n))
		for (i = 0; i < n; i++) {
			b = claims[i].build;
			if (!here || claims[i].granted < b->granted)
				b->granted = claims[i].granted;
		}
	free(claims);
}

/* The sums of each user. */
static size_t slots_claims(struct agent *agent, struct eh_slots_claim claims[SLOTS_USERS])
{
	const unsigned int processors = node_processors(agent);
	const struct slots_build *b;
	size_t n = 0, i;

	LIST_FOREACH(b, &agent->slots->builds, link) {
		unsigned int wants = b->said.wants;

		if (b->said.here && wants > processors)
			wants = processors;
		for (i = 0; i < n && claims[i].user != b->said.uid; i++)
			;
		if (i == n && n == SLOTS_USERS)
			continue;
		if (i == n)
			claims[n++] = (struct eh_slots_claim){ .user = b->said.uid };
		claims[i].builds++;
		claims[i].used += b->said.used;
		claims[i].wants += wants;
	}
	return n;
}

/* ---- answers ---- */

static void slots_go(struct agent *agent);

/* All whose question was answered. */
static void slots_answer(struct agent *agent, bool of_cluster)
{
	struct slots *s = agent->slots;
	STAILQ_HEAD(, slots_caller) asked = STAILQ_HEAD_INITIALIZER(asked);
	struct slots_caller *c, *next;
	struct slots_build *b;

	if (!of_cluster)
		slots_divide(agent, slots_here(agent), true, 0, false);
	else
		slots_divide(agent, slots_here(agent), true, 0, true);
	for (c = STAILQ_FIRST(&s->callers); c; c = next) {
		next = STAILQ_NEXT(c, link);
		if (!c->asked)
			continue;
		STAILQ_REMOVE(&s->callers, c, slots_caller, link);
		STAILQ_INSERT_TAIL(&asked, c, link);
	}
	while ((c = STAILQ_FIRST(&asked))) {
		STAILQ_REMOVE_HEAD(&asked, link);
		b = slots_find(s, c->uid, c->build);
		c->done(c->ctx, b && b->granted ? b->granted : 1, of_cluster && b && !b->said.here);
		free(c);
	}
}

/* ---- the top controller ---- */

static void slots_drop_teller(struct slots *s, struct slots_teller *t)
{
	LIST_REMOVE(t, link);
	s->ntellers--;
	free(t);
}

/* A node's claims replace its earlier ones. They are in the order of their nodes, so that the same one always
 * gets the rest of a division. */
static struct slots_teller *slots_tell(struct slots *s, uint32_t node,
				       const struct eh_slots_claim *claims, size_t n)
{
	const uint64_t now = clock_ms();
	struct slots_teller *t, *next, *before = NULL;

	for (t = LIST_FIRST(&s->tellers); t; t = next) {
		next = LIST_NEXT(t, link);
		if (now - t->at > SLOTS_LIFE_MS || t->node == node)
			slots_drop_teller(s, t);
		else if (t->node < node)
			before = t;
	}
	if (s->ntellers >= SLOTS_TELLERS)
		return NULL;
	t = malloc(sizeof(*t) + n * sizeof(*claims));
	if (!t)
		return NULL;
	t->node = node;
	t->at = now;
	t->n = n;
	for (size_t i = 0; i < n; i++)
		t->claims[i] = claims[i];
	if (before)
		LIST_INSERT_AFTER(before, t, link);
	else
		LIST_INSERT_HEAD(&s->tellers, t, link);
	s->ntellers++;
	return t;
}

/* The capacity of nodes that take tasks. Below other controllers, those that drain are not known here. */
static uint64_t slots_capacity(struct agent *agent, const struct eh_sums *sums)
{
	uint64_t capacity = sums->capacity;
	struct eh_child c;
	uint32_t node;

	for (unsigned int i = 0; i < 1u << agent->config->topology.n; i++)
		if (!eh_member_child(hierarchy_member(agent), agent->config->topology.l, i, &c,
				     &node) &&
		    c.own.draining && c.own.capacity <= capacity)
			capacity -= c.own.capacity;
	return capacity;
}

/* Shares out what the cluster has among all nodes' users. The answers for `to` are in its claims. */
static int slots_decide(struct agent *agent, struct slots_teller *to)
{
	struct slots *s = agent->slots;
	struct eh_slots_claim *all;
	struct slots_teller *t;
	struct eh_sums sums;
	uint64_t used = 0;
	unsigned int free_now;
	size_t n = 0, i;
	int err = -ENOMEM;

	if (eh_member_sums(hierarchy_member(agent), agent->config->topology.l, &sums))
		return -ENOENT;
	LIST_FOREACH(t, &s->tellers, link)
		n += t->n;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	LIST_FOREACH(t, &s->tellers, link)
		for (i = 0; i < t->n; i++) {
			all[n] = t->claims[i];
			all[n++].build = t == to ? &t->claims[i] : NULL;
			used += t->claims[i].used;
		}
	free_now =
		eh_slots_free(&s->all, slots_capacity(agent, &sums), sums.load, used, clock_ms());
	if (eh_slots_share(eh_slots_offer(free_now, sums.nodes), all, n)) {
		for (i = 0; i < n; i++)
			if (all[i].build)
				((struct eh_slots_claim *)all[i].build)->granted = all[i].granted;
		err = 0;
	}
	free(all);
	return err;
}

/* ---- questions ---- */

static bool slots_is_top(struct agent *agent)
{
	const struct peer *top = hierarchy_known_top(agent);

	return top && top->self;
}

static void slots_on_reply(void *ctx, int status, const json_t *reply)
{
	const json_t *users = json_object_get(reply, "users"), *one;
	struct agent *agent = ctx;
	bool good = status == 200 && json_is_array(users);
	uint64_t uid, slots;
	size_t i;

	if (!agent->slots)
		return;
	agent->slots->asking = false;
	if (good)
		json_array_foreach((json_t *)users, i, one)
			if (!report_number(one, "uid", UINT32_MAX, &uid) &&
			    !report_number(one, "slots", UINT32_MAX, &slots))
				slots_divide(agent, slots, false, uid, false);
	slots_answer(agent, good);
	slots_go(agent);
}

static json_t *slots_question(const struct eh_slots_claim *claims, size_t n)
{
	json_t *users = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			users, json_pack("{s:I,s:i,s:i,s:i}", "uid", (json_int_t)claims[i].user,
					 "builds", (int)claims[i].builds, "used",
					 (int)claims[i].used, "wants", (int)claims[i].wants));
	return json_pack("{s:o}", "users", users);
}

/* Asks for all who wait, unless a question is on its way. */
static void slots_go(struct agent *agent)
{
	struct eh_slots_claim claims[SLOTS_USERS];
	struct peer *top = hierarchy_known_top(agent);
	struct slots *s = agent->slots;
	struct slots_teller *own;
	struct slots_caller *c;
	json_t *body;
	size_t n;

	if (s->asking || (STAILQ_EMPTY(&s->callers) && !s->ended))
		return;
	s->ended = false;
	STAILQ_FOREACH(c, &s->callers, link)
		c->asked = true;
	n = slots_claims(agent, claims);
	if (slots_is_top(agent)) {
		own = slots_tell(s, agent->self.index, claims, n);
		if (!own || slots_decide(agent, own)) {
			slots_answer(agent, false);
			return;
		}
		for (size_t i = 0; i < n; i++)
			slots_divide(agent, own->claims[i].granted, false, own->claims[i].user,
				     false);
		slots_answer(agent, true);
		return;
	}
	body = top ? slots_question(claims, n) : NULL;
	if (body && !link_request(top, "/v1/slots", body, SLOTS_WAIT_MS, slots_on_reply, agent))
		s->asking = true;
	else
		slots_answer(agent, false);
}

void slots_ask(struct agent *agent, const struct slots_wish *wish, slots_fn done, void *ctx)
{
	struct slots *s = agent->slots;
	struct slots_caller *c;
	struct slots_build *b;

	slots_forget(s);
	b = slots_build(s, wish);
	c = b ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		if (log_allowed(&slots_log))
			log_warning("too many builds ask for slots: one of user %u has one slot",
				    (unsigned int)wish->uid);
		done(ctx, 1, false);
		return;
	}
	b->said = *wish;
	b->at = clock_ms();
	c->uid = wish->uid;
	c->build = wish->build;
	c->done = done;
	c->ctx = ctx;
	STAILQ_INSERT_TAIL(&s->callers, c, link);
	slots_go(agent);
}

void slots_ended(struct agent *agent, uid_t uid, uint64_t build)
{
	struct slots_build *b = slots_find(agent->slots, uid, build);

	if (!b)
		return;
	slots_drop(agent->slots, b);
	agent->slots->ended = true;
	slots_go(agent);
}

/* ---- in ---- */

static int slots_parse(const json_t *body, struct eh_slots_claim claims[SLOTS_USERS], size_t *n)
{
	const json_t *users = json_object_get(body, "users"), *one;
	uint64_t uid, builds, used, wants;
	size_t i;

	if (!json_is_array(users) || json_array_size(users) > SLOTS_USERS)
		return -EINVAL;
	json_array_foreach((json_t *)users, i, one) {
		if (report_number(one, "uid", UINT32_MAX, &uid) ||
		    report_number(one, "builds", SLOTS_BUILDS, &builds) || !builds ||
		    report_number(one, "used", SLOTS_BUILDS * EH_SLOTS_MAX, &used) ||
		    report_number(one, "wants", SLOTS_BUILDS * EH_SLOTS_MAX, &wants))
			return -EINVAL;
		claims[i] = (struct eh_slots_claim){
			.user = uid, .builds = builds, .used = used, .wants = wants
		};
	}
	*n = json_array_size(users);
	return 0;
}

void slots_on_message(struct agent *agent, struct peer *from, const json_t *body,
		      struct server_answer *answer)
{
	struct eh_slots_claim claims[SLOTS_USERS];
	struct slots_teller *t;
	json_t *users;
	size_t n;

	if (!agent->slots) {
		server_answer(answer, 503, NULL);
		return;
	}
	if (slots_parse(body, claims, &n)) {
		if (log_allowed(&slots_log))
			log_warning("%s (%s) sent a message about slots that is invalid",
				    peer_code(from), peer_host(from));
		server_refuse(answer, 400, "not a message about slots");
		return;
	}
	if (!slots_is_top(agent)) {
		server_refuse(answer, 404, "this is not the top controller");
		return;
	}
	t = slots_tell(agent->slots, from->code.index, claims, n);
	if (!t || slots_decide(agent, t)) {
		server_refuse(answer, 503, "out of memory");
		return;
	}
	users = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(users,
				      json_pack("{s:I,s:i}", "uid", (json_int_t)t->claims[i].user,
						"slots", (int)t->claims[i].granted));
	server_answer(answer, 200, json_pack("{s:o}", "users", users));
}

/* ---- set-up ---- */

int slots_init(struct agent *agent)
{
	struct slots *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	LIST_INIT(&s->builds);
	STAILQ_INIT(&s->callers);
	LIST_INIT(&s->tellers);
	agent->slots = s;
	return 0;
}

void slots_exit(struct agent *agent)
{
	struct slots *s = agent->slots;
	struct slots_caller *c;
	struct slots_build *b;

	if (!s)
		return;
	agent->slots = NULL;
	while ((c = STAILQ_FIRST(&s->callers))) {
		STAILQ_REMOVE_HEAD(&s->callers, link);
		free(c);
	}
	while ((b = LIST_FIRST(&s->builds)))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list, through prev */
		slots_drop(s, b);
	while (!LIST_EMPTY(&s->tellers))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list, through prev */
		slots_drop_teller(s, LIST_FIRST(&s->tellers));
	free(s);
}
