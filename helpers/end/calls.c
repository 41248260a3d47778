// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/end/calls.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel's struct sigaction begins with the handler; all zero is SIG_DFL. */
struct calls_action {
	uintptr_t handler, rest[7];
};

int64_t calls_now(void)
{
	return calls_us() / 1000;
}

uint64_t calls_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

uint64_t calls_mask(uint64_t set)
{
	uint64_t old = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, &old, sizeof(set));
	return old;
}

int calls_signalfd(uint64_t set)
{
	return syscall(SYS_signalfd4, -1, &set, sizeof(set), SFD_CLOEXEC | SFD_NONBLOCK);
}

bool calls_ignores(int sig)
{
	struct calls_action act;

	return !syscall(SYS_rt_sigaction, sig, NULL, &act, sizeof(uint64_t)) &&
	       act.handler == (uintptr_t)SIG_IGN;
}

bool calls_take(int sig)
{
	const uint64_t set = 1ull << (sig - 1);
	const struct timespec now = { 0, 0 };

	return syscall(SYS_rt_sigtimedwait, &set, NULL, &now, sizeof(set)) == sig;
}

void calls_set_action(int sig, bool ignore)
{
	struct calls_action act;

	memset(&act, 0, sizeof(act));
	act.handler = (uintptr_t)(ignore ? SIG_IGN : SIG_DFL);
	syscall(SYS_rt_sigaction, sig, &act, NULL, sizeof(uint64_t));
}
