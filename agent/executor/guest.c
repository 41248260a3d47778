// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest: its stream, process and pipes, from start to end. guest_job.c handles the frames that
 * its home sends.
 */

#include "executor/guest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/hierarchy.h"
#include "eh/topology.h"
#include "executor/guest_inside.h"
#include "executor/launch.h"
#include "executor/pipes.h"
#include "executor/pty.h"
#include "executor/reserve.h"
#include "executor/view.h"
#include "job/channel.h"
#include "job/relay.h"
#include "net/h2_stream.h"
#include "net/peer.h"
#include "node/cgroup.h"
#include "wire/frame.h"
#include "wire/job.h"
#include "wire/view.h"

struct guests {
	struct guest *list;
	struct event *sigchld;
};

static bool guest_has_process(const struct guest *g)
{
	return g->launch.pid > 0 && !g->reaped;
}

static void guest_close_relays(struct guest *g)
{
	relay_sink_close(&g->in);
	for (int i = 0; i < 2; i++)
		relay_source_close(&g->out[i], false);
	pty_close(&g->pty);
}

/* Frees a guest whose stream is closed and whose processes are reaped. */
static void guest_put(struct guest *g)
{
	struct agent *agent = g->from->agent;
	struct guest **at;

	if (g->channel.stream || guest_has_process(g))
		return;
	if (g->session)
		event_free(g->session);
	g->session = NULL;
	if (!launch_dismiss(&g->launch, false))
		return; /* called again by SIGCHLD */
	for (at = &agent->guests->list; *at != g; at = &(*at)->next)
		;
	*at = g->next;
	if (g->grouped)
		cgroup_guest_end(agent, g->place->id);
	guest_close_relays(g);
	for (int i = 0; i < 3; i++)
		if (g->pipes[i] >= 0)
			close(g->pipes[i]);
	if (g->control)
		event_free(g->control);
	event_free(g->limit);
	view_release(&g->view);
	free(g->job);
	launch_close(&g->launch);
	channel_exit(&g->channel);
	reserve_end(g->place);
	free(g);
	hierarchy_touch(agent);
}

void guest_kill(struct guest *g)
{
	if (g->grouped && !g->emptied)
		cgroup_guest_kill(g->from->agent, g->place->id);
	if (guest_has_process(g))
		launch_signal(&g->launch, SIGKILL, true);
	/* The child may not have its process group yet. */
	if (guest_has_process(g))
		launch_signal(&g->launch, SIGKILL, false);
}

void guest_refuse(struct guest *g, enum ehs_reason reason, int error, const char *what)
{
	uint8_t payload[8 + 256];
	int n;

	frame_put_u32(payload, reason);
	frame_put_u32(payload + 4, error);
	n = snprintf((char *)payload + 8, 256, error ? "%s: %s" : "%s", what, strerror(error));
	if (n > 255)
		n = 255;
	channel_send(&g->channel, FRAME_REFUSED, payload, 8 + n);
	event_del(g->limit);
	g->channel.finish = true;
	guest_kill(g);
	g->state = GUEST_EXITED;
	if (g->place)
		g->place->state = RESERVE_ENDED;
	g->told = true;
}

/* ---- descriptors ---- */

static void guest_open_relays(struct guest *g)
{
	struct channel *c = &g->channel;

	for (int i = 0; i < 2; i++)
		if (g->pipes[i + 1] >= 0)
			relay_source_open(&g->out[i], g->pipes[i + 1], RELAY_OWN, c->stream);
	pty_start(&g->pty);
	if (g->pipes[0] >= 0)
		relay_sink_open(&g->in, g->pipes[0], RELAY_OWN);
	g->pipes[0] = g->pipes[1] = g->pipes[2] = -1;
}

static void guest_in_moved(void *ctx, struct relay_sink *sink, bool broken)
{
	struct guest *g = ctx;

	if (!g->channel.stream)
		return;
	if (broken)
		channel_send_u32(&g->channel, FRAME_CLOSED, 0);
	else
		channel_grant(&g->channel, sink);
}

/* ---- the end ---- */

void guest_check_end(struct guest *g)
{
	if (g->state != GUEST_EXITED || !g->told || !g->channel.stream || g->channel.finish)
		return;
	/* Children of the task may still run; while they do, the stream stays open. */
	if (g->out[0].fd >= 0 || g->out[1].fd >= 0 || g->pty.out.fd >= 0 ||
	    (g->grouped && !g->emptied))
		return;
	g->channel.finish = true;
	h2_stream_resume(g->channel.stream);
}

/* Sends FRAME_EXIT once all output that was in the pipes at the exit is out. */
void guest_tell_exit(struct guest *g)
{
	uint8_t payload[FRAME_EXIT_SIZE];

	if (g->settling)
		return;
	for (int i = 0; i < 2; i++)
		if (g->out[i].fd >= 0 && g->out[i].sent < g->owed[i])
			return;
	if (g->pty.out.fd >= 0 && !g->pty.out.dry)
		return;
	if (!g->pty.typing) {
		frame_put_u64(payload, relay_sink_read(&g->in));
		channel_send(&g->channel, FRAME_TAKEN, payload, FRAME_TAKEN_SIZE);
	}
	frame_exit_encode(payload, &g->end);
	channel_send(&g->channel, FRAME_EXIT, payload, FRAME_EXIT_SIZE);
	g->told = true;
	/* What is left in it belongs to nobody, and remaining readers see its end. */
	relay_sink_close(&g->in);
	guest_check_end(g);
}

static void guest_on_started(struct guest *g)
{
	uint8_t payload[4 + EH_CODE_TEXT];
	const struct agent *agent = g->from->agent;
	size_t n = strlen(agent->code);

	g->state = GUEST_RUNNING;
	g->place->state = RESERVE_RUNNING;
	event_del(g->limit);
	event_del(g->control);
	frame_put_u32(payload, g->launch.pid);
	memcpy(payload + 4, agent->code, n);
	channel_send(&g->channel, FRAME_STARTED, payload, 4 + n);
	guest_open_relays(g);
	hierarchy_touch(g->from->agent);
}

static void guest_on_control(evutil_socket_t fd, short what, void *arg)
{
	static struct log_limit limit;
	struct guest *g = arg;
	struct launch_news news;

	if (!g->channel.stream || !launch_read(&g->launch, &news))
		return;
	if (news.what) {
		event_del(g->control);
		if (log_allowed(&limit))
			log_info("%s of node %s does not start here: %s: %s", g->place->id,
				 peer_code(g->from), news.what, strerror(news.error));
		guest_refuse(g, EHS_REASON_START_FAILED, news.error, news.what);
	} else if (g->state == GUEST_PREPARING && !news.end) {
		g->state = GUEST_READY;
		channel_send(&g->channel, FRAME_READY, NULL, 0);
	} else if (g->state == GUEST_STARTING && news.end) {
		guest_on_started(g);
	} else {
		event_del(g->control);
		guest_refuse(g, EHS_REASON_START_FAILED, 0, "its process died before the start");
	}
}

static uint64_t guest_us(const struct timeval *t)
{
	return t->tv_sec * 1000000ull + t->tv_usec;
}

static void guest_on_exit(struct guest *g, int status, const struct rusage *u)
{
	g->reaped = true;
	if (g->state == GUEST_STARTING)
		guest_on_control(-1, 0, g); /* it may have executed and ended already */
	if (g->state != GUEST_RUNNING) {
		if (g->state < GUEST_RUNNING && g->channel.stream)
			guest_refuse(g, EHS_REASON_START_FAILED, 0,
				     "its process died before the start");
		return;
	}
	g->state = GUEST_EXITED;
	g->place->state = RESERVE_ENDED;
	g->end = (struct frame_exit){
		.status = (unsigned int)status,
		.user_us = guest_us(&u->ru_utime),
		.system_us = guest_us(&u->ru_stime),
		.maxrss_kib = u->ru_maxrss,
		.minflt = u->ru_minflt,
		.majflt = u->ru_majflt,
		.nvcsw = u->ru_nvcsw,
		.nivcsw = u->ru_nivcsw,
	};
	if (!g->channel.stream)
		return;
	for (int i = 0; i < 2; i++) {
		int waiting = 0;

		if (g->out[i].fd < 0 || ioctl(g->out[i].fd, FIONREAD, &waiting))
			continue;
		g->owed[i] = g->out[i].sent + waiting;
	}
	pty_tell_taken(&g->pty);
	pty_exited(&g->pty);
	g->settling = view_settle(&g->view);
	h2_stream_resume(g->channel.stream);
	guest_tell_exit(g);
	hierarchy_touch(g->from->agent);
}

static void guest_reap(struct guest *g)
{
	struct rusage usage;
	int status;

	while (guest_has_process(g) && launch_wait(&g->launch, &status, &usage)) {
		if (WIFSTOPPED(status)) {
			pty_tell_taken(&g->pty);
			channel_send_u32(&g->channel, FRAME_STOPPED, WSTOPSIG(status));
		} else if (WIFCONTINUED(status)) {
			channel_send(&g->channel, FRAME_CONTINUED, NULL, 0);
		} else {
			guest_on_exit(g, status, &usage);
		}
	}
	guest_put(g);
}

static void guest_on_session(evutil_socket_t fd, short what, void *arg)
{
	guest_reap(arg);
}

static void guest_on_sigchld(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	struct guest *g, *next;

	for (g = agent->guests->list; g; g = next) {
		next = g->next;
		guest_reap(g);
	}
}

void guest_emptied(struct agent *agent, const char *id)
{
	for (struct guest *g = agent->guests ? agent->guests->list : NULL; g; g = g->next) {
		if (!g->place || strcmp(g->place->id, id))
			continue;
		g->emptied = true;
		guest_check_end(g);
		return;
	}
}

/* ---- the stream ---- */

int guest_start(struct guest *g, const struct job_spec *spec)
{
	int its[3] = { -1, -1, -1 }, cgroup = -1, err;

	if (spec->flags & JOB_TTYS) {
		err = pty_open(&g->pty, spec);
		if (err)
			goto close_its;
	}
	err = pipes_open(spec->flags, g->pty.slave, its, g->pipes);
	if (err)
		goto close_its;
	if (cgroup_guest_fd(g->from->agent) >= 0) {
		cgroup = cgroup_guest_begin(g->from->agent, g->place->id);
		if (cgroup < 0) {
			err = cgroup;
			goto close_its;
		}
		g->grouped = true;
	}
	err = launch_fork(g->from->agent, &g->launch, spec, cgroup, view_namespace(&g->view), its,
			  g->pty.slave);
	if (cgroup >= 0)
		close(cgroup);
	if (err)
		goto close_its;
	g->started = clock_wall_ms();
	g->state = GUEST_PREPARING;
	g->control = event_new(g->from->agent->base, g->launch.control, EV_READ | EV_PERSIST,
			       guest_on_control, g);
	if (!g->control || event_add(g->control, NULL))
		err = -ENOMEM;
	if (!err && g->launch.leader) {
		g->session = event_new(g->from->agent->base, g->launch.session,
				       EV_READ | EV_PERSIST, guest_on_session, g);
		if (!g->session || event_add(g->session, NULL))
			err = -ENOMEM;
	}
close_its:
	for (int i = 0; i < 3; i++)
		if (its[i] >= 0)
			close(its[i]);
	return err;
}

static int guest_on_data(void *ctx, const uint8_t *data, size_t length)
{
	struct guest *g = ctx;
	int err;

	err = channel_data(&g->channel, data, length);
	if (err)
		log_warning("node %s broke the protocol of a job: %s", peer_code(g->from),
			    strerror(-err));
	else if (g->channel.stream)
		h2_stream_resume(g->channel.stream); /* credit may have arrived */
	return err;
}

static ssize_t guest_on_produce(void *ctx, uint8_t *buf, size_t room)
{
	struct guest *g = ctx;
	ssize_t n;

	if (g->state == GUEST_EXITED && !g->told)
		guest_tell_exit(g);
	n = channel_produce(&g->channel, buf, room);
	/* This call may have sent the last end of file. */
	if (g->state == GUEST_EXITED && n >= 0)
		guest_check_end(g);
	return n == 0 && g->channel.finish ? -1 : n;
}

static void guest_on_closed(void *ctx, bool clean)
{
	struct guest *g = ctx;

	g->channel.stream = NULL;
	if (!clean && g->state != GUEST_NEW)
		log_info("%s: connection to its home node %s lost; killing its processes",
			 g->place ? g->place->id : "guest", peer_code(g->from));
	event_del(g->limit);
	guest_close_relays(g); /* so that their events do not resume the stream */
	guest_kill(g);
	guest_put(g);
}

const struct h2_stream_ops guest_stream_ops = {
	.data = guest_on_data,
	.produce = guest_on_produce,
	.closed = guest_on_closed,
};

static void guest_on_limit(evutil_socket_t fd, short what, void *arg)
{
	struct guest *g = arg;

	guest_refuse(g, EHS_REASON_LEASE_OVER, 0, "its home did not start it in time");
}

struct guest *guest_new(struct peer *from, struct h2_stream *s, const struct guest_ops *told)
{
	struct agent *agent = from->agent;
	const unsigned int lease = agent->config->lease;
	const struct timeval limit = { lease / 1000, lease % 1000 * 1000 };
	struct guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->from = from;
	g->launch.control = g->launch.pidfd = g->launch.session = -1;
	pty_init(&g->pty, agent->base, &g->channel, &g->launch);
	g->view.news = told->view;
	g->view.ctx = g;
	for (int i = 0; i < 3; i++)
		g->pipes[i] = -1;
	relay_sink_init(&g->in, agent->base, guest_in_moved, g);
	g->in.pipe = true;
	relay_source_init(&g->out[0], agent->base, FRAME_STDOUT);
	relay_source_init(&g->out[1], agent->base, FRAME_STDERR);
	g->channel.frame = told->frame;
	g->channel.ctx = g;
	g->channel.sinks[0] = &g->in;
	g->channel.sources[0] = &g->out[0];
	g->channel.sources[1] = &g->out[1];
	g->channel.sources[2] = &g->pty.out;
	g->limit = evtimer_new(agent->base, guest_on_limit, g);
	if (!g->limit || event_add(g->limit, &limit))
		goto free_guest;
	if (channel_init(&g->channel))
		goto free_guest;
	g->channel.stream = s;
	g->next = agent->guests->list;
	agent->guests->list = g;
	return g;

free_guest:
	if (g->limit)
		event_free(g->limit);
	free(g);
	return NULL;
}

/* ---- what others want to know ---- */

static const char *guest_state_name(const struct guest *g)
{
	return g->state < GUEST_RUNNING	   ? "starting"
	       : g->state == GUEST_RUNNING ? "running"
					   : "ended";
}

void guest_list(struct agent *agent, json_t *tasks)
{
	char when[32];

	for (const struct guest *g = agent->guests->list; g; g = g->next) {
		if (!guest_has_process(g) || !g->place)
			continue;
		json_array_append_new(
			tasks,
			json_pack("{s:s,s:i,s:s,s:s,s:s,s:I,s:s,s:s,s:s}", "id", g->place->id,
				  "pid", (int)g->launch.pid, "home", peer_code(g->from), "executor",
				  agent->code, "command", g->place->command, "uid",
				  (json_int_t)g->place->uid, "state", guest_state_name(g), "reason",
				  "guest", "started", clock_text(g->started, when)));
	}
}

int guest_init(struct agent *agent)
{
	struct guests *guests = calloc(1, sizeof(*guests));

	if (!guests)
		return -ENOMEM;
	guests->sigchld = evsignal_new(agent->base, SIGCHLD, guest_on_sigchld, agent);
	if (!guests->sigchld || event_add(guests->sigchld, NULL)) {
		if (guests->sigchld)
			event_free(guests->sigchld);
		free(guests);
		return -ENOMEM;
	}
	agent->guests = guests;
	return 0;
}

void guest_exit(struct agent *agent)
{
	struct guests *guests = agent->guests;
	struct guest *g;

	if (!guests)
		return;
	while ((g = guests->list)) {
		guest_kill(g);
		if (g->channel.stream)
			h2_stream_abort(g->channel.stream);
		g->channel.stream = NULL;
		if (guest_has_process(g) && waitpid(g->launch.pid, NULL, 0) == g->launch.pid)
			g->reaped = true;
		launch_dismiss(&g->launch, true);
		g->reaped = true;
		guest_put(g);
	}
	event_free(guests->sigchld);
	free(guests);
	agent->guests = NULL;
}
