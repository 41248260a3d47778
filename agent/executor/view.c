// SPDX-License-Identifier: GPL-2.0-or-later
/* The executor's views: one for each home and user, created for the first guest that needs it. */

#include "executor/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "executor/view_link.h"
#include "executor/view_mount.h"
#include "helpers/common/control.h"
#include "job/keeper.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "base/ehlaunch.h"
#include "node/cgroup.h"
#include "wire/view.h"

#define VIEW_ASK_MS 5000

/* Whether there can be any here. */
struct view_try {
	struct view_mount mount;
	struct event *answered; /* NULL: nothing was asked */
	char trouble[160]; /* "": it can */
};

struct views {
	struct view_mounted *list;
	uint64_t began; /* clock_ms() */
	void (*adopted)(struct agent *agent);
	struct view_try try;
};

static void view_try_end(struct view_try *t)
{
	agent_free_event(&t->answered);
	t->answered = NULL;
	view_mount_end(&t->mount);
}

static void view_on_try(evutil_socket_t fd, short what, void *arg)
{
	struct view_try *t = arg;
	int found = view_mount_take(&t->mount, t->trouble, sizeof(t->trouble));

	if (!found)
		return;
	if (found > 0)
		t->trouble[0] = '\0';
	view_try_end(t);
}

static void view_try(struct agent *agent)
{
	struct view_try *t = &agent->views->try;

	if (t->answered || view_mount_try(agent, &t->mount))
		return;
	t->answered = event_new(agent->base, t->mount.news, EV_READ | EV_PERSIST, view_on_try, t);
	if (!t->answered || event_add(t->answered, NULL))
		view_try_end(t);
}

/* The next question sees what has changed meanwhile. */
const char *view_trouble(struct agent *agent)
{
	const char *trouble = agent->views->try.trouble;

	if (!*trouble)
		return NULL;
	view_try(agent);
	return trouble;
}

/* Whether new guests can enter it: another ehlaunch does not know it. */
static bool view_is_known(const struct view_mounted *v)
{
	return v->mount.ns < 0 || (v->launcher && v->launcher == ehlaunch_starts(v->home->agent));
}

/* Routes first, because closing the namespace may send requests to home. */
static void view_free(struct view_mounted *v)
{
	if (!v->over)
		LL_DELETE(v->home->agent->views->list, v);
	for (; v->nlinks; v->nlinks--)
		if (v->leave)
			route_close(&v->links[v->nlinks - 1].route);
		else
			route_close_clean(&v->links[v->nlinks - 1].route);
	agent_free_event(&v->synced);
	v->synced = NULL;
	agent_free_event(&v->mounting);
	agent_free_event(&v->idle);
	agent_free_event(&v->again);
	v->mounting = v->idle = v->again = NULL;
	if (!v->leave && v->mount.news >= 0)
		keeper_say(v->mount.news, LAUNCH_OVER);
	view_mount_end(&v->mount);
	v->over = true;
	if (!v->asking)
		free(v);
}

static void view_lost(struct view_mounted *v, const char *trouble)
{
	struct view_use *uses = v->uses, *u;

	if (uses)
		log_warning("the files of user %u of node %s: %s", v->uid, peer_code(v->home),
			    trouble);
	view_free(v);
	for (u = uses; u; u = u->next)
		u->of = NULL;
	while ((u = uses)) {
		uses = u->next;
		u->news(u->ctx, trouble);
	}
}

/* Brings home's current files into view for a guest that is about to start. */
static void view_begin(struct view_mounted *v, struct view_use *use)
{
	if (control_ask(v->mount.control, use->ticket = ++v->tickets, VIEW_BEGIN, -1))
		view_lost(v, "ehview does not accept requests");
}

static void view_on_synced(evutil_socket_t fd, short what, void *arg)
{
	struct view_mounted *v = arg;
	int64_t ticket = control_answer(v->mount.control);

	if (ticket < 0) {
		view_lost(v, "ehview has ended");
		return;
	}
	for (struct view_use *u = v->uses; u && ticket; u = u->next) {
		if (u->ticket != ticket)
			continue;
		u->ticket = 0;
		u->news(u->ctx, NULL);
		return;
	}
}

static int view_expect_synced(struct view_mounted *v)
{
	v->synced = event_new(v->home->agent->base, v->mount.control, EV_READ | EV_PERSIST,
			      view_on_synced, v);
	return v->synced && !event_add(v->synced, NULL) ? 0 : -ENOMEM;
}

static void view_idle(struct view_mounted *v)
{
	clock_arm(v->idle, v->home->agent->config->link_idle);
}

static void view_taken(struct view_mounted *v)
{
	keeper_say(v->mount.news, LAUNCH_STAY);
	keeper_say_limit(v->mount.news, v->home->agent);
	log_info("the files of user %u of node %s are mounted from before", v->uid,
		 peer_code(v->home));
	view_link_wait(v);
	if (!v->uses)
		view_idle(v);
}

/* It is mounted, or not, or not any more. */
static void view_on_mounting(evutil_socket_t fd, short what, void *arg)
{
	struct view_mounted *v = arg;
	struct view_use *u, *next;
	char why[160];
	int news = view_mount_take(&v->mount, why, sizeof(why));

	if (!news)
		return;
	if (news > 0 && (v->mount.ns < 0 || v->mount.control < 0))
		snprintf(why, sizeof(why), "too many descriptors are open");
	else if (news > 0 && view_expect_synced(v))
		snprintf(why, sizeof(why), "%s", strerror(ENOMEM));
	else if (news > 0)
		why[0] = '\0';
	if (why[0]) {
		view_lost(v, why);
		return;
	}
	if (v->adopted) {
		view_taken(v);
		if (v->home->agent->views->adopted)
			v->home->agent->views->adopted(v->home->agent);
		return;
	}
	log_info("mounted the files of user %u of node %s", v->uid, peer_code(v->home));
	for (u = v->uses; u; u = next) {
		next = u->next;
		u->news(u->ctx, NULL);
	}
}

/*
 * Whether a guest of an earlier agent is in it that has not come back. Without cgroups nobody has
 * noted that.
 */
static bool view_is_awaited(const struct view_mounted *v)
{
	struct agent *agent = v->home->agent;
	struct stat st;

	if (!v->adopted || clock_ms() - agent->views->began > agent->config->job_limit)
		return false;
	return cgroup_guest_fd(agent) < 0 || v->mount.ns < 0 || fstat(v->mount.ns, &st) ||
	       cgroup_guest_sees(agent, st.st_ino);
}

static void view_on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct view_mounted *v = arg;

	if (view_is_awaited(v)) {
		view_idle(v);
		return;
	}
	log_info("unmounted the files of user %u of node %s: no longer needed", v->uid,
		 peer_code(v->home));
	view_free(v);
}

/* Home names it; ehlaunch checks it once more. */
static bool view_path_is_good(const char *path, bool first)
{
	return path && path[0] == '/' && first == !path[1] && strlen(path) <= EHS_PATH_MAX;
}

static int view_expect(struct view_mounted *v)
{
	v->mounting = event_new(v->home->agent->base, v->mount.news, EV_READ | EV_PERSIST,
				view_on_mounting, v);
	return v->mounting && !event_add(v->mounting, NULL) ? 0 : -ENOMEM;
}

static int view_mount_all(struct view_mounted *v, const json_t *paths)
{
	const char *path;
	size_t count = json_array_size(paths);
	struct view_trees trees = { .n = 0 };
	struct launch_stay stay = { 0 };
	int socket, err = *v->user ? 0 : -ENOENT;

	if (!count || count > VIEW_TREES_MAX)
		return -EPROTO;
	for (size_t i = 0; i < count && !err; i++) {
		path = json_string_value(json_array_get(paths, i));
		err = view_path_is_good(path, !i) ? view_link_add(v) : -EPROTO;
		if (err)
			break;
		socket = view_link_open(v, i, path);
		if (socket < 0) {
			err = socket;
			break;
		}
		trees.paths[trees.n] = path;
		trees.sockets[trees.n++] = socket;
	}
	keeper_stay(&stay, v->home->agent, v->home, v->token, 0);
	if (!err)
		err = view_mount_start(v->home->agent, &v->mount, &trees, v->uid, v->user, &stay);
	while (trees.n)
		close(trees.sockets[--trees.n]);
	if (err)
		return err;
	v->launcher = ehlaunch_starts(v->home->agent);
	return view_expect(v);
}

static void view_on_mounts(void *ctx, int status, const json_t *reply)
{
	struct view_mounted *v = ctx;
	const char *error = json_string_value(json_object_get(reply, "error"));
	char why[160];
	int err;

	v->asking = false;
	if (v->over) {
		view_free(v);
		return;
	}
	if (status != 200) {
		snprintf(why, sizeof(why), "home does not serve its files: %s",
			 error ?: "no answer");
		view_lost(v, why);
		return;
	}
	err = view_mount_all(v, json_object_get(reply, "mounts"));
	if (err) {
		snprintf(why, sizeof(why), "cannot mount home's files: %s", strerror(-err));
		view_lost(v, why);
	}
}

static struct view_mounted *view_new(struct peer *home, uid_t uid)
{
	struct view_mounted *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->home = home;
	v->uid = uid;
	v->lost = view_lost;
	view_mount_init(&v->mount);
	LL_PREPEND(home->agent->views->list, v);
	v->idle = evtimer_new(home->agent->base, view_on_idle, v);
	v->again = evtimer_new(home->agent->base, view_link_on_again, v);
	/* An earlier agent's may be answered yet. */
	if (v->idle && v->again &&
	    getrandom(&v->tickets, sizeof(v->tickets), 0) == sizeof(v->tickets))
		return v;
	view_free(v);
	return NULL;
}

static struct view_mounted *view_by_token(const struct agent *agent, const char *token)
{
	struct view_mounted *v;

	for (v = agent->views->list; v && strcmp(v->token, token); v = v->next)
		;
	return v;
}

void view_adopt(struct agent *agent, int socket, const struct kept *k)
{
	struct peer *home = peers_by_text(agent, k->other);
	struct view_mounted *v = NULL;

	if (home && *k->token && k->number && k->number <= VIEW_TREES_MAX &&
	    !view_by_token(agent, k->token))
		v = view_new(home, k->uid);
	if (!v) {
		close(socket);
		return;
	}
	evutil_make_socket_nonblocking(socket);
	memcpy(v->token, k->token, sizeof(v->token));
	v->mount.news = socket;
	v->adopted = true;
	/* Another ehlaunch does not know its namespace. */
	v->launcher = k->known ? ehlaunch_starts(agent) : 0;
	while (v->nlinks < k->number && !view_link_add(v))
		;
	if (v->nlinks < k->number || view_expect(v))
		view_lost(v, "out of memory");
}

static int view_open(struct peer *home, uid_t uid, const char *user, struct view_mounted **out)
{
	struct view_mounted *v = view_new(home, uid);
	json_t *body;
	int err;

	if (!v)
		return -ENOMEM;
	snprintf(v->user, sizeof(v->user), "%s", user);
	err = keeper_token(v->token);
	if (err)
		goto free_view;
	err = -ENOMEM;
	body = json_pack("{s:I}", "uid", (json_int_t)uid);
	if (!body)
		goto free_view;
	err = link_request(home, "/v1/mounts", body, VIEW_ASK_MS, view_on_mounts, v);
	if (err)
		goto free_view;
	v->asking = true;
	*out = v;
	return 0;

free_view:
	view_free(v);
	return err;
}

static void view_add(struct view_mounted *v, struct view_use *use)
{
	evtimer_del(v->idle);
	use->of = v;
	use->ticket = 0;
	LL_PREPEND(v->uses, use);
}

/* Home may not have it any more, and nobody needs this one. */
static bool view_is_doubtful(const struct view_mounted *v)
{
	return v->broken && !v->uses;
}

int view_hold(struct view_use *use, struct peer *home, uid_t uid, const char *user)
{
	struct view_mounted *v;
	int err;

	for (v = home->agent->views->list; v; v = v->next)
		if (v->home == home && v->uid == uid && view_is_known(v) && !view_is_doubtful(v))
			break;
	if (!v) {
		err = view_open(home, uid, user, &v);
		if (err)
			return err;
	}
	view_add(v, use);
	if (v->mount.ns >= 0)
		view_begin(v, use);
	return 0;
}

static bool view_has_ino(const struct view_mounted *v, uint64_t ino)
{
	struct stat st;

	return !ino || (!fstat(v->mount.ns, &st) && st.st_ino == ino);
}

bool view_join(struct view_use *use, struct peer *home, uid_t uid, uint64_t ino)
{
	for (struct view_mounted *v = home->agent->views->list; v; v = v->next)
		if (v->adopted && v->home == home && v->uid == uid && v->mount.ns >= 0 &&
		    view_has_ino(v, ino)) {
			view_add(v, use);
			return true;
		}
	return false;
}

bool view_leave(const struct view_use *use)
{
	struct view_mounted *v = use->of;

	if (!v)
		return true;
	if (v->mount.ns < 0)
		return false;
	v->leave = true;
	return true;
}

void view_on_adopted(struct agent *agent, void (*adopted)(struct agent *agent))
{
	agent->views->adopted = adopted;
}

bool view_settle(struct view_use *use)
{
	struct view_mounted *v = use->of;

	if (!v || v->mount.ns < 0)
		return false;
	use->ticket = ++v->tickets;
	return !control_ask(v->mount.control, use->ticket, VIEW_ENDED, -1);
}

void view_release(struct view_use *use)
{
	struct view_mounted *v = use->of;

	if (!v)
		return;
	LL_DELETE(v->uses, use);
	use->of = NULL;
	if (!v->uses)
		view_idle(v);
}

void view_forsake(const struct view_use *use)
{
	if (use->of)
		use->of->launcher = 0;
}

int view_namespace(const struct view_use *use)
{
	return use->of ? use->of->mount.ns : -1;
}

int view_init(struct agent *agent)
{
	agent->views = calloc(1, sizeof(*agent->views));
	if (!agent->views)
		return -ENOMEM;
	agent->views->began = clock_ms();
	view_mount_init(&agent->views->try.mount);
	snprintf(agent->views->try.trouble, sizeof(agent->views->try.trouble),
		 "ehlaunch has not said whether it can");
	view_try(agent);
	return 0;
}

void view_reload(struct agent *agent, const struct config *old)
{
	for (struct view_mounted *v = agent->views->list; v; v = v->next)
		if (v->mount.ns >= 0 && agent->config->job_limit != old->job_limit)
			keeper_say_limit(v->mount.news, agent);
}

void view_exit(struct agent *agent)
{
	struct view_mounted *v;

	if (!agent->views)
		return;
	while ((v = agent->views->list)) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
		v->leave = v->leave || view_is_awaited(v);
		view_free(v);
	}
	view_try_end(&agent->views->try);
	free(agent->views);
	agent->views = NULL;
}
