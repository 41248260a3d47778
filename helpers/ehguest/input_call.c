// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether the system call that a thread waits in reads from a pipe or a terminal. */

#include "input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define INPUT_POLLS 64 /* entries of poll() that are looked at at once */
#define INPUT_SELECTS 1024 /* descriptors that select() is asked about */

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
		return errno != ENOENT && !input_is_over(c->pid, c->tid); /* may not be seen */
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

static bool call_polls(const struct input_call *c)
{
	unsigned long long count = c->argument[1];
	struct pollfd fds[INPUT_POLLS];

	for (unsigned long long from = 0; from < count; from += INPUT_POLLS) {
		size_t n = count - from < INPUT_POLLS ? count - from : INPUT_POLLS;

		if (!call_memory(c, c->argument[0] + from * sizeof(*fds), fds, n * sizeof(*fds)))
			return call_has_it(c);
		for (size_t i = 0; i < n; i++)
			if (fds[i].events & (POLLIN | POLLRDNORM) && call_is_fd(c, fds[i].fd))
				return true;
	}
	return false;
}

static bool call_selects(const struct input_call *c)
{
	unsigned long words[INPUT_SELECTS / 8 / sizeof(long)];
	unsigned int bits = 8 * sizeof(long), n = c->argument[0];

	if (!c->argument[1])
		return false;
	if (n > INPUT_SELECTS)
		n = INPUT_SELECTS;
	if (!call_memory(c, c->argument[1], words, (n + bits - 1) / bits * sizeof(long)))
		return call_has_it(c);
	for (unsigned int fd = 0; fd < n; fd++)
		if (words[fd / bits] >> fd % bits & 1 && call_is_fd(c, fd))
			return true;
	return false;
}

/* The lines of what an epoll descriptor watches are "tfd: N events: HEX …". */
static bool call_watches(const struct input_call *c)
{
	char name[96], line[256];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/fdinfo/%d", c->pid, c->tid,
		 (int)c->argument[0]);
	f = fopen(name, "re");
	if (!f)
		return call_has_it(c);
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned int events;
		int fd;

		if (sscanf(line, "tfd: %d events: %x", &fd, &events) == 2)
			found = events & POLLIN && call_is_fd(c, fd);
	}
	fclose(f);
	return found;
}

static size_t call_wants(const struct input_call *c)
{
	const size_t unknown = c->source->unknown;

	/* 32-bit programs use other call numbers; their stack is below 4 GiB. */
	if (c->sp <= UINT32_MAX)
		return call_has_it(c) ? unknown : 0;
	switch (c->number) {
	case SYS_read:
		return call_is_fd(c, c->argument[0]) ? c->argument[2] : 0;
	case SYS_recvfrom:
		return c->source->socket && call_is_fd(c, c->argument[0]) ? c->argument[2] : 0;
	case SYS_recvmsg:
	case SYS_recvmmsg:
		return c->source->socket && call_is_fd(c, c->argument[0]) ? unknown : 0;
	case SYS_readv:
	case SYS_preadv:
#ifdef SYS_preadv2
	case SYS_preadv2:
#endif
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
		return call_is_fd(c, c->argument[0]) ? unknown : 0;
	case SYS_sendfile:
		return call_is_fd(c, c->argument[1]) ? unknown : 0;
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		return call_polls(c) ? unknown : 0;
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return call_selects(c) ? unknown : 0;
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_epoll_pwait:
		return call_watches(c) ? unknown : 0;
	case SYS_io_uring_enter:
		return call_has_it(c) ? unknown : 0;
	default:
		return 0;
	}
}

/* The line is "NUMBER ARGUMENTS… SP PC", "running", or "-1 SP PC" outside system calls. */
size_t input_thread(const struct input_source *source, long pid, long tid)
{
	struct input_call c = { .source = source, .pid = pid, .tid = tid };
	char name[80], text[256], *at = text;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/syscall", pid, tid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	/* One that may not be seen, such as sudo, may wait. */
	if (n < 0)
		n = (errno == EACCES || errno == EPERM) && !input_is_over(pid, tid) ? 0 : -1;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return n ? 0 : source->unknown;
	text[n] = '\0';
	c.number = strtol(at, &at, 10);
	if (at == text || c.number < 0)
		return 0;
	for (int i = 0; i < 6; i++)
		c.argument[i] = strtoull(at, &at, 16);
	c.sp = strtoull(at, &at, 16);
	return call_wants(&c);
}
