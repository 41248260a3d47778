// SPDX-License-Identifier: GPL-2.0-or-later
/* The executor's views: one for each home and user, made for the first guest that needs it. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user.h"
#include "view.h"
#include "wire/frame.h"

struct view_mounted {
	struct view_mounted *next;
	struct peer *home;
	uid_t uid;
	uint8_t head[4]; /* the uid, as the stream begins */
	struct view_pipe pipe;
	struct view_mount mount;
	struct event *mounting, *idle;
	int ns; /* -1: not mounted yet */
	struct view_use *uses;
};

static struct view_mounted *view_list;

const char *view_trouble(void)
{
	int fs;

	if (geteuid())
		return "its agent is not root and cannot mount";
	/* also loads the module; which transports there are shows when it is mounted */
	fs = fsopen("9p", FSOPEN_CLOEXEC);
	if (fs < 0)
		return "its kernel has no 9p (module 9p)";
	close(fs);
	return NULL;
}

/* The pipe first: closing the namespace may have questions for home. */
static void view_free(struct view_mounted *v)
{
	struct view_mounted **at;

	for (at = &view_list; *at != v; at = &(*at)->next)
		;
	*at = v->next;
	view_pipe_close(&v->pipe);
	view_mount_cancel(&v->mount);
	if (v->ns >= 0)
		close(v->ns);
	if (v->mounting)
		event_free(v->mounting);
	if (v->idle)
		event_free(v->idle);
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

	view_lost(v, v->ns < 0 ? "its home does not serve its files"
			       : "the connection to home's files broke");
}

static void view_on_mounting(evutil_socket_t fd, short what, void *arg)
{
	struct view_mounted *v = arg;
	struct view_use *u, *next;
	char why[160];

	v->ns = view_mount_finish(&v->mount, why, sizeof(why));
	if (v->ns < 0) {
		view_lost(v, why);
		return;
	}
	event_del(v->mounting);
	view_mount_cancel(&v->mount);
	log_info("the files of user %u of node %s are mounted", v->uid, peer_code(v->home));
	for (u = v->uses; u; u = next) {
		next = u->next;
		u->news(u->ctx, NULL);
	}
}

static void view_on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct view_mounted *v = arg;

	log_info("the files of user %u of node %s are not needed any more: unmounted", v->uid,
		 peer_code(v->home));
	view_free(v);
}

static int view_open(struct peer *home, uid_t uid, struct view_mounted **out)
{
	const char *user = user_name(uid);
	struct view_mounted *v;
	int pair[2], err = -ENOMEM;

	if (!user)
		return -ENOENT;
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->home = home;
	v->uid = uid;
	v->ns = -1;
	v->next = view_list;
	view_list = v;
	frame_put_u32(v->head, uid);
	v->pipe.fd = -1;
	v->pipe.first = v->head;
	v->pipe.nfirst = sizeof(v->head);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		goto free_view;
	}
	if (view_pipe_open(&v->pipe, pair[0], view_on_closed, v))
		goto close_other;
	err = view_mount_start(&v->mount, pair[1], user);
	if (err)
		goto close_other;
	close(pair[1]);
	err = -ENOMEM;
	v->idle = evtimer_new(agent.base, view_on_idle, v);
	v->mounting = event_new(agent.base, v->mount.control, EV_READ, view_on_mounting, v);
	if (!v->idle || !v->mounting || event_add(v->mounting, NULL))
		goto free_view;
	v->pipe.stream = h2_open(home, "POST", "/v1/files", &view_pipe_ops, &v->pipe);
	err = v->pipe.stream ? 0 : -errno;
	if (err)
		goto free_view;
	*out = v;
	return 0;

close_other:
	close(pair[1]);
free_view:
	view_free(v);
	return err;
}

int view_hold(struct view_use *use, struct peer *home, uid_t uid)
{
	struct view_mounted *v;
	int err;

	for (v = view_list; v; v = v->next)
		if (v->home == home && v->uid == uid)
			break;
	if (!v) {
		err = view_open(home, uid, &v);
		if (err)
			return err;
	}
	evtimer_del(v->idle);
	use->of = v;
	use->next = v->uses;
	v->uses = use;
	if (v->ns >= 0)
		use->news(use->ctx, NULL);
	return 0;
}

void view_release(struct view_use *use)
{
	const struct timeval idle = { agent.config->link_idle / 1000,
				      agent.config->link_idle % 1000 * 1000 };
	struct view_mounted *v = use->of;
	struct view_use **at;

	if (!v)
		return;
	for (at = &v->uses; *at != use; at = &(*at)->next)
		;
	*at = use->next;
	use->of = NULL;
	if (!v->uses)
		evtimer_add(v->idle, &idle);
}

int view_namespace(const struct view_use *use)
{
	return use->of ? use->of->ns : -1;
}

void view_exit(void)
{
	while (view_list)
		view_free(view_list);
}
