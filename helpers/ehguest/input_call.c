// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether the system call that a thread waits in reads from a pipe or a terminal. */

#include "input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "helpers/end/text.h"

#define INPUT_POLLS 64 /* entries of poll() that are looked at at once */
#define INPUT_SELECTS 1024 /* descriptors that select() is asked about */
#define INPUT_VECTORS 64 /* parts of a readv() that are counted */

struct input_call {
	const struct input_source *source;
	long pid, tid;
	long number;
	unsigned long long argument[6], sp;
};

/* Whether its descriptor `fd` is what we look for. By the link: stat() of another file may wait. */
static bool call_is_it(const struct input_call *c, const char *fd)
{
	char name[96], link[256];
	const char *last;
	struct stat st;
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/fd/%.20s", c->pid, c->tid, fd);
	n = readlink(name, link, sizeof(link) - 1);
	if (n < 0)
		return false;
	link[n] = '\0';
	if (!c->source->terminal) {
		const char *kind = c->source->socket ? "socket:[" : "pipe:[";
		size_t length = strlen(kind);

		return !strncmp(link, kind, length) &&
		       strtoull(link + length, NULL, 10) == c->source->inode;
	}
	if (!strcmp(link, "/dev/tty"))
		return true;
	/* /dev/pts/N; in another mount namespace it may have another name. */
	last = strrchr(link, '/');
	if (!last || (strncmp(link, "/dev/", 5) && (last[1] < '0' || last[1] > '9')))
		return false;
	return !stat(name, &st) && S_ISCHR(st.st_mode) &&
	       (st.st_rdev == c->source->device || !strcmp(last, "/tty"));
}

static bool call_is_fd(const struct input_call *c, int fd)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", fd);
	return fd >= 0 && call_is_it(c, text);
}

/*
 * Whether a thread that may not be looked at has no memory any more: one that is about to end belongs
 * to root in /proc, just as one that hides, but it reads nothing.
 */
static bool input_is_over(long pid, long tid)
{
	unsigned long pages = 1;
	char name[80];
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/statm", pid, tid);
	f = fopen(name, "re");
	if (!f)
		return errno == ENOENT || errno == ESRCH;
	/* It has ended since, if nothing can be read. */
	if (fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return !pages;
}

/* Whether any of its descriptors is. */
static bool call_has_it(const struct input_call *c)
{
	struct dirent *entry;
	bool has = false;
	char name[80];
	DIR *dir;

	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/fd", c->pid, c->tid);
	dir = opendir(name);
	if (!dir)
		return errno != ENOENT && !input_is_over(c->pid, c->tid); /* it may have it */
	while (!has && (entry = readdir(dir)))
		has = entry->d_name[0] != '.' && call_is_it(c, entry->d_name);
	closedir(dir);
	return has;
}

static bool call_memory(const struct input_call *c, unsigned long long at, void *to, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };

	return process_vm_readv(c->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

/* ---- what it waits in ---- */

static const struct input_wish nothing = { 0 };
/* It is to become readable: what is then read is asked for. */
static const struct input_wish readable = { .bytes = 1, .unsure = true };

static struct input_wish call_bytes(size_t n)
{
	return (struct input_wish){ .bytes = n };
}

/* It may wait for our source, if it has that at all. */
static struct input_wish call_unknown(const struct input_call *c)
{
	return (struct input_wish){ .unsure = call_has_it(c) };
}

static struct input_wish call_polls(const struct input_call *c)
{
	unsigned long long count = c->argument[1];
	struct pollfd fds[INPUT_POLLS];

	for (unsigned long long from = 0; from < count; from += INPUT_POLLS) {
		size_t n = count - from < INPUT_POLLS ? count - from : INPUT_POLLS;

		if (!call_memory(c, c->argument[0] + from * sizeof(*fds), fds, n * sizeof(*fds)))
			return call_unknown(c);
		for (size_t i = 0; i < n; i++)
			if (fds[i].events & (POLLIN | POLLRDNORM) && call_is_fd(c, fds[i].fd))
				return readable;
	}
	return nothing;
}

static struct input_wish call_selects(const struct input_call *c)
{
	unsigned long words[INPUT_SELECTS / 8 / sizeof(long)];
	unsigned int bits = 8 * sizeof(long), n = c->argument[0];

	if (!c->argument[1])
		return nothing;
	if (n > INPUT_SELECTS)
		n = INPUT_SELECTS;
	if (!call_memory(c, c->argument[1], words, (n + bits - 1) / bits * sizeof(long)))
		return call_unknown(c);
	for (unsigned int fd = 0; fd < n; fd++)
		if (words[fd / bits] >> fd % bits & 1 && call_is_fd(c, fd))
			return readable;
	return nothing;
}

/* The lines of what an epoll descriptor watches are "tfd: N events: HEX …". */
static struct input_wish call_watches(const struct input_call *c)
{
	char name[96], line[256];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/fdinfo/%d", c->pid, c->tid,
		 (int)c->argument[0]);
	f = fopen(name, "re");
	if (!f)
		return call_unknown(c);
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned int events;
		int fd;

		if (sscanf(line, "tfd: %d events: %x", &fd, &events) == 2)
			found = events & POLLIN && call_is_fd(c, fd);
	}
	fclose(f);
	return found ? readable : nothing;
}

/* The room in `count` vectors; of more than INPUT_VECTORS less, and it reads again. */
static struct input_wish call_vectors(const struct input_call *c, unsigned long long at,
				      unsigned long long count)
{
	struct iovec all[INPUT_VECTORS];
	size_t n = count < INPUT_VECTORS ? count : INPUT_VECTORS, bytes = 0;

	if (!n)
		return nothing;
	if (!call_memory(c, at, all, n * sizeof(*all)))
		return call_unknown(c);
	for (size_t i = 0; i < n; i++) {
		if (all[i].iov_len > SSIZE_MAX - bytes)
			return nothing; /* no call takes so much */
		bytes += all[i].iov_len;
	}
	return call_bytes(bytes);
}

/* Of several messages the first, as a stream fills it before the next. */
static struct input_wish call_message(const struct input_call *c)
{
	struct msghdr m;

	if (!call_memory(c, c->argument[1], &m, sizeof(m)))
		return call_unknown(c);
	return call_vectors(c, (uintptr_t)m.msg_iov, m.msg_iovlen);
}

/* Whether what it reads stays there, or it has some of it already. */
static bool call_leaves(const struct input_call *c)
{
	switch (c->number) {
	case SYS_tee:
		return true;
	case SYS_recvfrom:
	case SYS_recvmmsg:
		return c->argument[3] & (MSG_PEEK | MSG_WAITALL);
	case SYS_recvmsg:
		return c->argument[2] & (MSG_PEEK | MSG_WAITALL);
	default:
		return false;
	}
}

/* How much one waits for that reads. */
static struct input_wish call_room(const struct input_call *c)
{
	const unsigned long long *a = c->argument;

	switch (c->number) {
	case SYS_read:
	case SYS_recvfrom:
		return call_bytes(a[2]);
	case SYS_sendfile:
		return call_bytes(a[3]);
	case SYS_splice:
		return call_bytes(a[4]);
	case SYS_recvmsg:
	case SYS_recvmmsg:
		return call_message(c);
	default:
		return call_vectors(c, a[1], a[2]);
	}
}

/* Of one that reads from this descriptor. */
static struct input_wish call_reads(const struct input_call *c, int fd)
{
	struct input_wish wish;

	if (!call_is_fd(c, fd))
		return nothing;
	if (call_leaves(c))
		return readable;
	wish = call_room(c);
	/* Without room it waits all the same. */
	return wish.bytes || wish.unsure ? wish : readable;
}

static struct input_wish call_wants(const struct input_call *c)
{
	/* 32-bit programs use other call numbers; their stack is below 4 GiB. */
	if (c->sp <= UINT32_MAX)
		return call_unknown(c);
	switch (c->number) {
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
		return c->source->socket ? call_reads(c, c->argument[0]) : nothing;
	case SYS_read:
	case SYS_readv:
	case SYS_preadv:
#ifdef SYS_preadv2
	case SYS_preadv2:
#endif
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
		return call_reads(c, c->argument[0]);
	case SYS_sendfile:
		return call_reads(c, c->argument[1]);
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		return call_polls(c);
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return call_selects(c);
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_epoll_pwait:
		return call_watches(c);
	case SYS_io_uring_enter:
	case SYS_restart_syscall: /* of poll(), after a stop: its arguments are not there any more */
		return call_unknown(c);
	default:
		return nothing;
	}
}

/* Whether a process has it open by a descriptor that does not wait. Its threads have the same ones. */
static struct input_wish call_opened(const struct input_call *c)
{
	struct dirent *entry;
	char name[96];
	unsigned int flags;
	bool found = false;
	FILE *f;
	DIR *dir;

	snprintf(name, sizeof(name), "/proc/%ld/fd", c->pid);
	dir = c->pid == c->tid ? opendir(name) : NULL;
	while (dir && !found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !call_is_it(c, entry->d_name))
			continue;
		snprintf(name, sizeof(name), "/proc/%ld/fdinfo/%.20s", c->pid, entry->d_name);
		f = fopen(name, "re");
		if (!f)
			continue;
		found = fscanf(f, "pos: %*d flags: %o", &flags) == 1 && flags & O_NONBLOCK &&
			(flags & O_ACCMODE) != O_WRONLY;
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return call_bytes(found);
}

/* The line is "NUMBER ARGUMENTS… SP PC", "running", or "-1 SP PC" outside system calls. */
struct input_wish input_thread(const struct input_source *source, long pid, long tid)
{
	struct input_call c = { .source = source, .pid = pid, .tid = tid };
	struct input_wish hidden = { 0 };
	char name[80], text[256], *at = text;
	ssize_t n;

	if (source->opened)
		return call_opened(&c);
	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/syscall", pid, tid);
	n = text_read(AT_FDCWD, name, text, sizeof(text));
	/* Such as sudo, or one in the middle of its exec: nothing shows whether it waits. */
	hidden.unsure = (n == -EACCES || n == -EPERM) && !input_is_over(pid, tid);
	if (n <= 0)
		return hidden;
	c.number = strtol(at, &at, 10);
	if (at == text || c.number < 0)
		return nothing;
	for (int i = 0; i < 6; i++)
		c.argument[i] = strtoull(at, &at, 16);
	c.sp = strtoull(at, &at, 16);
	return call_wants(&c);
}
