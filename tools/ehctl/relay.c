// SPDX-License-Identifier: GPL-2.0-or-later
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "eh/slots.h"

#define RELAY_SLICE 100000 /* ns: the least that a kernel takes */
#define RELAY_SETTLE_MS 5000 /* only for a relay that is stopped, or was killed */

struct relay_shared {
	atomic_int owed; /* tokens to keep */
	atomic_bool busy; /* it may have tokens in its hand */
};

/* ---- its process ---- */

/* Where it finds its descriptors; all others are closed. */
enum { NONE, BACK = 3, WRITE, READ, CONTROL, FDS };

static void relay_descriptors(const struct tokens *t, int control)
{
	const int fds[FDS] = { [BACK] = t->back < 0 ? t->read : t->back,
			       [WRITE] = t->write,
			       [READ] = t->read,
			       [CONTROL] = control };
	int high[FDS], i;

	for (i = BACK; i < FDS; i++)
		high[i] = fcntl(fds[i], F_DUPFD, FDS);
	for (i = BACK; i < FDS; i++)
		if (high[i] < 0 || dup2(high[i], i) < 0)
			_exit(1);
	syscall(SYS_close_range, (unsigned int)FDS, ~0u, 0u);
	i = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		if (i < 0 || dup2(i, fd) < 0)
			close(fd);
	if (i > 2)
		close(i);
}

/* A make waits for it, and is woken by it: a short turn is one that comes soon (since Linux 6.12). */
static void relay_hurry(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} how = { .size = sizeof(how),
		  .policy = SCHED_OTHER,
		  .nice = getpriority(PRIO_PROCESS, 0),
		  .runtime = RELAY_SLICE };

	if (sched_getscheduler(0) == SCHED_OTHER)
		syscall(SYS_sched_setattr, 0, &how, 0);
}

/* How many of n are to be kept. */
static int relay_keep(struct relay_shared *s, int n)
{
	int owed = atomic_load(&s->owed), keep;

	do
		keep = owed < 0 ? 0 : owed < n ? owed : n;
	while (keep && !atomic_compare_exchange_weak(&s->owed, &owed, owed - keep));
	return keep;
}

/* From one pipe to the other. */
static void relay_hand_on(struct relay_shared *s, bool keeper)
{
	char bytes[EH_SLOTS_MAX];
	int n, keep;

	atomic_store(&s->busy, true);
	n = (int)read(BACK, bytes, sizeof(bytes));
	keep = n > 0 && keeper ? relay_keep(s, n) : 0;
	/* There is room for all tokens that a build can have, and more; what is put in beyond is none. */
	if (n > keep && write(WRITE, bytes + keep, n - keep) < 0 && errno != EAGAIN)
		_exit(1);
	atomic_store(&s->busy, false);
}

/* What somebody has just put into a FIFO. */
static void relay_snatch(struct relay_shared *s)
{
	char byte;

	while (atomic_load(&s->owed) > 0 && read(BACK, &byte, 1) == 1)
		atomic_fetch_sub(&s->owed, 1);
}

static _Noreturn void relay_run(struct relay_shared *s, bool fifo)
{
	bool keeper = true;
	char word[64];

	for (;;) {
		const bool reads = !fifo || atomic_load(&s->owed) > 0;
		struct pollfd on[] = { { .fd = reads ? BACK : -1, .events = POLLIN },
				       { .fd = keeper ? CONTROL : -1, .events = POLLIN } };

		if (poll(on, 2, -1) < 0)
			continue;
		if (on[0].revents & POLLIN && fifo)
			relay_snatch(s);
		else if (on[0].revents & POLLIN)
			relay_hand_on(s, keeper);
		else if (on[0].revents)
			_exit(0); /* nobody is left who could put one back */
		if (on[1].revents && read(CONTROL, word, sizeof(word)) <= 0)
			keeper = false;
		if (fifo && !keeper)
			_exit(0);
	}
}

static _Noreturn void relay_process(struct relay_shared *s, const struct tokens *t, int control)
{
	/* It ends when the makes have ended; until then these put back tokens, whatever they are told. */
	static const int ignored[] = {
		SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE
	};

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	relay_descriptors(t, control);
	relay_hurry();
	if (chdir("/"))
		_exit(1);
	relay_run(s, t->back < 0);
}

/* ---- the keeper's side ---- */

int relay_start(struct relay *r, const struct tokens *t)
{
	int control[2], err;

	if (!r->shared) {
		r->shared = mmap(NULL, sizeof(*r->shared), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (r->shared == MAP_FAILED) {
			r->shared = NULL;
			return -errno;
		}
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, control))
		return -errno;
	atomic_store(&r->shared->busy, false);
	r->process = fork();
	if (!r->process) {
		close(control[1]);
		relay_process(r->shared, t, control[0]);
	}
	err = errno;
	close(control[0]);
	r->control = control[1];
	if (r->process > 0)
		return 0;
	r->process = 0;
	close(r->control);
	return -err;
}

void relay_check(struct relay *r, const struct tokens *t)
{
	int status;

	if (r->over || (r->process && waitpid(r->process, &status, WNOHANG) != r->process))
		return;
	if (r->process) {
		close(r->control);
		r->process = 0;
		r->over = WIFEXITED(status) && !WEXITSTATUS(status);
	}
	if (!r->over)
		relay_start(r, t);
}

unsigned int relay_kept(struct relay *r)
{
	const int owed = atomic_load(&r->shared->owed), kept = r->owed - owed;

	r->owed = owed;
	return kept;
}

void relay_owe(struct relay *r, unsigned int tokens)
{
	const int more = (int)tokens - r->owed;

	if (!more)
		return;
	r->owed += more;
	/* One that it has just kept remains kept. */
	atomic_fetch_add(&r->shared->owed, more);
	/* It may wait without looking; if it has ended, relay_check() starts another one. */
	if (tokens && r->process)
		send(r->control, "", 1, MSG_NOSIGNAL);
}

unsigned int relay_reserve(struct relay *r, unsigned int tokens)
{
	const int n = relay_keep(r->shared, (int)tokens);

	r->owed -= n;
	return n;
}

void relay_settle(struct relay *r, const struct tokens *t)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	for (int i = 0; i < RELAY_SETTLE_MS && (tokens_back(t) || atomic_load(&r->shared->busy));
	     i++) {
		relay_check(r, t);
		nanosleep(&moment, NULL);
	}
}

void relay_end(struct relay *r, const struct tokens *t)
{
	struct pollfd on = { .fd = t->back };

	if (r->process) {
		close(r->control);
		/* A FIFO no longer needs it; a pipe as long as a process that was left behind can write. */
		if (t->back < 0 || (poll(&on, 1, 0) == 1 && on.revents & POLLHUP))
			while (waitpid(r->process, NULL, 0) < 0 && errno == EINTR)
				;
	}
	if (r->shared)
		munmap(r->shared, sizeof(*r->shared));
	*r = (struct relay){ .process = 0 };
}
