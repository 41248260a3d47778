// SPDX-License-Identifier: GPL-2.0-or-later
/* The executor's views: one for each home and user, created for the first guest that needs it. */

#include "executor/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/log.h"
#include "base/user.h"
#include "executor/view_mount.h"
#include "executor/view_sync.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/tunnel.h"
#include "base/launcher.h"
#include "wire/frame.h"
#include "wire/view.h"

#define VIEW_ASK_MS 5000

/* The connection of one of home's file systems. */
struct view_link {
	struct tunnel pipe;
	char *head; /* uid and path, the start of its stream */
};

struct view_mounted {
	struct view_mounted *next;
	struct peer *home;
	uid_t uid;
	struct view_link links[VIEW_TREES_MAX];
	size_t nlinks;
	bool asking; /* asking home for its mounts */
	bool over; /* free it when home has answered */
	enum launch_carrier carrier;
	unsigned int launcher; /* launcher_starts() of the ehlaunch that has made it */
	uint32_t tickets;
	struct view_mount mount;
	struct event *mounting, *synced, *idle;
	struct view_use *uses;
};

/* Whether a carrier can be used here. */
struct view_try {
	struct view_mount mount;
	struct event *answered; /* NULL: nothing was asked */
	char trouble[160]; /* "": it can */
};

struct views {
	struct view_mounted *list;
	struct view_try tries[LAUNCH_CARRIERS];
};

static void view_try_end(struct view_try *t)
{
	if (t->answered)
		event_free(t->answered);
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

static void view_try(struct agent *agent, enum launch_carrier carrier)
{
	struct view_try *t = &agent->views->tries[carrier];

	if (t->answered || view_mount_try(agent, &t->mount, carrier))
		return;
	t->answered = event_new(agent->base, t->mount.news, EV_READ | EV_PERSIST, view_on_try, t);
	if (!t->answered || event_add(t->answered, NULL))
		view_try_end(t);
}

/* What has changed meanwhile is seen at the next question. */
static const char *view_carrier_trouble(struct agent *agent, enum launch_carrier carrier)
{
	const char *trouble = agent->views->tries[carrier].trouble;

	if (!*trouble)
		return NULL;
	view_try(agent, carrier);
	return trouble;
}

const char *view_fuse_trouble(struct agent *agent)
{
	return view_carrier_trouble(agent, LAUNCH_FUSE);
}

const char *view_trouble(struct agent *agent)
{
	if (!agent->config->view_9p && !view_fuse_trouble(agent))
		return NULL;
	return view_carrier_trouble(agent, LAUNCH_9P);
}

/* Whether new guests can enter it: another ehlaunch does not know it. */
static bool view_is_known(const struct view_mounted *v)
{
	return v->mount.ns < 0 || (v->launcher && v->launcher == launcher_starts(v->home->agent));
}

/* Pipes first, because closing the namespace may send requests to home. */
static void view_free(struct view_mounted *v)
{
	struct view_mounted **at;

	if (!v->over) {
		for (at = &v->home->agent->views->list; *at != v; at = &(*at)->next)
			;
		*at = v->next;
	}
	for (size_t i = 0; i < v->nlinks; i++) {
		tunnel_close(&v->links[i].pipe);
		free(v->links[i].head);
	}
	v->nlinks = 0;
	if (v->synced)
		event_free(v->synced);
	v->synced = NULL;
	if (v->mounting)
		event_free(v->mounting);
	if (v->idle)
		event_free(v->idle);
	v->mounting = v->idle = NULL;
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

static void view_on_closed(void *ctx)
{
	struct view_mounted *v = ctx;

	view_lost(v, v->mount.ns < 0 ? "home does not serve its files"
				     : "lost the connection to home's files");
}

/* Brings home's current files into view for a guest that is about to start. */
static void view_begin(struct view_mounted *v, struct view_use *use)
{
	if (v->carrier == LAUNCH_9P)
		use->news(use->ctx, NULL);
	else if (view_sync_ask(v->mount.control, use->ticket = ++v->tickets, false))
		view_lost(v, "ehview does not accept requests");
}

static void view_on_synced(evutil_socket_t fd, short what, void *arg)
{
	struct view_mounted *v = arg;
	int64_t ticket = view_sync_take(v->mount.control);

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
	if (v->carrier == LAUNCH_9P)
		return 0;
	v->synced = event_new(v->home->agent->base, v->mount.control, EV_READ | EV_PERSIST,
			      view_on_synced, v);
	return v->synced && !event_add(v->synced, NULL) ? 0 : -ENOMEM;
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
	if (news > 0 && view_expect_synced(v))
		snprintf(why, sizeof(why), "%s", strerror(ENOMEM));
	else if (news > 0)
		why[0] = '\0';
	if (why[0]) {
		view_lost(v, why);
		return;
	}
	log_info("mounted the files of user %u of node %s", v->uid, peer_code(v->home));
	for (u = v->uses; u; u = next) {
		next = u->next;
		u->news(u->ctx, NULL);
	}
}

static void view_on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct view_mounted *v = arg;

	log_info("unmounted the files of user %u of node %s: no longer needed", v->uid,
		 peer_code(v->home));
	view_free(v);
}

/* Connects the file system that home has mounted at `path`. 0 or -errno. */
static int view_open_link(struct view_mounted *v, const char *path, struct view_trees *trees)
{
	struct view_link *link = &v->links[v->nlinks];
	size_t length = strlen(path);
	int pair[2], err;

	link->head = malloc(8 + length);
	if (!link->head)
		return -ENOMEM;
	frame_put_u32((uint8_t *)link->head, v->uid);
	frame_put_u32((uint8_t *)link->head + 4, length);
	memcpy(link->head + 8, path, length);
	link->pipe.fd = -1;
	link->pipe.first = (uint8_t *)link->head;
	link->pipe.nfirst = 8 + length;
	v->nlinks++;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	trees->paths[trees->n] = path;
	trees->sockets[trees->n++] = pair[1];
	err = tunnel_open(&link->pipe, v->home->agent->base, pair[0], view_on_closed, v);
	if (err)
		return err;
	link->pipe.stream =
		link_open(v->home, "POST", v->carrier == LAUNCH_9P ? "/v1/9p" : "/v1/files",
			  &tunnel_ops, &link->pipe);
	return link->pipe.stream ? 0 : -errno;
}

/* What home says; ehlaunch checks it once more. */
static bool view_path_is_good(const char *path, bool first)
{
	return path && path[0] == '/' && first == !path[1] && strlen(path) <= EHS_PATH_MAX;
}

static int view_mount_all(struct view_mounted *v, const json_t *paths)
{
	const char *user = user_name(v->uid), *path;
	size_t count = json_array_size(paths);
	struct view_trees trees = { .n = 0 };
	int err = user ? 0 : -ENOENT;

	if (!count || count > VIEW_TREES_MAX)
		return -EPROTO;
	for (size_t i = 0; i < count && !err; i++) {
		path = json_string_value(json_array_get(paths, i));
		err = view_path_is_good(path, !i) ? view_open_link(v, path, &trees) : -EPROTO;
	}
	if (!err)
		err = view_mount_start(v->home->agent, &v->mount, v->carrier, &trees, v->uid, user);
	while (trees.n)
		close(trees.sockets[--trees.n]);
	if (err)
		return err;
	v->launcher = launcher_starts(v->home->agent);
	v->mounting = event_new(v->home->agent->base, v->mount.news, EV_READ | EV_PERSIST,
				view_on_mounting, v);
	return v->mounting && !event_add(v->mounting, NULL) ? 0 : -ENOMEM;
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

static int view_open(struct peer *home, uid_t uid, struct view_mounted **out)
{
	struct view_mounted *v = calloc(1, sizeof(*v));
	json_t *body = json_pack("{s:I}", "uid", (json_int_t)uid);
	int err = -ENOMEM;

	if (!v || !body) {
		json_decref(body);
		free(v);
		return -ENOMEM;
	}
	v->home = home;
	v->uid = uid;
	view_mount_init(&v->mount);
	v->carrier = home->agent->config->view_9p || view_fuse_trouble(home->agent) ? LAUNCH_9P
										    : LAUNCH_FUSE;
	v->next = home->agent->views->list;
	home->agent->views->list = v;
	v->idle = evtimer_new(home->agent->base, view_on_idle, v);
	if (!v->idle) {
		json_decref(body);
		goto free_view;
	}
	v->asking = true;
	err = link_request(home, "/v1/mounts", body, VIEW_ASK_MS, view_on_mounts, v);
	if (err)
		goto no_question;
	*out = v;
	return 0;

no_question:
	v->asking = false;
free_view:
	view_free(v);
	return err;
}

int view_hold(struct view_use *use, struct peer *home, uid_t uid)
{
	struct view_mounted *v;
	int err;

	for (v = home->agent->views->list; v; v = v->next)
		if (v->home == home && v->uid == uid && view_is_known(v))
			break;
	if (!v) {
		err = view_open(home, uid, &v);
		if (err)
			return err;
	}
	evtimer_del(v->idle);
	use->of = v;
	use->next = v->uses;
	use->ticket = 0;
	v->uses = use;
	if (v->mount.ns >= 0)
		view_begin(v, use);
	return 0;
}

bool view_settle(struct view_use *use)
{
	struct view_mounted *v = use->of;

	if (!v || v->carrier == LAUNCH_9P || v->mount.ns < 0)
		return false;
	use->ticket = ++v->tickets;
	return !view_sync_ask(v->mount.control, use->ticket, true);
}

void view_release(struct view_use *use)
{
	struct view_mounted *v = use->of;
	struct view_use **at;
	struct timeval idle;
	unsigned int ms;

	if (!v)
		return;
	for (at = &v->uses; *at != use; at = &(*at)->next)
		;
	*at = use->next;
	use->of = NULL;
	if (v->uses)
		return;
	ms = v->home->agent->config->link_idle;
	idle = (struct timeval){ ms / 1000, ms % 1000 * 1000 };
	evtimer_add(v->idle, &idle);
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
	for (int i = 0; i < LAUNCH_CARRIERS; i++) {
		struct view_try *t = &agent->views->tries[i];

		view_mount_init(&t->mount);
		snprintf(t->trouble, sizeof(t->trouble), "ehlaunch has not said whether it can");
		view_try(agent, i);
	}
	return 0;
}

void view_exit(struct agent *agent)
{
	if (!agent->views)
		return;
	while (agent->views->list)
		view_free(agent->views->list);
	for (int i = 0; i < LAUNCH_CARRIERS; i++)
		view_try_end(&agent->views->tries[i]);
	free(agent->views);
	agent->views = NULL;
}
