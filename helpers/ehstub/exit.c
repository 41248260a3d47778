// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of the task: its output is written, its use accounted for, and the stub ends as it did. */
#include "exit.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "descriptor.h"
#include "fallback.h"
#include "helpers/end/calls.h"
#include "opened.h"
#include "signals.h"
#include "stub.h"

#define EXIT_NOTED_MS 2000
#define EXIT_KILLER_MS 6000 /* the agent asks the executor who has killed it */
#define EXIT_SETTLE_MS 1000
#define EXIT_LOST_MS 5000 /* without progress */
#define EXIT_FLUSH_MS 200

static void __attribute__((noreturn)) exit_as_task(struct stub *s)
{
	if (s->copy)
		_exit(0);
	if (s->use.status & 0x7f)
		signals_die(s, s->use.status & 0x7f);
	witness_end(&s->witness);
	_exit(s->use.status >> 8);
}

/* NULL: it can run again. */
static const char *exit_prepare_again(struct stub *s)
{
	const struct sink *out = &s->sinks[0], *errors = &s->sinks[1];
	int err;

	if (s->told_to_end)
		return "it was told to end";
	/* Lost before it was known to have started: nothing was closed or read. */
	if (s->before < JOB_RUNNING)
		return NULL;
	if (s->flags & JOB_FD(1) && !(s->flags & (JOB_TTY(1) | JOB_NULL(1)))) {
		if (out->fd < 0 || out->end)
			return "its standard output was closed";
		descriptor_restore(1, out->kind);
	}
	if (errors->fd >= 0)
		descriptor_restore(2, errors->kind);
	/* Keys, of descriptor 0 or of /dev/tty. */
	if (s->tty.sent)
		return "terminal input was lost with it";
	if (s->flags & JOB_FD(0) && !(s->flags & (JOB_TTY(0) | JOB_NULL(0)))) {
		err = source_again(&s->sources[0]);
		if (err)
			return err == -EPIPE ? "its standard input was closed"
					     : "its standard input cannot be rewound";
	}
	return opened_again(s);
}

/*
 * The executor is lost, or had too little memory. The task is reported as killed or, if the user allows
 * it (--retry), run again here. The second run must begin like the first: nothing may be missing from standard input, and
 * standard output must still be open. Output of the first run remains.
 */
static void __attribute__((noreturn)) exit_report_lost(struct stub *s)
{
	static const char *const what[][2] = {
		[LOSS_NONE] = { "", "" },
		[LOSS_GONE] = { "ehsched: lost ", " while it ran" },
		[LOSS_LIMIT] = { "ehsched: no connection to ", " in the time limit while it ran" },
		[LOSS_AGENT] = { "ehsched: no agent on this node in the time limit while ",
				 " ran" },
		[LOSS_PROTOCOL] = { "ehsched: not understood what came from ", " while it ran" },
		[LOSS_STARVED] = { "ehsched: ", " had too little memory for" },
		[LOSS_LOCK] = { "ehsched: another process here has the lock that ", " had for" },
	};
	const char *parts[] = { what[s->loss][0],	s->session.attached.host,
				what[s->loss][1],	" this task (",
				s->session.attached.id, "); it is ",
				"reported as killed",	"" };
	/* One that has ended has done its work, unless it was killed for memory. */
	const bool again = s->retry && (s->before != JOB_ENDED || s->loss == LOSS_STARVED);
	const char *why;

	terminal_restore(&s->tty);
	why = again ? exit_prepare_again(s) : "";
	if (!why) {
		session_note(&s->session, NOTE_RERUN);
		session_flush(&s->session, EXIT_FLUSH_MS);
		parts[6] = "run again here";
		fallback_say(parts, 8);
		fallback_run_here(s);
	}
	if (*why) {
		parts[6] = "reported as killed and not run again: ";
		parts[7] = why;
	}
	if (s->rsh) {
		parts[5] = ")";
		parts[6] = "";
	}
	/* How it ended is known otherwise. */
	if (s->loss != LOSS_STARVED)
		session_note(&s->session, NOTE_LOST);
	session_flush(&s->session, EXIT_FLUSH_MS);
	fallback_say(parts, 8);
	if (s->rsh) {
		witness_end(&s->witness);
		_exit(STUB_NO_TRANSPORT);
	}
	signals_die(s, SIGKILL);
}

static void exit_enter(struct stub *s, enum phase phase, int64_t until)
{
	s->phase = phase;
	s->until = until;
}

static void exit_settle_ends(struct stub *s, enum sink_ends ends)
{
	for (uint32_t i = 0; i < s->nsinks; i++)
		sink_settle_end(&s->sinks[i], ends);
}

void exit_begin(struct stub *s, const struct job_message *m)
{
	s->use = s->session.note.use = m->exit.use;
	s->session.note.ended_us = calls_us();
	s->more = m->exit.more;
	s->stop = 0;
	for (uint32_t i = 0; i < s->nsinks; i++)
		s->sinks[i].exit_at = s->sinks[i].done + s->sinks[i].length;
	s->again = s->retry && !s->told_to_end && (s->use.status & 0x7f) == SIGKILL;
	s->before = JOB_ENDED;
	exit_settle_ends(s, s->again ? SINK_ENDS_WAIT : SINK_ENDS_NOW);
	if (!s->again)
		opened_end(s);
	/* It ends while the last is said. */
	if (!s->more)
		witness_dismiss(&s->witness);
	exit_enter(s, PHASE_DRAINS, SESSION_NEVER);
}

static void exit_give_back(struct stub *s)
{
	for (uint32_t i = 0; i < s->nsources; i++)
		source_give_back(&s->sources[i]);
}

/* A task that was killed has put nothing back, but as long as children of it run they may. */
static void exit_make_up(struct stub *s)
{
	const bool killed = s->use.status & 0x7f;

	if ((killed || s->cut) && (!s->more || s->over))
		opened_make_up(s);
}

void exit_lose(struct stub *s)
{
	opened_make_up(s);
	exit_give_back(s);
	exit_settle_ends(s, SINK_ENDS_NOT);
	exit_enter(s, PHASE_LOST, calls_now() + EXIT_LOST_MS);
	for (uint32_t i = 0; i < s->nsinks; i++)
		s->sinks[i].exit_at = s->sinks[i].done;
}

static bool exit_written(const struct stub *s)
{
	for (uint32_t i = 0; i < s->nsinks; i++)
		if (s->sinks[i].fd >= 0 && s->sinks[i].done < s->sinks[i].exit_at)
			return false;
	return true;
}

static bool exit_held(const struct stub *s)
{
	for (uint32_t i = 0; i < s->nsinks; i++)
		if (s->sinks[i].length)
			return true;
	return false;
}

/*
 * Children of the task still write. A copy of the stub stays for them, and the stub ends now. If
 * there is no process for it, the task's end is late.
 */
static void exit_leave(struct stub *s)
{
	pid_t pid;

	/* Of ehrsh that was told to end they end, too: without a stub nothing of a task runs on. */
	if (s->rsh && s->told_to_end) {
		opened_make_up(s);
		exit_as_task(s);
	}
	pid = fork();
	if (pid > 0)
		exit_as_task(s);
	exit_enter(s, PHASE_STAYS, SESSION_NEVER);
	if (pid < 0)
		return;
	/* It hears what the group is told. It reads no input, and has no part in job control. */
	s->witness.pid = 0;
	s->tty.feed = FEED_NONE;
	s->copy = true;
	for (uint32_t i = 0; i < s->nsources; i++)
		if (s->sources[i].fd >= 0)
			close(s->sources[i].fd);
	close(0);
}

/* Of one that may be run again nothing must still run there. */
static bool exit_known(const struct stub *s)
{
	return s->noted && (!s->again || !s->starved || !s->more || s->over);
}

static void exit_noted(struct stub *s)
{
	exit_make_up(s);
	if (s->again) {
		exit_give_back(s);
		if (s->starved && (!s->more || s->over)) {
			s->loss = LOSS_STARVED;
			exit_settle_ends(s, SINK_ENDS_NOT);
			exit_report_lost(s);
		}
		s->again = false;
		exit_settle_ends(s, SINK_ENDS_NOW);
		opened_end(s);
	}
	if (s->more && !s->over)
		exit_leave(s);
	else
		exit_enter(s, PHASE_SETTLES, s->session.now + EXIT_SETTLE_MS);
}

static void exit_drained(struct stub *s)
{
	terminal_settle(&s->tty);
	if (s->use.status & 0x7f)
		terminal_restore(&s->tty);
	exit_make_up(s);
	terminal_give_back(&s->tty);
	session_note(&s->session, NOTE_ENDED);
	session_write(&s->session);
	exit_enter(s, PHASE_NOTES,
		   s->again		      ? s->session.now + EXIT_KILLER_MS
		   : s->session.attached.wait ? s->session.now + EXIT_NOTED_MS
					      : 0);
}

/* More time as long as something is written. */
static bool exit_progress(struct stub *s)
{
	bool any = false;

	for (uint32_t i = 0; i < s->nsinks; i++) {
		any |= s->sinks[i].exit_at != s->sinks[i].done;
		s->sinks[i].exit_at = s->sinks[i].done;
	}
	return any;
}

/* The stub locks again what the task has locked before it tells of the end: its parent relies on that. */
static void exit_drain(struct stub *s)
{
	const int locked = exit_written(s) ? opened_lock(s) : -EAGAIN;

	if (!locked || s->session.now >= s->until) {
		exit_drained(s);
	} else if (locked == -ETIMEDOUT) {
		s->loss = LOSS_LOCK;
		exit_lose(s);
	}
}

/* The other end keeps its exit until it is acknowledged. */
static bool exit_settled(const struct stub *s)
{
	const struct session *to = &s->session;

	return to->hop.socket < 0 || s->session.now >= s->until ||
	       (job_end_done(&to->end) && !to->notes && to->hop.from == to->hop.to);
}

void exit_step(struct stub *s)
{
	if (s->phase == PHASE_DRAINS)
		exit_drain(s);
	if (s->phase == PHASE_NOTES &&
	    (exit_known(s) || !s->session.routed || s->session.now >= s->until))
		exit_noted(s);
	if (s->phase == PHASE_STAYS && s->over && !exit_held(s)) {
		exit_make_up(s);
		exit_enter(s, PHASE_SETTLES, s->session.now + EXIT_SETTLE_MS);
	}
	if (s->phase == PHASE_SETTLES) {
		if (exit_settled(s))
			exit_as_task(s);
	}
	if (s->phase != PHASE_LOST)
		return;
	if (exit_progress(s))
		s->until = s->session.now + EXIT_LOST_MS;
	if (!exit_held(s) || s->session.now >= s->until)
		exit_report_lost(s);
}
