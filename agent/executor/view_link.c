// SPDX-License-Identifier: GPL-2.0-or-later
#include "executor/view_link.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "helpers/common/control.h"
#include "job/backoff.h"
#include "job/view_head.h"
#include "net/link.h"
#include "net/peer.h"

#define AGAIN_MS 50 /* before the first try; doubled up to the next */
#define AGAIN_MAX_MS 1000

static void view_broken(struct view_mounted *v);

/* ---- connections ---- */

/* It broke, or its end is that of the view. */
static void view_on_stream_gone(void *ctx, bool clean)
{
	struct view_link *link = ctx;
	struct view_mounted *v = link->of;

	route_close_end(&link->route);
	if (v->mount.ns < 0)
		v->lost(v, "home does not serve its files");
	else if (clean)
		v->lost(v, "home serves its files no longer");
	else if (v->uses || v->adopted)
		view_broken(v);
	else
		v->lost(v, "lost the connection to home's files");
}

static void view_on_ended(void *ctx)
{
	view_on_stream_gone(ctx, true);
}

static void view_on_refused(void *ctx, int status)
{
	route_drop_stream(&((struct view_link *)ctx)->route);
	view_on_stream_gone(ctx, false);
}

static const struct route_ops view_route_ops = {
	.ended = view_on_ended,
	.stream_gone = view_on_stream_gone,
	.refused = view_on_refused,
};

int view_link_add(struct view_mounted *v)
{
	struct view_link *link = &v->links[v->nlinks];

	if (route_open(&link->route, v->home->agent, -1, &view_route_ops, link))
		return -ENOMEM;
	link->of = v;
	v->nlinks++;
	return 0;
}

int view_link_open(struct view_mounted *v, unsigned int i, const char *path)
{
	const size_t length = path ? strlen(path) : 0;
	struct view_head h = { .uid = v->uid, .number = i, .again = !path, .length = length };
	struct route *r = &v->links[i].route;
	uint8_t head[VIEW_HEAD + EHS_PATH_MAX];
	int socket = route_make_end(r), err;
	struct h2_stream *s;

	if (socket < 0)
		return socket;
	memcpy(h.token, v->token, sizeof(h.token));
	view_head_put(head, &h);
	if (path)
		/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): its length is in the head */
		memcpy(head + VIEW_HEAD, path, length);
	s = link_open(v->home, "POST", "/v1/files", &route_stream_ops, r);
	err = s ? 0 : -errno;
	if (s) {
		route_use(r, s);
		err = route_begin(r, head, VIEW_HEAD + length);
	}
	if (!err)
		return socket;
	close(socket);
	return err;
}

/* ---- another one ---- */

static void view_again(struct view_mounted *v, unsigned int i)
{
	int socket = view_link_open(v, i, NULL);
	int err = socket < 0 ? socket : control_ask(v->mount.control, i, VIEW_CONNECT, socket);

	if (socket >= 0)
		close(socket);
	if (!err)
		return;
	route_drop_stream(&v->links[i].route);
	route_close_end(&v->links[i].route);
}

static void view_again_later(struct view_mounted *v)
{
	if (evtimer_pending(v->again, NULL))
		return;
	v->wait_ms = backoff_next(v->wait_ms, AGAIN_MS, AGAIN_MAX_MS);
	clock_arm(v->again, v->wait_ms);
}

/* Home's side says something at once when it is connected: its hello. */
static bool view_is_connected(const struct view_mounted *v)
{
	for (size_t i = 0; i < v->nlinks; i++)
		if (v->links[i].route.socket < 0 || !v->links[i].route.came)
			return false;
	return true;
}

void view_link_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct view_mounted *v = arg;

	if (view_is_connected(v)) {
		log_info("the files of user %u of node %s are connected again", v->uid,
			 peer_code(v->home));
		v->broken = false;
		v->wait_ms = 0;
		return;
	}
	if (clock_ms() - v->broken_at > v->home->agent->config->job_limit) {
		v->lost(v, "lost the connection to home's files, for longer than job-limit");
		return;
	}
	for (size_t i = 0; i < v->nlinks; i++)
		if (v->links[i].route.socket < 0)
			view_again(v, i);
	view_again_later(v);
}

void view_link_wait(struct view_mounted *v)
{
	if (!v->broken)
		v->broken_at = clock_ms();
	v->broken = true;
	view_again_later(v);
}

static void view_broken(struct view_mounted *v)
{
	if (!v->broken)
		log_info("the connection to the files of user %u of node %s broke; what uses them "
			 "waits",
			 v->uid, peer_code(v->home));
	view_link_wait(v);
}
