// SPDX-License-Identifier: GPL-2.0-or-later
/* The states of a task that is away: how it goes from one to the next, and who is told. */

#include "home/away_inside.h"

#include <stdio.h>
#include <string.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "home/outcome.h"
#include "home/placement.h"
#include "home/record.h"
#include "job/backoff.h"
#include "job/route.h"
#include "net/link.h"
#include "net/peer.h"
#include "node/local_task.h"
#include "wire/attach.h"
#include "wire/frame.h"
#include "wire/reason.h"

#define AWAY_AGAIN_MS 50 /* before the first try to resume; doubled up to the next */
#define AWAY_AGAIN_MAX_MS 1000

void away_over(struct away *a)
{
	a->state = AWAY_OVER;
	away_later(a);
}

void away_broken(struct away *a)
{
	/* It can be told again only by its token, and the executor has not said that. */
	if (!*a->token) {
		away_over(a);
		return;
	}
	if (a->state == AWAY_TOLD)
		a->broken_at = clock_ms();
	if (a->state == AWAY_LINKED) {
		a->broken_at = clock_ms();
		if (a->placement)
			record_broken(a->placement, true);
		log_warning("%s: the connection to %s broke; both ends wait for a new one", a->id,
			    peer_host(a->to));
		route_tell_end(&a->route, FRAME_DETACHED, NULL, 0);
	}
	a->state = AWAY_BROKEN;
	a->wait_ms = backoff_next(a->wait_ms, AWAY_AGAIN_MS, AWAY_AGAIN_MAX_MS);
	clock_arm(a->timer, a->wait_ms);
}

void away_unsaid(struct away *a)
{
	route_drop_stream(&a->route);
	away_broken(a);
}

/* The executor has it when it ends the stream in order; else it is told again. */
void away_tell_gone(struct away *a)
{
	if (route_tell_peer(&a->route, FRAME_GONE, NULL, 0)) {
		a->broken_at = clock_ms();
		away_unsaid(a);
		return;
	}
	route_finish(&a->route);
	a->state = AWAY_TOLD;
	clock_arm(a->timer, 3 * a->agent->config->heartbeat);
}

/* Nobody waits for the answer of a node that was asked. */
void away_unask(struct away *a)
{
	struct placement *p = a->asked;

	a->asked = NULL;
	if (p)
		placement_cancel(p);
}

/* Its end has gone. The executor may have its own already, and would wait after a reset, as for a link that broke. */
void away_leave(struct away *a)
{
	if (a->route.stream)
		away_tell_gone(a);
	else
		away_over(a);
	away_unask(a);
}

void away_refuse(struct away *a, enum ehs_reason reason, uint32_t error, const char *text)
{
	uint8_t payload[8 + 256];
	char *said = (char *)payload + 8;

	/* While the stub waits for this answer, the pid is still its own. */
	if (a->automatic)
		local_task_add(a->agent, a->pid);
	frame_put_u32(payload, reason);
	frame_put_u32(payload + 4, error);
	/* A sentence for people, and the name to search for. */
	if (reason == EHS_REASON_NONE)
		snprintf(said, 256, "%s", text);
	else
		snprintf(said, 256, "%.200s (%s)", text, reason_name(reason));
	route_tell_end(&a->route, FRAME_REFUSED, payload, 8 + strlen(said));
	if (a->placement && reason != EHS_REASON_NONE)
		outcome_failed(a->placement, reason);
	a->placement = NULL;
	route_close_end(&a->route);
	away_leave(a);
}

/* It is lost: its end and the executor are told so. */
void away_give_up(struct away *a)
{
	if (a->placement)
		outcome_lost(a->placement);
	a->placement = NULL;
	route_tell_end(&a->route, FRAME_GONE, NULL, 0);
	route_close_end(&a->route);
	if (a->route.stream) {
		route_tell_peer(&a->route, FRAME_GONE, NULL, 0);
		route_finish(&a->route);
	}
	away_over(a);
}

void away_resume(struct away *a)
{
	struct attach ask = { .started_ms = a->began_ms, .uid = a->uid };
	uint8_t payload[ATTACH_SIZE];
	struct h2_stream *s;

	snprintf(ask.token, sizeof(ask.token), "%s", a->token);
	snprintf(ask.id, sizeof(ask.id), "%s", a->id);
	s = link_open(a->to, "POST", "/v1/resume", &route_stream_ops, &a->route);
	if (!s) {
		away_broken(a);
		return;
	}
	route_use(&a->route, s);
	if (route_tell_peer(&a->route, FRAME_ATTACH, payload, attach_encode(&ask, payload)))
		away_unsaid(a);
}
