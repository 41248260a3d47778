// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals to the stub are forwarded; when a signal killed or stopped the task, the stub does the same. */
#include "stub.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIGNALS_ROOM 256 /* bytes in the link, for one and what belongs to it */

uint64_t stub_ignored(void)
{
	static uint64_t set;
	static bool known;

	/* asked once, with 64 calls: they do not change until the stub dies */
	for (int sig = 1; !known && sig <= CALLS_SIGNALS; sig++)
		if (calls_ignores(sig))
			set |= STUB_BIT(sig);
	known = true;
	return set;
}

/* Signals the terminal driver sends go to the whole group, as at home. */
static bool stub_is_group(const struct signalfd_siginfo *info)
{
	/* `fg` of a shell: all that the terminal has stopped continues. */
	if (info->ssi_signo == SIGCONT)
		return true;
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

bool signals_wanted(const struct stub *s)
{
	if (s->phase == PHASE_DRAINS)
		return true;
	/* What cannot be said now stays pending in the kernel. */
	return s->phase == PHASE_RUNS && s->end.state == JOB_RUNNING &&
	       job_link_room(&s->end.link) > SIGNALS_ROOM;
}

static void signals_take(struct stub *s, const struct signalfd_siginfo *info)
{
	const bool ends = STUB_ENDING >> (info->ssi_signo - 1) & 1;
	struct job_message m = { .what = JOB_SIGNAL };

	/* From a child that the task had before this exec: it has none on the executor. */
	if (info->ssi_signo == SIGCHLD && info->ssi_code > 0)
		return;
	if (s->phase == PHASE_DRAINS) {
		/* The task has ended, and only its output is waited for. */
		if (ends && !((stub_ignored() | s->sigmask) & STUB_BIT(info->ssi_signo)))
			s->until = 0;
		return;
	}
	if (info->ssi_signo == SIGCONT)
		terminal_look(s);
	m.sent.signal = info->ssi_signo;
	m.sent.group = stub_is_group(info);
	/* The executor's terminal sends its own signal when its size changes. */
	if (s->tty.fd >= 0 && m.sent.signal == SIGWINCH && m.sent.group) {
		s->tty.tell = true;
		return;
	}
	end_say(s, &m);
	s->told_to_end |= ends;
}

void signals_forward(struct stub *s)
{
	struct signalfd_siginfo one;

	while (signals_wanted(s) && read(s->signals, &one, sizeof(one)) == sizeof(one))
		signals_take(s, &one);
}

void signals_drop(int sig)
{
	const uint64_t set = STUB_BIT(sig);
	const struct timespec now = { 0, 0 };

	syscall(SYS_rt_sigtimedwait, &set, NULL, &now, sizeof(set));
}

/* Takes a pending SIGCONT; false: there is none. */
static bool stub_take_cont(void)
{
	const uint64_t set = STUB_BIT(SIGCONT);
	const struct timespec now = { 0, 0 };

	return syscall(SYS_rt_sigtimedwait, &set, NULL, &now, sizeof(set)) == SIGCONT;
}

void stub_stop(struct stub *s, int sig)
{
	const uint64_t stops = STUB_BIT(SIGTSTP) | STUB_BIT(SIGTTIN) | STUB_BIT(SIGTTOU);
	struct tty *t = &s->tty;
	uint64_t pending = 0;

	calls_set_action(sig, false);
	kill(getpid(), sig);
	calls_mask(~STUB_BIT(sig)); /* stops here, until a SIGCONT */
	calls_mask(~0ull);
	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	/*
	 * No SIGCONT, and no later stop that removed it before it was read: the kernel
	 * did not stop us, because our process group is orphaned. A task here would not
	 * have stopped either.
	 */
	if (stub_take_cont() || pending & stops) {
		terminal_look(s);
	} else if ((sig == SIGTTIN || sig == SIGTTOU) && t->fd >= 0 && !t->orphaned) {
		/* Else the terminal would stop it again at once, endlessly. */
		const struct job_message m = { .what = JOB_FOREGROUND, .foreground = true };

		t->orphaned = t->foreground = end_say(s, &m);
	}
	s->cont = true;
}

void stub_die(int sig)
{
	static const struct rlimit none;

	/* A core dump of the stub is of no use. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	calls_set_action(sig, false);
	kill(getpid(), sig);
	calls_mask(~STUB_BIT(sig));
	/* Reached only where signals cannot kill: in the first process of a PID namespace. */
	_exit(128 + sig);
}
