// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals to the stub are forwarded; when a signal killed or stopped the task, the stub does the same. */
#include "stub.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIGNALS 64

/* The kernel's struct sigaction begins with the handler; all zero is SIG_DFL. */
struct raw_action {
	unsigned long handler, rest[7];
};

uint64_t stub_mask(uint64_t set)
{
	uint64_t old = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, &old, sizeof(set));
	return old;
}

uint64_t stub_ignored(void)
{
	static uint64_t set;
	static bool known;
	struct raw_action act;

	/* asked once, with 64 calls: they do not change until the stub dies */
	for (int sig = 1; !known && sig <= SIGNALS; sig++)
		if (!syscall(SYS_rt_sigaction, sig, NULL, &act, sizeof(set)) &&
		    act.handler == (unsigned long)SIG_IGN)
			set |= STUB_BIT(sig);
	known = true;
	return set;
}

int stub_signalfd(uint64_t set)
{
	return syscall(SYS_signalfd4, -1, &set, sizeof(set), SFD_CLOEXEC | SFD_NONBLOCK);
}

static void stub_set_default(int sig)
{
	struct raw_action act;

	memset(&act, 0, sizeof(act));
	syscall(SYS_rt_sigaction, sig, &act, NULL, sizeof(uint64_t));
}

static void stub_send_signal(struct stub *s, int sig, bool group)
{
	uint8_t payload[8];

	frame_put_u32(payload, sig);
	frame_put_u32(payload + 4, group);
	stub_send(s, FRAME_SIGNAL, payload, sizeof(payload));
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

void stub_forward_signals(struct stub *s)
{
	struct signalfd_siginfo all[4];
	ssize_t n;

	while ((n = read(s->signals, all, sizeof(all))) > 0) {
		for (size_t i = 0; i < n / sizeof(all[0]); i++) {
			/* From a child that the task had before this exec: it has none on the executor. */
			if (all[i].ssi_signo == SIGCHLD && all[i].ssi_code > 0)
				continue;
			if (all[i].ssi_signo == SIGCONT)
				feed_look(s);
			stub_send_signal(s, all[i].ssi_signo, stub_is_group(&all[i]));
			s->told_to_end |= STUB_ENDING >> (all[i].ssi_signo - 1) & 1;
		}
	}
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
	uint64_t pending = 0;

	stub_set_default(sig);
	kill(getpid(), sig);
	stub_mask(~STUB_BIT(sig)); /* stops here, until a SIGCONT */
	stub_mask(~0ull);
	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	/*
	 * No SIGCONT, and no later stop that removed it before it was read: the kernel
	 * did not stop us, because our process group is orphaned. A task here would not
	 * have stopped either.
	 */
	if (stub_take_cont() || pending & stops) {
		feed_look(s);
	} else if ((sig == SIGTTIN || sig == SIGTTOU) && s->terminal >= 0 && !s->orphaned) {
		/* Else the terminal would stop it again at once, endlessly. */
		uint8_t payload[4];

		frame_put_u32(payload, 1);
		stub_send(s, FRAME_FOREGROUND, payload, sizeof(payload));
		s->foreground = true;
		s->orphaned = true;
	}
	stub_send_signal(s, SIGCONT, true);
}

void stub_die(int sig)
{
	static const struct rlimit none;

	/* A core dump of the stub is of no use. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	stub_set_default(sig);
	kill(getpid(), sig);
	stub_mask(~STUB_BIT(sig));
	/* Reached only where signals cannot kill: in the first process of a PID namespace. */
	_exit(128 + sig);
}
