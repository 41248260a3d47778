// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The executor's end of a job. ehlaunch has made this process the user's, with the socket of its
 * agent as descriptor 3; perhaps FRAME_NAMED, then FRAME_JOB and FRAME_ATTACHED come first.
 */
#include "main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "connection.h"
#include "guest.h"
#include "helpers/end/calls.h"
#include "kill.h"
#include "wire/launch.h"

#define MAIN_WAIT_MS 1000000 /* at most, for poll() */

/* ---- the start ---- */

/* Descriptors 0-2 may be closed: what we open must not be found there. */
static int main_keep_low(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd < START_SOCKET);
	return fd < 0 ? -errno : close(fd);
}

/* Makes what the job says. */
static void main_prepare(struct guest *g)
{
	struct start *s = &g->start;
	int err;

	session_name(&g->session, s->spec.path);
	err = flow_open(&g->flow, &s->spec, &s->its, &g->program.trouble);
	job_end_channels(&g->session.end, g->flow.channels);
	if (!err)
		err = program_prepare(&g->program);
	if (!err)
		return;
	start_over(s);
	if (!g->program.trouble.text)
		program_give_up(&g->program, -err, "cannot start a process for it");
}

static void main_init(struct guest *g)
{
	connection_init(g);
	flow_init(&g->flow, &g->session);
	g->ending = (struct ending){ .session = &g->session, .flow = &g->flow };
	g->program = (struct program){ .session = &g->session,
				       .flow = &g->flow,
				       .start = &g->start,
				       .ending = &g->ending,
				       .resume_at = SESSION_NEVER };
}

static int main_begin(struct guest *g, const struct launch_start *asked)
{
	struct timespec t;
	int err;

	calls_mask(~0ull);
	/* Ignored, it would not be told. */
	signal(SIGCHLD, SIG_DFL);
	if (main_keep_low() || fcntl(START_SOCKET, F_SETFD, FD_CLOEXEC))
		return -errno;
	g->signals = calls_signalfd(1ull << (SIGCHLD - 1));
	if (g->signals < 0)
		return -errno;
	clock_gettime(CLOCK_REALTIME, &t);
	main_init(g);
	g->session.note.begun_us = calls_us();
	g->session.who.started_ms = t.tv_sec * 1000ull + t.tv_nsec / 1000000;
	g->session.tells = asked && asked->flags & LAUNCH_TELLS;
	err = start_receive(&g->start, asked);
	if (err)
		return err;
	main_prepare(g);
	session_open(&g->session, START_SOCKET);
	return 0;
}

/* ---- the loop ---- */

static bool main_done(const struct guest *g)
{
	if (!g->session.known)
		return g->session.hop.socket < 0;
	if (g->session.end.state == JOB_LOST)
		return true;
	return job_end_done(&g->session.end) &&
	       (g->session.hop.socket < 0 || g->session.hop.from == g->session.hop.to);
}

static int main_wait_ms(const struct guest *g)
{
	int64_t at = session_deadline(&g->session);
	const int64_t others[] = { flow_look_at(&g->flow), g->program.resume_at,
				   ending_look_at(&g->ending) };

	for (int i = 0; i < 3; i++)
		if (others[i] < at)
			at = others[i];
	if (at == SESSION_NEVER)
		return -1;
	at -= calls_now();
	return at < 0 ? 0 : at < MAIN_WAIT_MS ? at : MAIN_WAIT_MS;
}

static void main_poll(struct guest *g)
{
	enum { SOCKET, SIGNALS, FLOWS };
	struct pollfd fds[FLOWS + FLOW_FDS] = {
		[SOCKET] = { .fd = g->session.hop.socket,
			     .events = POLLIN | (g->session.blocked ? POLLOUT : 0) },
		[SIGNALS] = { .fd = g->signals, .events = POLLIN },
	};
	const unsigned int flows = flow_watch(&g->flow, fds + FLOWS);
	struct signalfd_siginfo info;
	int n;

	n = poll(fds, FLOWS + flows, main_wait_ms(g));
	g->session.now = calls_now();
	if (n <= 0)
		return;
	while (fds[SIGNALS].revents && read(g->signals, &info, sizeof(info)) > 0)
		g->program.reap = true;
	flow_on_poll(&g->flow, fds + FLOWS);
	if (fds[SOCKET].revents)
		session_read(&g->session);
}

static void main_step(struct guest *g)
{
	program_step(&g->program);
	program_reap(&g->program);
	program_tick(&g->program);
	flow_step(&g->flow);
	ending_step(&g->ending, g->program.childless);
	if (session_spare(&g->session))
		flow_spare(&g->flow);
	connection_set_limit(g);
	job_end_tick(&g->session.end, g->session.now);
	connection_again(g);
	session_write(&g->session);
}

int guest_main(const struct launch_start *asked)
{
	static struct guest g;

	g.session.now = calls_now();
	if (main_begin(&g, asked))
		return 1;
	while (!main_done(&g)) {
		main_poll(&g);
		main_step(&g);
	}
	kill_all(&g);
	return g.session.known && g.session.end.state != JOB_LOST ? 0 : 1;
}
