// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals to the stub are forwarded; when a signal killed or stopped the task, the stub does the same. */
#include "signals.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helpers/end/calls.h"
#include "stub.h"

#define SIGNALS_ROOM 256 /* bytes in the link, for one and what belongs to it */

uint64_t signals_ignored(void)
{
	static uint64_t set;
	static bool known;

	/* asked once, with 64 calls: they do not change until the stub dies */
	for (int sig = 1; !known && sig <= CALLS_SIGNALS; sig++)
		if (calls_ignores(sig))
			set |= SIGNALS_BIT(sig);
	known = true;
	return set;
}

/* Whether the terminal's driver has sent it, to its foreground group. */
static bool signals_is_terminals(const struct signalfd_siginfo *info)
{
	if (info->ssi_code != SI_KERNEL)
		return false;
	switch (info->ssi_signo) {
	case SIGINT:
	case SIGQUIT:
	case SIGTSTP:
	case SIGHUP:
	case SIGWINCH:
		return true;
	default:
		return false;
	}
}

/* Whom it is for there. */
static enum job_reach signals_reach(struct stub *s, const struct signalfd_siginfo *info)
{
	/* `fg` of a shell: all that the terminal has stopped continues. */
	if (info->ssi_signo == SIGCONT)
		return JOB_TO_GROUP;
	if (signals_is_terminals(info))
		return s->phase == PHASE_RUNS ? JOB_TO_FOREGROUND : JOB_TO_GROUP;
	/* Of its own writes, such as SIGXFSZ; and what can be sent to one process only. */
	if (info->ssi_code != SI_USER || (pid_t)info->ssi_pid == getpid())
		return JOB_TO_TASK;
	/* Nobody knows the number of the copy. Of ehrsh the shell there would have it, which waits for another. */
	if (s->copy || s->rsh || witness_saw(&s->witness, info->ssi_signo))
		return JOB_TO_GROUP;
	return JOB_TO_TASK;
}

bool signals_wanted(const struct stub *s)
{
	const bool runs = s->phase == PHASE_RUNS && s->session.end.state == JOB_RUNNING;
	const bool stays = s->phase == PHASE_STAYS && s->session.end.state == JOB_ENDED;

	if (s->phase == PHASE_DRAINS)
		return true;
	/* What cannot be said now stays pending in the kernel. */
	return (runs || stays) && job_link_room(&s->session.end.link) > SIGNALS_ROOM;
}

/* The task has ended, and only its output is waited for. Its children hear what their group is told. */
static void signals_take_late(struct stub *s, const struct signalfd_siginfo *info)
{
	const uint64_t unheard = signals_ignored() | s->sigmask;
	struct job_message m = { .what = JOB_SIGNAL };

	m.sent.signal = info->ssi_signo;
	m.sent.reach = s->more ? signals_reach(s, info) : JOB_TO_TASK;
	if (m.sent.reach == JOB_TO_GROUP)
		session_say(&s->session, &m);
	if (s->phase == PHASE_DRAINS && SIGNALS_ENDING & ~unheard & SIGNALS_BIT(info->ssi_signo))
		s->until = 0;
}

static void signals_take(struct stub *s, const struct signalfd_siginfo *info)
{
	const bool ends = SIGNALS_ENDING >> (info->ssi_signo - 1) & 1;
	struct job_message m = { .what = JOB_SIGNAL };

	/* From a child that the task had before this exec: it has none on the executor. */
	if (info->ssi_signo == SIGCHLD && info->ssi_code > 0)
		return;
	if (s->phase != PHASE_RUNS) {
		signals_take_late(s, info);
		return;
	}
	if (info->ssi_signo == SIGCONT)
		terminal_look(&s->tty);
	m.sent.signal = info->ssi_signo;
	m.sent.reach = signals_reach(s, info);
	m.sent.queued = info->ssi_code == SI_QUEUE && m.sent.reach == JOB_TO_TASK;
	if (m.sent.queued) {
		m.sent.pid = info->ssi_pid;
		m.sent.uid = info->ssi_uid;
		m.sent.value = info->ssi_ptr;
	}
	/* The executor's terminal sends its own signal when its size changes. */
	if (s->tty.fd >= 0 && m.sent.signal == SIGWINCH && m.sent.reach == JOB_TO_FOREGROUND) {
		s->tty.tell = true;
		return;
	}
	if (session_say(&s->session, &m) && m.sent.signal == SIGCONT)
		s->cont_number = s->session.end.link.head_number - 1;
	s->told_to_end |= ends;
}

void signals_forward(struct stub *s)
{
	struct signalfd_siginfo one;

	while (signals_wanted(s) && read(s->signals, &one, sizeof(one)) == sizeof(one))
		signals_take(s, &one);
}

void signals_stop(struct stub *s, int sig)
{
	const uint64_t stops = SIGNALS_BIT(SIGTSTP) | SIGNALS_BIT(SIGTTIN) | SIGNALS_BIT(SIGTTOU);
	struct tty *t = &s->tty;
	uint64_t pending = 0;

	calls_set_action(sig, false);
	kill(getpid(), sig);
	calls_mask(~SIGNALS_BIT(sig)); /* stops here, until a SIGCONT */
	calls_mask(~0ull);
	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	/*
	 * No SIGCONT, and no later stop that removed it before it was read: the kernel
	 * did not stop us, because our process group is orphaned. A task here would not
	 * have stopped either.
	 */
	if (calls_take(SIGCONT) || pending & stops) {
		terminal_look(&s->tty);
	} else if ((sig == SIGTTIN || sig == SIGTTOU) && t->fd >= 0 && !t->orphaned) {
		/* Else the terminal would stop it again at once, endlessly. */
		const struct job_message m = { .what = JOB_FOREGROUND, .foreground = true };

		t->orphaned = t->foreground = session_say(&s->session, &m);
	}
	s->cont = true;
}

void signals_die(struct stub *s, int sig)
{
	static const struct rlimit none;

	witness_end(&s->witness);
	/* A core dump of the stub is of no use. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	calls_set_action(sig, false);
	kill(getpid(), sig);
	calls_mask(~SIGNALS_BIT(sig));
	/* Reached only where signals cannot kill: in the first process of a PID namespace. */
	_exit(128 + sig);
}
