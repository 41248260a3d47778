// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Was a signal sent to the stub, or to its process group? Nothing that the kernel says of it tells. So
 * the stub has a child in its group, which has no descriptors and does nothing but take signals: what
 * both have got was the group's.
 *
 * The kernel signals the members of a group one after the other, the newest first. The witness is
 * newer than the stub, which cannot join another group after its exec. So it has each signal of the
 * group before the stub has, and only has to be asked.
 */
#include "witness.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Signals of lower numbers are taken first: what was sent before the question is counted before it. */
#define WITNESS_ASK CALLS_SIGNALS
#define WITNESS_QUEUED 32 /* the first signal that may be pending more than once */
#define WITNESS_ANSWER_MS 1000 /* it may be stopped, or the machine be slow */

/* Of linux/futex.h, which musl has not. */
#define WITNESS_FUTEX_WAIT 0
#define WITNESS_FUTEX_WAKE 1

/** Shared with it. */
struct witness_page {
	atomic_uint answer; /* to this question */
	atomic_uint seen[CALLS_SIGNALS + 1]; /* by signal */
};

/* ---- the witness ---- */

static void witness_answer(struct witness_page *page, unsigned int question)
{
	atomic_store(&page->answer, question);
	syscall(SYS_futex, &page->answer, WITNESS_FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void __attribute__((noreturn)) witness_run(struct witness_page *page, pid_t stub)
{
	const uint64_t all = ~0ull;
	siginfo_t info;
	int sig;

	/* It must not be taken for the program by its name, nor outlive the stub. */
	prctl(PR_SET_NAME, "ehwitness");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != stub)
		_exit(0);
	syscall(SYS_close_range, 0u, ~0u, 0u);
	for (;;) {
		sig = syscall(SYS_rt_sigtimedwait, &all, &info, NULL, sizeof(all));
		if (sig <= 0)
			continue;
		if (sig == WITNESS_ASK && info.si_code == SI_QUEUE && info.si_pid == stub)
			witness_answer(page, info.si_value.sival_int);
		else if (info.si_code == SI_USER && info.si_pid != stub)
			atomic_fetch_add(&page->seen[sig], 1);
	}
}

/* ---- the stub ---- */

void witness_start(struct witness *w)
{
	const pid_t stub = getpid();

	w->page = mmap(NULL, sizeof(*w->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (w->page == MAP_FAILED) {
		w->page = NULL;
		return;
	}
	/* As fork(), but its end is not told by SIGCHLD, which the program here could get. */
	w->pid = syscall(SYS_clone, 0ul, 0ul, 0ul, 0ul, 0ul);
	if (!w->pid)
		witness_run(w->page, stub);
}

/* Whether it has counted all that it has got up to now. */
static bool witness_ask(struct witness *w)
{
	const unsigned int question = ++w->asked;
	const int64_t until = calls_now() + WITNESS_ANSWER_MS;
	siginfo_t ask = { .si_signo = WITNESS_ASK, .si_code = SI_QUEUE };
	unsigned int answer;
	struct timespec t;
	int64_t left;

	ask.si_pid = getpid();
	ask.si_uid = getuid();
	ask.si_value.sival_int = question;
	if (syscall(SYS_rt_sigqueueinfo, w->pid, WITNESS_ASK, &ask))
		return false;
	while ((answer = atomic_load(&w->page->answer)) != question) {
		left = until - calls_now();
		if (left <= 0)
			return false;
		t = (struct timespec){ left / 1000, left % 1000 * 1000000 };
		syscall(SYS_futex, &w->page->answer, WITNESS_FUTEX_WAIT, answer, &t, NULL, 0);
	}
	return true;
}

bool witness_saw(struct witness *w, int sig)
{
	unsigned int seen;

	if (w->pid <= 0)
		return false;
	if (!witness_ask(w)) {
		/* Stopped with the group, and only the stub was continued; or killed. */
		kill(w->pid, SIGCONT);
		if (waitpid(w->pid, NULL, WNOHANG | __WALL) == w->pid)
			w->pid = 0;
		return false;
	}
	seen = atomic_load(&w->page->seen[sig]);
	if (seen == w->used[sig])
		return false;
	/* Of others, those that come while one is pending are one. */
	w->used[sig] = sig < WITNESS_QUEUED ? seen : w->used[sig] + 1;
	return true;
}

void witness_dismiss(struct witness *w)
{
	if (w->pid > 0)
		kill(w->pid, SIGKILL);
}

void witness_end(struct witness *w)
{
	witness_dismiss(w);
	while (w->pid > 0 && waitpid(w->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	w->pid = 0;
}
