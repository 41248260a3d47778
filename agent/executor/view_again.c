// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections of a view, which are made again after they broke, and views of an earlier agent. What was on
 * its way is no concern of this agent's: ehview and ehfiles keep it (helpers/common/stream.c).
 */

#include "executor/view_again.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/launcher.h"
#include "base/log.h"
#include "executor/view_inside.h"
#include "helpers/common/control.h"
#include "job/kept.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "wire/frame.h"

#define AGAIN_MS 50 /* before the first try; doubled up to the next */
#define AGAIN_MAX_MS 1000

static void view_broken(struct view_mounted *v);

/* ---- connections ---- */

/* Whether it can wait for another connection. */
static bool view_waits(const struct view_mounted *v)
{
	return v->mount.ns >= 0;
}

static void view_on_closed(void *ctx, bool ended)
{
	struct view_mounted *v = ((struct view_link *)ctx)->of;

	if (v->mount.ns < 0)
		view_lost(v, "home does not serve its files");
	else if (ended)
		view_lost(v, "home serves its files no longer");
	else if (view_waits(v) && (v->uses || v->adopted))
		view_broken(v);
	else
		view_lost(v, "lost the connection to home's files");
}

static int view_fill_head(struct view_mounted *v, unsigned int i, const char *path)
{
	const size_t length = path ? strlen(path) : 0;
	struct kept_head h = { .uid = v->uid, .number = i, .again = !path, .length = length };
	struct view_link *link = &v->links[i];
	uint8_t *head;

	free(link->head);
	head = malloc(KEPT_HEAD + length);
	link->head = (char *)head;
	if (!head)
		return -ENOMEM;
	memcpy(h.token, v->token, sizeof(h.token));
	kept_head_put(head, &h);
	if (path)
		/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): its length is in the head */
		memcpy(head + KEPT_HEAD, path, length);
	link->pipe = (struct tunnel){ .fd = -1, .first = head, .nfirst = KEPT_HEAD + length };
	return 0;
}

int view_open_link(struct view_mounted *v, unsigned int i, const char *path, int *socket)
{
	struct view_link *link = &v->links[i];
	int pair[2], err;

	*socket = -1;
	link->of = v;
	link->pipe = (struct tunnel){ .fd = -1 };
	err = view_fill_head(v, i, path);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	*socket = pair[1];
	err = tunnel_open(&link->pipe, v->home->agent->base, pair[0], view_on_closed, link);
	if (err)
		return err;
	link->pipe.stream = link_open(v->home, "POST", "/v1/files", &tunnel_ops, &link->pipe);
	return link->pipe.stream ? 0 : -errno;
}

/* ---- another one ---- */

static void view_again(struct view_mounted *v, unsigned int i)
{
	int socket, err = view_open_link(v, i, NULL, &socket);

	if (!err)
		err = control_connect(v->mount.control, i, socket);
	if (err)
		tunnel_close(&v->links[i].pipe);
	if (socket >= 0)
		close(socket);
}

static void view_again_later(struct view_mounted *v)
{
	struct timeval wait;

	if (evtimer_pending(v->again, NULL))
		return;
	v->wait_ms = v->wait_ms ? 2 * v->wait_ms : AGAIN_MS;
	if (v->wait_ms > AGAIN_MAX_MS)
		v->wait_ms = AGAIN_MAX_MS;
	wait = (struct timeval){ v->wait_ms / 1000, v->wait_ms % 1000 * 1000 };
	evtimer_add(v->again, &wait);
}

/* Home's side says something at once when it is connected: its hello. */
static bool view_is_connected(const struct view_mounted *v)
{
	for (size_t i = 0; i < v->nlinks; i++)
		if (v->links[i].pipe.fd < 0 || !v->links[i].pipe.came)
			return false;
	return true;
}

void view_on_again(evutil_socket_t fd, short what, void *arg)
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
		view_lost(v, "lost the connection to home's files, for longer than job-limit");
		return;
	}
	for (size_t i = 0; i < v->nlinks; i++)
		if (v->links[i].pipe.fd < 0)
			view_again(v, i);
	view_again_later(v);
}

static void view_wait(struct view_mounted *v)
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
	view_wait(v);
}

/* ---- of an earlier agent ---- */

void view_taken(struct view_mounted *v)
{
	kept_say(v->mount.news, LAUNCH_STAY);
	kept_say_limit(v->mount.news, v->home->agent);
	log_info("the files of user %u of node %s are mounted from before", v->uid,
		 peer_code(v->home));
	view_wait(v);
	if (!v->uses)
		view_idle(v);
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
	v->launcher = k->known ? launcher_starts(agent) : 0;
	v->nlinks = k->number;
	for (size_t i = 0; i < v->nlinks; i++) {
		v->links[i].of = v;
		v->links[i].pipe.fd = -1;
	}
	if (view_expect(v))
		view_lost(v, "out of memory");
}
