// SPDX-License-Identifier: GPL-2.0-or-later
/* Collects what the program would have inherited from this process, and sends it to the agent. */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "descriptor.h"
#include "helpers/end/calls.h"
#include "helpers/end/look.h"
#include "helpers/end/names.h"
#include "helpers/end/open.h"
#include "helpers/end/text.h"
#include "signals.h"
#include "stub.h"

#define JOB_KCMP_FILE 0ul /* of linux/kcmp.h, which musl has not */
#define CORE_FILTER 0x33 /* the kernel's default, if there is no /proc */

static uint32_t count(char *const *list)
{
	uint32_t n = 0;

	while (list[n])
		n++;
	return n;
}

static void take_terminal(struct stub *s, struct job_spec *spec)
{
	struct tty *t = &s->tty;

	t->foreground = tcgetpgrp(t->fd) == getpgrp();
	if (!t->foreground)
		spec->flags |= JOB_BACKGROUND;
	/* Hung up meanwhile: then operations on it fail on the executor too. */
	if (terminal_get(t->fd, &t->first))
		memset(&t->first, 0, sizeof(t->first));
	t->last = spec->terminal = t->first;
}

static bool is_null(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* Whether 1 and 2 are the same open file, so that the order of output matters. */
static bool is_merged(void)
{
	pid_t me = getpid();

	return !syscall(SYS_kcmp, me, me, JOB_KCMP_FILE, 1ul, 2ul);
}

static void take_descriptors(struct stub *s, struct job_spec *spec)
{
	for (int fd = 0; fd < 3; fd++) {
		if (!(s->opens.usual >> fd & 1))
			continue;
		spec->flags |= JOB_FD(fd);
		if (is_null(fd))
			spec->flags |= JOB_NULL(fd);
		/* Only for the controlling terminal: that of another session has no job control. */
		if (s->no_terminal || tcgetpgrp(fd) < 0 || descriptor_is_master(fd))
			continue;
		spec->flags |= JOB_TTY(fd);
		if (s->tty.fd < 0)
			s->tty.fd = fd;
	}
	/* If it is none of them: programs ask for passwords there, pagers take their keys. */
	if (s->tty.fd < 0 && !s->no_terminal)
		s->tty.fd = open_above_2(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
	if (spec->flags & JOB_FD(1) && spec->flags & JOB_FD(2) && is_merged())
		spec->flags |= JOB_MERGED;
	if (s->tty.fd < 0)
		return;
	spec->flags |= JOB_CTTY;
	take_terminal(s, spec);
}

static uint64_t core_filter(void)
{
	char text[32];

	return text_read(AT_FDCWD, "/proc/self/coredump_filter", text, sizeof(text)) > 0
		       ? strtoull(text, NULL, 16)
		       : CORE_FILTER;
}

/* What the kernel tells only to the process itself. The agent asks for the rest. */
static void take_traits(struct job_spec *spec)
{
	int subreaper = 0;

	spec->traits[JOB_SECUREBITS] = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
	if (!prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0))
		spec->traits[JOB_SUBREAPER] = subreaper;
	spec->traits[JOB_PERSONALITY] = personality(0xffffffff);
	spec->traits[JOB_CORE_FILTER] = core_filter();
	spec->traits[JOB_TIMER_SLACK] = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
}

static int send_all(struct stub *s, const uint8_t *data, size_t length, int64_t limit)
{
	struct pollfd fds[2] = { { .fd = s->session.hop.socket, .events = POLLOUT },
				 { .fd = s->ending, .events = POLLIN } };
	int64_t left;
	ssize_t n;

	while (length) {
		n = send(s->session.hop.socket, data, length, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0) {
			data += n;
			length -= n;
			continue;
		}
		left = limit - calls_now();
		if (left <= 0 || poll(fds, 2, left) == 0)
			return -ETIMEDOUT;
		if (fds[1].revents)
			return -EINTR;
	}
	return 0;
}

void stub_name_files(struct stub *s)
{
	const size_t room = FRAME_HEADER + FRAME_NAMED_MAX;
	uint8_t *frame;
	size_t length;

	/* A user who names the node knows best. Otherwise files in the arguments must exist there. */
	if (s->explicit)
		return;
	frame = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (frame == MAP_FAILED)
		return;
	length = names_make(s->argv, frame + FRAME_HEADER);
	if (!length) {
		munmap(frame, room);
		return;
	}
	frame_header(frame, FRAME_NAMED, length);
	s->named = frame;
	s->named_length = FRAME_HEADER + length;
}

/* Freed at once: the stub stays in memory as long as the task runs. */
static int send_named(struct stub *s, int64_t until)
{
	int ret;

	if (!s->named)
		return 0;
	ret = send_all(s, s->named, s->named_length, until);
	munmap(s->named, FRAME_HEADER + FRAME_NAMED_MAX);
	s->named = NULL;
	return ret;
}

int stub_send_job(struct stub *s, int64_t until)
{
	char cwd[PATH_MAX];
	struct job_spec spec;
	uint8_t *frame;
	size_t size, seen;
	int ret;

	memset(&spec, 0, sizeof(spec));
	take_descriptors(s, &spec);
	/* Deleted, or outside this root: no other process can enter it. */
	if (!getcwd(cwd, sizeof(cwd)) || cwd[0] != '/')
		return -ENOENT;
	spec.token = s->token;
	spec.path = s->path;
	spec.cwd = cwd;
	spec.argc = count(s->argv);
	spec.argv = (const char **)s->argv;
	spec.envp = (const char **)(s->opens.environment ? s->opens.environment : environ);
	spec.envc = count((char *const *)spec.envp);
	spec.nfiles = s->opens.nfiles;
	spec.files = s->opens.files;
	spec.ndescriptors = s->opens.ndescriptors;
	spec.descriptors = s->opens.descriptors;
	spec.umask = umask(0);
	umask(spec.umask);
	spec.nice = getpriority(PRIO_PROCESS, 0);
	for (int i = 0; i < JOB_RLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit(i, &limit))
			return -errno;
		if (i == RLIMIT_NOFILE)
			limit = s->files;
		spec.rlimit[i][0] = limit.rlim_cur;
		spec.rlimit[i][1] = limit.rlim_max;
	}
	spec.sigmask = s->sigmask;
	spec.sigignore = signals_ignored();
	take_traits(&spec);
	if (s->explicit)
		spec.flags |= JOB_EXPLICIT;
	if (s->retry)
		spec.flags |= JOB_RETRY;
	spec.flags |= JOB_VIEW(s->view);
	s->flags = spec.flags;

	size = job_encoded_size(&spec);
	if (!size)
		return -E2BIG;
	/* Without a verdict its agent wants to know what the program is. */
	seen = spec.token[0] == '@' ? LOOK_FRAME : 0;
	size += seen + FRAME_HEADER;
	frame = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (frame == MAP_FAILED)
		return -errno;
	if (seen)
		look_make(".", s->path, frame);
	frame_header(frame + seen, FRAME_JOB, size - seen - FRAME_HEADER);
	job_encode(&spec, frame + seen + FRAME_HEADER);
	ret = send_named(s, until);
	if (!ret)
		ret = send_all(s, frame, size, until);
	munmap(frame, size);
	return ret;
}
