// SPDX-License-Identifier: GPL-2.0-or-later
/* Collects what the program would have inherited from this process, and sends it to the agent. */
#include "stub.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "wire/descriptors.h"

static uint32_t count(char *const *list)
{
	uint32_t n = 0;

	while (list[n])
		n++;
	return n;
}

static void take_terminal(struct stub *s, struct job_spec *spec)
{
	struct terminal *t = &spec->terminal;
	struct winsize size = { 0 };
	pid_t group = tcgetpgrp(s->terminal);

	s->foreground = group == getpgrp();
	if (!s->foreground)
		spec->flags |= JOB_BACKGROUND;
	/* Hung up meanwhile: then operations on it fail on the executor too. */
	if (tcgetattr(s->terminal, &s->modes) || ioctl(s->terminal, TIOCGWINSZ, &size))
		return;
	terminal_from_termios(t, &s->modes);
	t->rows = size.ws_row;
	t->columns = size.ws_col;
	t->width = size.ws_xpixel;
	t->height = size.ws_ypixel;
}

/* The open descriptors are sent in ascending order. */
static int take_descriptors(struct stub *s, struct job_spec *spec, int fds[3])
{
	int n = 0;

	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		spec->flags |= JOB_FD(fd);
		fds[n++] = fd;
		/* Only for the controlling terminal: that of another session has no job control. */
		if (tcgetpgrp(fd) < 0)
			continue;
		spec->flags |= JOB_TTY(fd);
		if (s->terminal < 0)
			s->terminal = fd;
	}
	if (spec->flags & JOB_TTY(0))
		s->feed = FEED_IDLE;
	if (s->terminal >= 0)
		take_terminal(s, spec);
	s->ttys = spec->flags & JOB_TTYS;
	return n;
}

static int send_all(int socket, const uint8_t *data, size_t length, int *fds, int nfds)
{
	union descriptors room;
	struct iovec iov = { (void *)data, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	descriptors_put(&msg, &room, fds, nfds);
	while (iov.iov_len) {
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
		if (n < 0)
			return -errno;
		iov.iov_base = (char *)iov.iov_base + n;
		iov.iov_len -= n;
		msg.msg_control = NULL;
		msg.msg_controllen = 0;
	}
	return 0;
}

int stub_send_job(struct stub *s)
{
	static char cwd[PATH_MAX];
	struct job_spec spec;
	int subreaper = 0;
	uint8_t *frame;
	size_t size;
	int fds[3], nfds, ret;

	memset(&spec, 0, sizeof(spec));
	nfds = take_descriptors(s, &spec, fds);
	/* Deleted, or outside this root: no other process can enter it. */
	if (!getcwd(cwd, sizeof(cwd)) || cwd[0] != '/')
		return -ENOENT;
	spec.token = s->token;
	spec.path = s->path;
	spec.cwd = cwd;
	spec.argc = count(s->argv);
	spec.argv = (const char **)s->argv;
	spec.envc = count(environ);
	spec.envp = (const char **)environ;
	spec.umask = umask(0);
	umask(spec.umask);
	spec.nice = getpriority(PRIO_PROCESS, 0);
	for (int i = 0; i < JOB_RLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit(i, &limit))
			return -errno;
		spec.rlimit[i][0] = limit.rlim_cur;
		spec.rlimit[i][1] = limit.rlim_max;
	}
	spec.sigmask = s->sigmask;
	spec.sigignore = stub_ignored();
	/* The agent asks the kernel for the others; these the kernel tells only to the process itself. */
	spec.traits[JOB_SECUREBITS] = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
	if (!prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0))
		spec.traits[JOB_SUBREAPER] = subreaper;
	if (s->explicit)
		spec.flags |= JOB_EXPLICIT;
	if (s->retry)
		spec.flags |= JOB_RETRY;
	spec.flags |= JOB_VIEW(s->view);

	size = job_encoded_size(&spec);
	if (!size)
		return -E2BIG;
	/* Freed at once: the stub stays in memory as long as the task runs. */
	frame = mmap(NULL, FRAME_HEADER + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (frame == MAP_FAILED)
		return -errno;
	frame_header(frame, FRAME_JOB, size);
	job_encode(&spec, frame + FRAME_HEADER);
	ret = send_all(s->socket, frame, FRAME_HEADER + size, fds, nfds);
	munmap(frame, FRAME_HEADER + size);
	return ret;
}
