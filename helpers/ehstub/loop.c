// SPDX-License-Identifier: GPL-2.0-or-later
/* The one loop of the stub. Each round says what is due, waits for an event, and handles it. */
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "exit.h"
#include "fallback.h"
#include "helpers/end/calls.h"
#include "signals.h"
#include "stub.h"

/*
 * There is no event for becoming the foreground group (a shell sends SIGCONT only to stopped jobs),
 * so a stub in the background looks regularly.
 */
#define LOOP_BACKGROUND_MS 200
#define LOOP_REDIRECTED_MS 2000 /* if none of 0-2 is the terminal: few open it then */
#define LOOP_NEVER_MS 3600000

/* Sources follow the sinks that there are: poll() takes no more than the limit on descriptors. */
enum { AT_AGENT, AT_SIGNALS, AT_SINKS, AT_ALL = AT_SINKS + STUB_SINKS_MAX + STUB_SOURCES_MAX };
#define AT_TERMINAL (AT_SINKS + JOB_CHANNEL_TERMINAL - 1)

/* ---- what is due ---- */

/* Says GO. Nothing has started before it, and nothing is run here after it unless the executor says that it has not. */
static void loop_go(struct stub *s)
{
	const struct job_message go = { .what = JOB_GO };
	struct pollfd p[2] = { { .fd = s->ending, .events = POLLIN },
			       { .fd = s->session.hop.socket, .events = POLLRDHUP } };

	poll(p, 2, 0);
	if (p[0].revents || p[1].revents)
		fallback_give_up(s, "agent of this node", p[0].revents ? EINTR : ECONNRESET);
	if (!session_say(&s->session, &go))
		return;
	s->session.note.go_us = calls_us();
	close(s->ending);
	s->ending = -1;
	/* An end that is connected may take any time to execute it. */
	s->session.end.deadline = SESSION_NEVER;
	s->phase = PHASE_RUNS;
}

static void loop_stop(struct stub *s)
{
	const struct job_message m = { .what = JOB_SIGNAL,
				       .sent = { .signal = SIGCONT, .reach = JOB_TO_GROUP } };
	int sig = s->stop;

	if (s->cont && session_say(&s->session, &m))
		s->cont = false;
	if (!sig || s->cont)
		return;
	/* Answers that are due go first: none of what is read after this is lost with a stop. */
	terminal_read_step(&s->tty, true);
	s->stop = 0;
	if (terminal_give_back(&s->tty))
		s->tty.tell = s->tty.tell_flush = true;
	terminal_step(&s->tty, true);
	session_write(&s->session);
	signals_stop(s, sig);
	if (session_say(&s->session, &m))
		s->cont = false;
}

static void loop_step(struct stub *s)
{
	if (s->lost && s->phase != PHASE_LOST) {
		if (s->before < JOB_COMMITTED)
			fallback_give_up(s, "agent of this node",
					 s->loss == LOSS_LIMIT ? ETIMEDOUT : ECONNRESET);
		exit_lose(s);
	}
	if (s->phase == PHASE_ASKS && s->ready)
		loop_go(s);
	if (s->phase == PHASE_RUNS) {
		loop_stop(s);
		for (uint32_t i = 0; i < s->nsources; i++) {
			source_look(&s->sources[i]);
			source_step(&s->sources[i]);
		}
		terminal_read_step(&s->tty, false);
	}
	for (uint32_t i = 0; i < s->nsinks; i++)
		sink_step(&s->sinks[i]);
	terminal_step(&s->tty, s->phase == PHASE_RUNS);
	exit_step(s);
	if (s->phase != PHASE_LOST)
		session_again(&s->session);
	session_write(&s->session);
	if (session_spare(&s->session))
		for (uint32_t i = 0; i < s->nsinks; i++)
			sink_spare(&s->sinks[i]);
}

/* ---- what is waited for ---- */

static void loop_watch_sink(const struct sink *k, struct pollfd *p)
{
	if (k->fd < 0 || k->kind == KIND_FILE)
		return;
	p->fd = k->fd;
	/* Without POLLOUT: is there a reader? */
	p->events = k->length ? POLLOUT : 0;
}

/* Returns how many there are: sources are the last ones. */
static nfds_t loop_watch(const struct stub *s, struct pollfd fds[AT_ALL])
{
	const uint32_t sources = AT_SINKS + s->nsinks, all = sources + s->nsources;
	const struct tty *t = &s->tty;
	const bool runs = s->phase == PHASE_RUNS;

	for (int i = 0; i < AT_ALL; i++)
		fds[i] = (struct pollfd){ .fd = -1 };
	fds[AT_AGENT].fd = s->session.hop.socket;
	fds[AT_AGENT].events = POLLIN | (s->session.hop.from != s->session.hop.to ? POLLOUT : 0);
	fds[AT_SIGNALS].fd = s->phase == PHASE_ASKS ? s->ending
			     : signals_wanted(s)    ? s->signals
						    : -1;
	fds[AT_SIGNALS].events = POLLIN;
	for (uint32_t i = 0; i < s->nsources; i++)
		if (!runs || !source_wants(&s->sources[i], &fds[sources + i]))
			fds[sources + i].fd = -1;
	if (s->phase == PHASE_ASKS)
		return all;
	for (uint32_t i = 0; i < s->nsinks; i++)
		loop_watch_sink(&s->sinks[i], &fds[AT_SINKS + i]);
	if (runs && t->fd >= 0 && !terminal_is_hung(t) && t->feed == FEED_IDLE && t->foreground &&
	    !t->ready)
		fds[AT_TERMINAL].events |= POLLIN;
	return all;
}

static void loop_sooner(int64_t *at, int64_t other)
{
	if (other < *at)
		*at = other;
}

static int loop_timeout(const struct stub *s)
{
	const int64_t now = s->session.now;
	int64_t at = now + LOOP_NEVER_MS;

	if (s->lost && s->phase != PHASE_LOST)
		return 0;
	if (s->phase != PHASE_LOST)
		loop_sooner(&at, session_deadline(&s->session));
	if (s->phase >= PHASE_DRAINS)
		loop_sooner(&at, s->until);
	for (uint32_t i = 0; s->phase == PHASE_RUNS && i < s->nsources; i++)
		loop_sooner(&at, s->sources[i].look_at);
	if (s->phase == PHASE_DRAINS)
		loop_sooner(&at, s->opens.lock_at);
	for (uint32_t i = 0; i < s->nsinks; i++)
		if (s->sinks[i].end_at)
			loop_sooner(&at, s->sinks[i].end_at);
	if (s->phase == PHASE_RUNS && s->tty.fd >= 0 && !terminal_is_hung(&s->tty) &&
	    !s->tty.foreground)
		loop_sooner(&at,
			    now + (s->flags & JOB_TTYS ? LOOP_BACKGROUND_MS : LOOP_REDIRECTED_MS));
	return at > now ? at - now : 0;
}

static void loop_on_poll(struct stub *s, const struct pollfd fds[AT_ALL])
{
	const uint32_t sources = AT_SINKS + s->nsinks; /* as loop_watch() found them */
	const short hung = POLLHUP | POLLERR | POLLNVAL;
	short seen = fds[AT_TERMINAL].revents;

	/* What takes long does not hold up a signal. */
	if (fds[AT_SIGNALS].revents && s->phase == PHASE_ASKS)
		fallback_give_up(s, "agent of this node", EINTR);
	if (fds[AT_SIGNALS].revents)
		signals_forward(s);
	if (fds[AT_AGENT].revents)
		session_read(&s->session);
	for (uint32_t i = 0; i < s->nsinks; i++)
		if (AT_SINKS + i != AT_TERMINAL)
			sink_on_poll(&s->sinks[i], fds[AT_SINKS + i].revents);
	if (seen & POLLIN)
		s->tty.ready = true;
	if (seen & hung)
		terminal_hangup(&s->tty);
	else
		sink_on_poll(s->tty.out, seen & POLLOUT);
	terminal_settle(&s->tty);
	for (uint32_t i = 0; i < s->nsources; i++)
		source_on_poll(&s->sources[i], fds[sources + i].revents);
}

void loop_run(struct stub *s)
{
	struct session *to = &s->session;
	struct pollfd fds[AT_ALL];

	for (;;) {
		to->now = calls_now();
		if (s->phase != PHASE_LOST && to->now >= to->end.deadline) {
			s->loss = to->routed || s->phase == PHASE_ASKS ? LOSS_LIMIT : LOSS_AGENT;
			job_end_tick(&to->end, to->now);
		}
		loop_step(s);
		to->now = calls_now();
		if (poll(fds, loop_watch(s, fds), loop_timeout(s)) > 0)
			loop_on_poll(s, fds);
	}
}
