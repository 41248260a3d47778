// SPDX-License-Identifier: GPL-2.0-or-later
/* Tasks of this node that are away: their stubs, their descriptors and the jobs' streams. */

#include "home/handoff.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/log.h"
#include "home/handoff_inside.h"
#include "home/placement.h"
#include "home/record.h"
#include "home/rerun.h"
#include "home/stub.h"
#include "home/terminal.h"
#include "job/channel.h"
#include "job/relay.h"
#include "net/h2_stream.h"
#include "net/peer.h"
#include "node/kernel.h"
#include "node/stayed.h"
#include "wire/frame.h"
#include "wire/job.h"
#include "wire/reason.h"
#include "wire/terminal.h"
#include "wire/view.h"

unsigned int handoff_count(const struct agent *agent)
{
	return agent->handoffs->count;
}

bool handoff_shows_home(const struct peer *to, uid_t uid)
{
	for (const struct handoff *h = to->agent->handoffs->list; h; h = h->next)
		if (h->channel.stream && h->to == to && h->uid == uid && h->view != VIEW_SHARED)
			return true;
	return false;
}

static void handoff_abort(struct handoff *h)
{
	/* so that its event does not resume the stream */
	relay_source_close(&h->in, false);
	if (h->channel.stream)
		h2_stream_abort(h->channel.stream);
	h->channel.stream = NULL;
}

void handoff_refuse(struct handoff *h, enum ehs_reason reason, uint32_t error, const char *text)
{
	uint8_t payload[8 + 256];
	char *said = (char *)payload + 8;

	/* While it waits for this answer, the pid is still its own. */
	if (h->automatic)
		stayed_add(h->agent, h->pid);
	frame_put_u32(payload, reason);
	frame_put_u32(payload + 4, error);
	/* A sentence for people, and the name to search for. */
	if (reason == EHS_REASON_NONE)
		snprintf(said, 256, "%s", text);
	else
		snprintf(said, 256, "%.200s (%s)", text, reason_name(reason));
	stub_tell(h, FRAME_REFUSED, payload, 8 + strlen(said));
	if (h->placement && reason != EHS_REASON_NONE)
		placement_failed(h->placement, reason);
	h->placement = NULL;
	handoff_abort(h);
	stub_close(h);
	h->state = HANDOFF_OVER;
	handoff_later(h);
}

/* The stub was killed or broke the protocol: ends the remote task too. */
static void handoff_stub_gone(struct handoff *h)
{
	stub_close(h);
	if (h->state == HANDOFF_OVER)
		return;
	if (h->placement) {
		if (h->state >= HANDOFF_COMMITTED)
			placement_ended(h->placement, SIGKILL);
		else
			placement_failed(h->placement, EHS_REASON_KILLED);
	}
	h->placement = NULL;
	handoff_abort(h);
	for (int i = 0; i < HANDOFF_SINKS; i++)
		relay_sink_close(&h->out[i]);
	h->state = HANDOFF_OVER;
	handoff_later(h);
}

/* ---- the end ---- */

static void handoff_free(struct handoff *h)
{
	struct handoffs *all = h->agent->handoffs;
	struct handoff **at;

	for (at = &all->list; *at != h; at = &(*at)->next)
		;
	*at = h->next;
	if (!--all->count)
		stub_watch(h->agent, false);
	stub_close(h);
	relay_source_close(&h->in, false);
	for (int i = 0; i < HANDOFF_SINKS; i++)
		relay_sink_close(&h->out[i]);
	for (int i = 0; i < 3; i++)
		if (h->fds[i] >= 0)
			close(h->fds[i]);
	if (h->reading)
		event_free(h->reading);
	if (h->limit)
		event_free(h->limit);
	event_free(h->later);
	channel_exit(&h->channel);
	free(h->job);
	free(h->named);
	free(h->terminal.typed);
	free(h);
}

static bool handoff_held(const struct handoff *h)
{
	for (int i = 0; i < HANDOFF_SINKS; i++)
		if (relay_sink_held(&h->out[i]))
			return true;
	return false;
}

static bool handoff_written(const struct handoff *h)
{
	for (int i = 0; i < HANDOFF_SINKS; i++)
		if (h->out[i].fd >= 0 && h->out[i].done < h->exit_at[i])
			return false;
	return true;
}

/* All output is written: reports the loss after it. */
static void handoff_report_lost(struct handoff *h)
{
	struct peer *to = placement_executor(h->placement);
	char lost[HANDOFF_TEXT - 160], text[HANDOFF_TEXT];
	const char *why;

	snprintf(lost, sizeof(lost), "ehsched: lost %.100s while it ran this task (%s)",
		 to ? peer_host(to) : "the node", placement_id(h->placement));
	why = rerun_start(h, lost);
	if (!why) {
		placement_rerun(h->placement);
	} else {
		snprintf(text, sizeof(text), "%s; it is reported as killed%s%s\n", lost,
			 *why ? " and not run again: " : "", why);
		stub_tell(h, FRAME_LOST, text, strlen(text));
		placement_lost(h->placement);
	}
	h->placement = NULL;
}

/* Before the stub ends, because its parent reads the account then. */
static void handoff_account(const struct handoff *h)
{
	struct frame_exit x;
	int err;

	if (frame_exit_decode(&x, h->exit, sizeof(h->exit)))
		return;
	err = kernel_account(h->agent, h->pid, &x);
	if (err && err != -ENOTCONN && err != -ESRCH)
		log_warning("cannot account the resources that a remote task used: %s",
			    strerror(-err));
}

static void handoff_on_later(evutil_socket_t fd, short what, void *arg)
{
	struct handoff *h = arg;

	if (h->state == HANDOFF_EXITED && handoff_written(h) && !h->terminal.asked) {
		terminal_settle(&h->terminal, &h->out[2]);
		if (h->exit[0] & 0x7f)
			terminal_restore(&h->terminal, &h->out[2]);
		terminal_give_back(&h->terminal, &h->out[2]);
		handoff_account(h);
		/* The stub ends now, and its parent may then expect all output. */
		stub_tell(h, FRAME_EXIT, h->exit, sizeof(h->exit));
		stub_close(h);
		h->state = HANDOFF_OVER;
	} else if (h->state == HANDOFF_LOST && !handoff_held(h)) {
		terminal_restore(&h->terminal, &h->out[2]);
		handoff_report_lost(h);
		stub_close(h);
		h->state = HANDOFF_OVER;
	}
	if (h->state == HANDOFF_OVER && !h->asking && !h->channel.stream && !handoff_held(h))
		handoff_free(h);
}

static void handoff_lost(struct handoff *h)
{
	struct peer *to = placement_executor(h->placement);

	log_warning("%s: lost %s while it ran the task", placement_id(h->placement),
		    to ? peer_host(to) : "the node");
	if (!h->retry)
		relay_source_close(&h->in, false);
	h->state = HANDOFF_LOST;
	handoff_later(h);
}

/* ---- descriptors ---- */

static void handoff_open_relays(struct handoff *h)
{
	enum relay_kind kind;

	for (int i = 0; i < 3; i++) {
		if (h->fds[i] < 0)
			continue;
		if (h->flags & JOB_TTY(i)) {
			/* one relay for all terminal descriptors */
			if (h->out[2].fd < 0)
				terminal_open(&h->out[2], h->fds[i]);
			else
				close(h->fds[i]);
			h->fds[i] = -1;
			continue;
		}
		if (!i && h->flags & JOB_NULL(0)) {
			if (h->retry)
				continue;
			close(h->fds[0]);
			h->fds[0] = -1;
			continue;
		}
		h->fds[i] = relay_adopt(h->fds[i], &kind);
		if (i)
			relay_sink_open(&h->out[i - 1], h->fds[i], kind);
		else
			relay_source_open(&h->in, h->fds[0], kind, h->channel.stream);
		h->fds[i] = -1;
	}
}

static void handoff_out_moved(void *ctx, struct relay_sink *sink, bool broken)
{
	struct handoff *h = ctx;

	if (h->channel.stream && broken)
		channel_send_u32(&h->channel, FRAME_CLOSED, sink - h->out + 1);
	else if (h->channel.stream)
		channel_grant(&h->channel, sink);
	terminal_settle(&h->terminal, &h->out[2]);
	if (h->state >= HANDOFF_EXITED)
		handoff_later(h);
}

/* Input that the task did not read goes to the next reader, if it comes from a file. */
static void handoff_give_back(struct handoff *h, uint64_t taken)
{
	int err = relay_source_rewind(&h->in, taken);

	/* Bytes from a pipe or a terminal cannot go back. */
	if (err && err != -EPIPE && err != -ESPIPE)
		log_debug("%s: cannot rewind standard input: %s", placement_id(h->placement),
			  strerror(-err));
	relay_source_close(&h->in, false);
}

/* ---- the stream ---- */

static int handoff_on_ready(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;

	event_del(h->limit);
	/* Queued before GO can leave: from here on the stub does not run the task on its own. */
	if (stub_tell(h, FRAME_COMMIT, NULL, 0)) {
		handoff_stub_gone(h);
		return 0;
	}
	h->state = HANDOFF_COMMITTED;
	return channel_send(&h->channel, FRAME_GO, NULL, 0);
}

static int handoff_on_started(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;

	h->state = HANDOFF_RUNNING;
	h->started = true;
	placement_started(h->placement, h->pid, frame_get_u32(payload));
	handoff_open_relays(h);
	h2_stream_resume(h->channel.stream);
	if (length <= 512 && stub_tell(h, FRAME_STARTED, payload, length))
		handoff_stub_gone(h);
	return 0;
}

static int handoff_on_refused(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;
	enum ehs_reason reason = length >= 8 ? frame_get_u32(payload) : EHS_REASON_REFUSED;
	uint32_t error = length >= 8 ? frame_get_u32(payload + 4) : 0;
	char text[257];

	snprintf(text, sizeof(text), "%.*s", length > 8 ? (int)length - 8 : 0,
		 (const char *)payload + 8);
	if (h->placement && *text)
		record_step(h->placement, "%s: %s", peer_code(h->to), text);
	handoff_refuse(h, reason ? reason : EHS_REASON_REFUSED, error, text);
	return 0;
}

static int handoff_on_stopped(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;

	h->stopped_there = true;
	/* Otherwise the stub was stopped first, and this is the echo. */
	if (!h->stopped_by_us) {
		h->stop = frame_get_u32(payload);
		stub_stop(h);
	}
	return 0;
}

static int handoff_on_continued(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;

	h->stopped_there = false;
	h->stop = 0;
	return 0;
}

static int handoff_on_taken(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;

	if (h->terminal.typing)
		h->terminal.taken = frame_get_u64(payload);
	else
		handoff_give_back(h, frame_get_u64(payload));
	return 0;
}

static int handoff_on_terminal(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;

	return terminal_on_change(&h->terminal, &h->out[2], payload, length);
}

static int handoff_on_exit(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;
	struct frame_exit x;

	if (frame_exit_decode(&x, payload, length))
		return -EPROTO;
	memcpy(h->exit, payload, length);
	placement_ended(h->placement, x.status);
	h->placement = NULL;
	relay_source_close(&h->in, false);
	for (int i = 0; i < HANDOFF_SINKS; i++)
		h->exit_at[i] = h->out[i].done + relay_sink_held(&h->out[i]);
	h->state = HANDOFF_EXITED;
	handoff_later(h);
	return 0;
}

static int handoff_on_closed(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;

	if (channel_fd(payload, length, 4))
		return -EPROTO;
	/* A file stays open, to be set back. Else the last reader closes: a writer at
	 * home gets its SIGPIPE. */
	if (h->in.kind == RELAY_FILE)
		h->in.over = true;
	else
		relay_source_close(&h->in, false);
	return 0;
}

static int handoff_on_want(void *ctx, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;

	if (channel_fd(payload, length, 8))
		return -EPROTO;
	if (!h->terminal.typing)
		return h->in.fd < 0 ? 0 : relay_source_grant(&h->in, frame_get_u32(payload + 4));
	h->terminal.asked = true;
	if (stub_tell(h, FRAME_WANT, payload, length))
		handoff_stub_gone(h);
	return 0;
}

#define HANDOFF_RUNS FRAME_IN(HANDOFF_RUNNING)

static const struct frame_rule handoff_rules[] = {
	{ FRAME_READY, FRAME_IN(HANDOFF_SENT), 0, 0, handoff_on_ready },
	{ FRAME_STARTED, FRAME_IN(HANDOFF_COMMITTED), 4, 4 + FRAME_TEXT_MAX, handoff_on_started },
	{ FRAME_REFUSED, FRAME_IN(HANDOFF_SENT) | FRAME_IN(HANDOFF_COMMITTED), 0,
	  8 + FRAME_TEXT_MAX, handoff_on_refused },
	{ FRAME_STOPPED, HANDOFF_RUNS, 4, 4, handoff_on_stopped },
	{ FRAME_CONTINUED, FRAME_ANY_STATE, 0, 0, handoff_on_continued },
	{ FRAME_TAKEN, HANDOFF_RUNS, FRAME_TAKEN_SIZE, FRAME_TAKEN_SIZE, handoff_on_taken },
	{ FRAME_TERMINAL, HANDOFF_RUNS, TERMINAL_SIZE, TERMINAL_SIZE + 4, handoff_on_terminal },
	{ FRAME_EXIT, HANDOFF_RUNS, FRAME_EXIT_SIZE, FRAME_EXIT_SIZE, handoff_on_exit },
	{ FRAME_CLOSED, FRAME_ANY_STATE, 4, 4, handoff_on_closed },
	{ FRAME_WANT, FRAME_ANY_STATE, 8, 8, handoff_on_want },
	{ 0 },
};

static int handoff_frame(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length)
{
	struct handoff *h = ctx;

	return frame_dispatch(handoff_rules, h->state, type, h, payload, length);
}

static int handoff_text(void *ctx, struct relay_sink *sink, uint8_t *data, size_t length)
{
	struct handoff *h = ctx;

	return terminal_show(&h->terminal, sink, data, length);
}

static void handoff_on_response(void *ctx, int status)
{
	struct handoff *h = ctx;

	if (status != 200 && h->state == HANDOFF_SENT)
		handoff_refuse(h, EHS_REASON_REFUSED, 0, "the node rejected the job");
}

static int handoff_on_data(void *ctx, const uint8_t *data, size_t length)
{
	struct handoff *h = ctx;
	int err;

	err = channel_data(&h->channel, data, length);
	if (err)
		log_warning("the executor of a job broke the protocol: %s", strerror(-err));
	else if (h->channel.stream)
		h2_stream_resume(h->channel.stream); /* credit may have arrived */
	return err;
}

static void handoff_on_end(void *ctx)
{
	struct handoff *h = ctx;

	h->channel.finish = true;
	if (h->channel.stream)
		h2_stream_resume(h->channel.stream);
}

static ssize_t handoff_on_produce(void *ctx, uint8_t *buf, size_t room)
{
	struct handoff *h = ctx;

	if (h->job) {
		size_t n = h->job_length - h->job_sent;

		if (n > room)
			n = room;
		memcpy(buf, h->job + h->job_sent, n);
		h->job_sent += n;
		if (h->job_sent == h->job_length) {
			free(h->job);
			h->job = NULL;
		}
		return n;
	}
	return channel_produce(&h->channel, buf, room);
}

static void handoff_on_stream_closed(void *ctx, bool clean)
{
	struct handoff *h = ctx;

	h->channel.stream = NULL;
	relay_source_stop(&h->in);
	switch (h->state) {
	case HANDOFF_COMMITTED:
		/* If GO is still queued, nothing has started, and the stub may run the task. */
		if (channel_queued(&h->channel) < FRAME_HEADER) {
			handoff_lost(h);
			break;
		}
		/* fall through */
	case HANDOFF_ASKING:
	case HANDOFF_SENT:
		handoff_refuse(h, EHS_REASON_UNREACHABLE, 0, "the connection to the node was lost");
		break;
	case HANDOFF_RUNNING:
		handoff_lost(h);
		break;
	default:
		/* Remaining children are gone. What they have written is still passed on. */
		handoff_later(h);
		break;
	}
}

const struct h2_stream_ops handoff_ops = {
	.response = handoff_on_response,
	.data = handoff_on_data,
	.end = handoff_on_end,
	.produce = handoff_on_produce,
	.closed = handoff_on_stream_closed,
};

static void handoff_on_limit(evutil_socket_t fd, short what, void *arg)
{
	struct handoff *h = arg;

	if (h->state == HANDOFF_SENT)
		handoff_refuse(h, EHS_REASON_UNREACHABLE, 0, "the node did not answer in time");
}

/* ---- the start ---- */

struct handoff *handoff_new(struct agent *agent, int socket, int fds[3], pid_t pid)
{
	struct handoffs *all = agent->handoffs;
	struct handoff *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->agent = agent;
	h->stub = socket;
	h->stub_gone = handoff_stub_gone;
	h->pid = pid;
	memcpy(h->fds, fds, sizeof(h->fds));
	relay_source_init(&h->in, agent->base, FRAME_STDIN);
	for (int i = 0; i < HANDOFF_SINKS; i++)
		relay_sink_init(&h->out[i], agent->base, handoff_out_moved, h);
	h->channel.frame = handoff_frame;
	h->channel.text = handoff_text;
	h->channel.ctx = h;
	h->channel.sources[0] = &h->in;
	h->channel.sinks[1] = &h->out[0];
	h->channel.sinks[2] = &h->out[1];
	h->channel.sinks[3] = &h->out[2];
	h->limit = evtimer_new(agent->base, handoff_on_limit, h);
	h->later = event_new(agent->base, -1, 0, handoff_on_later, h);
	if (!h->limit || !h->later || stub_open(h) || channel_init(&h->channel))
		goto free_handoff;
	if (!all->count && stub_watch(agent, true))
		goto exit_channel;
	all->count++;
	h->next = all->list;
	all->list = h;
	return h;

exit_channel:
	channel_exit(&h->channel);
free_handoff:
	if (h->reading)
		event_free(h->reading);
	if (h->limit)
		event_free(h->limit);
	if (h->later)
		event_free(h->later);
	free(h);
	return NULL;
}

int handoff_init(struct agent *agent)
{
	agent->handoffs = calloc(1, sizeof(*agent->handoffs));
	return agent->handoffs ? 0 : -ENOMEM;
}

void handoff_exit(struct agent *agent)
{
	struct handoffs *all = agent->handoffs;

	if (!all)
		return;
	while (all->list) {
		handoff_abort(all->list);
		handoff_free(all->list);
	}
	if (all->stub_timer)
		event_free(all->stub_timer);
	free(all);
	agent->handoffs = NULL;
}
