// SPDX-License-Identifier: GPL-2.0-or-later
/* What the program would have inherited, taken from this process and sent to the agent. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stub.h"
#include "wire/descriptors.h"

static uint32_t count(char *const *list)
{
	uint32_t n = 0;

	while (list[n])
		n++;
	return n;
}

/* The descriptors that are open go along in ascending order. */
static int take_descriptors(struct stub *s, struct job_spec *spec, int fds[3])
{
	int pair[2], n = 0;

	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		spec->flags |= JOB_FD(fd);
		if (isatty(fd))
			spec->flags |= JOB_TTY(fd);
		fds[n++] = fd;
	}
	if (spec->flags & JOB_TTY(0)) {
		/* A socket: a write into it when the task has closed its end raises no SIGPIPE. */
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			return -errno;
		s->feed = stub_above_2(pair[0]);
		fds[0] = stub_above_2(pair[1]);
		if (s->feed < 0 || fds[0] < 0)
			return -EMFILE;
	}
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
	uint8_t *frame;
	size_t size;
	int fds[3], nfds, ret;

	memset(&spec, 0, sizeof(spec));
	nfds = take_descriptors(s, &spec, fds);
	if (nfds < 0)
		return nfds;
	/* Deleted, or out of reach of this root: nobody else can enter it. */
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
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		spec.flags |= JOB_NO_NEW_PRIVS;
	if (s->explicit)
		spec.flags |= JOB_EXPLICIT;
	if (s->retry)
		spec.flags |= JOB_RETRY;
	spec.flags |= JOB_VIEW(s->view);

	size = job_encoded_size(&spec);
	if (!size)
		return -E2BIG;
	/* Given back at once: the stub stays for as long as the task runs. */
	frame = mmap(NULL, FRAME_HEADER + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (frame == MAP_FAILED)
		return -errno;
	frame_header(frame, FRAME_JOB, size);
	job_encode(&spec, frame + FRAME_HEADER);
	ret = send_all(s->socket, frame, FRAME_HEADER + size, fds, nfds);
	munmap(frame, FRAME_HEADER + size);
	if (spec.flags & JOB_TTY(0))
		close(fds[0]);
	return ret;
}
