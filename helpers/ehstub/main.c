// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehstub [--retry] [--view VIEW] TOKEN PATH ARGV0 [ARG]…
 *
 * TOKEN is the number of a placement (from the kernel), "@CODE" or "@auto" (from ehctl). It is no
 * secret, as everybody can read it: the agent gives a placement only to the process it was made for.
 * Any failure before the agent commits ends in an exec of PATH here.
 */
#include "stub.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "wire/descriptors.h"

/* An agent that is stopped or stuck must not hold an exec for ever. */
#define STUB_ANSWER_MS 10000
/* With `ehctl exec` a user waits, and the executor first reads all of a large program. */
#define STUB_EXPLICIT_MS 120000

static void say(const char *const *parts, int n)
{
	struct iovec iov[8];

	for (int i = 0; i < n; i++)
		iov[i] = (struct iovec){ (void *)parts[i], strlen(parts[i]) };
	if (writev(2, iov, n) < 0)
		return; /* nobody can be told */
}

static void complain(const struct stub *s, const char *what, const char *why)
{
	const char *parts[] = { s->explicit ? "ehctl exec: " : "", what, ": ", why, "\n" };

	say(parts, 5);
}

static void __attribute__((noreturn)) run_here(const struct stub *s)
{
	stub_mask(s->sigmask);
	execve(s->path, s->argv, environ);
	/* As execvp() and shells do for a script without a #! line: sh and the path replace argv0. */
	if (errno == ENOEXEC) {
		char **shell = s->argv - 1;

		shell[0] = (char *)"sh";
		shell[1] = (char *)s->path;
		execve("/bin/sh", shell, environ);
		errno = ENOEXEC;
	}
	complain(s, s->path, strerror(errno));
	_exit(errno == ENOENT || errno == ENOTDIR ? 127 : 126);
}

/* A failure here before COMMIT, which is no error of the program. */
static void __attribute__((noreturn)) give_up(const struct stub *s, const char *what, int error)
{
	if (!s->explicit)
		run_here(s);
	complain(s, what, strerror(error));
	_exit(1);
}

/* Moved above 2: descriptors 0-2 may be closed, and the program must find them closed. */
int stub_above_2(int fd)
{
	int high;

	if (fd < 0 || fd > 2)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return high;
}

void stub_send(struct stub *s, enum frame_type type, const void *payload, size_t length)
{
	uint8_t head[FRAME_HEADER];
	struct iovec iov[2] = { { head, sizeof(head) }, { (void *)payload, length } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	frame_header(head, type, length);
	/* If the agent has gone, the next read fails. */
	sendmsg(s->socket, &msg, MSG_NOSIGNAL);
}

static int stub_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(struct ucred);
	struct ucred peer;
	int fd;

	fd = stub_above_2(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return -errno;
	memcpy(address.sun_path + 1, AGENT_SOCKET, sizeof(AGENT_SOCKET) - 1);
	if (connect(fd, (struct sockaddr *)&address,
		    offsetof(struct sockaddr_un, sun_path) + sizeof(AGENT_SOCKET)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return -errno;
	/* Any user can take the name: give a job only to root or to our own user. */
	if (peer.uid && peer.uid != geteuid())
		return -EPERM;
	return fd;
}

/* A header, and the descriptors attached to it. */
static int read_header(struct stub *s, uint8_t head[FRAME_HEADER])
{
	union descriptors room;
	struct iovec iov = { head, FRAME_HEADER };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	descriptors_expect(&msg, &room, sizeof(s->given) / sizeof(int));
	s->ngiven = 0;
	if (recvmsg(s->socket, &msg, MSG_WAITALL | MSG_CMSG_CLOEXEC) != FRAME_HEADER)
		return -1;
	s->ngiven = descriptors_take(&msg, &room, s->given);
	for (int i = 0; i < s->ngiven; i++)
		s->given[i] = stub_above_2(s->given[i]);
	return 0;
}

static int read_all(int fd, uint8_t *to, size_t length)
{
	while (length) {
		ssize_t n = recv(fd, to, length, MSG_WAITALL);

		if (n <= 0)
			return -1;
		to += n;
		length -= n;
	}
	return 0;
}

/* The agent's next frame; agents write whole frames. -1: the agent has gone. */
static int read_frame(struct stub *s, enum frame_type *type, uint8_t *payload, uint32_t *length)
{
	uint8_t head[FRAME_HEADER];

	if (read_header(s, head) || frame_parse(head, type, length) || *length > STUB_TEXT_MAX ||
	    read_all(s->socket, payload, *length))
		return -1;
	payload[*length] = '\0';
	return 0;
}

static void __attribute__((noreturn))
refused(const struct stub *s, const uint8_t *payload, uint32_t length)
{
	/* Reason 0: the requested node is this one. */
	if (!s->explicit || length < 8 || !frame_get_u32(payload))
		run_here(s);
	complain(s, s->token + 1, (const char *)payload + 8);
	_exit(1);
}

/* Returns once the agent has committed; else runs the program here. */
static void wait_commit(struct stub *s, uint8_t *payload)
{
	/* Signals that are not read stay pending, for the program if it runs here after all. */
	uint64_t ignored = stub_ignored() | s->sigmask;
	struct pollfd fds[2] = { { .fd = s->socket, .events = POLLIN }, { .events = POLLIN } };
	enum frame_type type;
	uint32_t length;
	int ready;

	fds[1].fd = stub_above_2(stub_signalfd(STUB_ENDING & ~ignored));
	ready = poll(fds, 2, s->token[0] == '@' ? STUB_EXPLICIT_MS : STUB_ANSWER_MS);
	if (fds[1].fd >= 0)
		close(fds[1].fd);
	/*
	 * No answer. After the shutdown the agent can write nothing more, so a
	 * COMMIT is in the queue now or will never be.
	 */
	if (ready <= 0 || !fds[0].revents)
		shutdown(s->socket, SHUT_RDWR);
	if (read_frame(s, &type, payload, &length))
		give_up(s, "agent of this node", ready > 0 ? ECONNRESET : ETIMEDOUT);
	if (type == FRAME_REFUSED)
		refused(s, payload, length);
	if (type != FRAME_COMMIT)
		give_up(s, "agent of this node", EPROTO);
}

static void __attribute__((noreturn)) ended(const uint8_t *payload, uint32_t length)
{
	struct frame_exit x;

	if (frame_exit_decode(&x, payload, length))
		stub_die(SIGKILL);
	if (x.status & 0x7f)
		stub_die(x.status & 0x7f);
	_exit(x.status >> 8);
}

static void __attribute__((noreturn)) lost(const char *text)
{
	say(&text, 1);
	stub_die(SIGKILL);
}

/* The executor is lost and the user allows a second run: starts again, with the descriptors given back. */
static void __attribute__((noreturn)) rerun(struct stub *s, const uint8_t *payload, uint32_t length)
{
	uint32_t mask = length < 4 ? 0 : frame_get_u32(payload);
	const char *text = (const char *)payload + 4;
	int n = 0;

	if (s->told_to_end)
		lost("ehsched: lost the node after this task was told to end; it is reported as "
		     "killed\n");
	/* The agent may not know yet of input that was just typed. */
	if (length < 4 || s->fed)
		lost("ehsched: lost the node and terminal input with it; this task is reported "
		     "as killed\n");
	for (int fd = 0; fd < 3; fd++) {
		if (!(mask >> fd & 1))
			continue;
		if (n == s->ngiven || dup2(s->given[n++], fd) < 0)
			lost("ehsched: lost the node of this task, and cannot run it again here\n");
	}
	say(&text, 1);
	run_here(s);
}

static void started(struct stub *s)
{
	s->started = true;
	/* The agent has them; readers and writers at the other ends wait until the last copy is closed. */
	for (int fd = 0; fd < 2; fd++)
		if (!(s->ttys & JOB_TTY(fd)))
			close(fd);
}

static void handle_frame(struct stub *s, uint8_t *payload)
{
	enum frame_type type;
	uint32_t length;

	if (read_frame(s, &type, payload, &length)) {
		const char *parts[] = { "ehsched: lost the agent of this node while ", s->path,
					" ran on another node; it is reported as killed\n" };

		feed_restore(s);
		say(parts, 3);
		stub_die(SIGKILL);
	}
	switch (type) {
	case FRAME_REFUSED:
		refused(s, payload, length);
	case FRAME_STARTED:
		started(s);
		break;
	case FRAME_STDERR:
		close(2); /* the task has closed it */
		break;
	case FRAME_WANT:
		feed_wanted(s);
		break;
	case FRAME_STOPPED:
		if (length == 4)
			stub_stop(s, frame_get_u32(payload));
		break;
	case FRAME_EXIT:
		ended(payload, length);
	case FRAME_LOST:
		lost((const char *)payload);
	case FRAME_RERUN:
		rerun(s, payload, length);
	default:
		break;
	}
}

static void __attribute__((noreturn)) stand_in(struct stub *s, uint8_t *payload)
{
	struct pollfd fds[3] = { { .fd = s->socket, .events = POLLIN },
				 { .fd = s->signals, .events = POLLIN },
				 { .events = POLLIN } };

	for (;;) {
		int timeout = -1;

		fds[1].fd = s->started ? s->signals : -1;
		fds[2].fd = feed_wants(s, &timeout) ? 0 : -1;
		if (poll(fds, 3, timeout) < 0)
			continue;
		if (fds[1].revents)
			stub_forward_signals(s);
		if (fds[0].revents)
			handle_frame(s, payload);
		else if (fds[2].revents)
			feed_step(s, fds[2].revents);
	}
}

int main(int argc, char **argv)
{
	static uint8_t payload[STUB_TEXT_MAX + 1];
	struct stub s = { .terminal = -1 };
	int ret;

	if (argc > 1 && !strcmp(argv[1], "--retry")) {
		s.retry = true;
		argv++;
		argc--;
	}
	if (argc > 2 && !strcmp(argv[1], "--view")) {
		s.view = view_parse(argv[2]);
		argv += 2;
		argc -= 2;
	}
	if (argc < 4) {
		static const char *const usage[] = {
			"ehstub: not to be run by hand; the kernel and ehctl start it\n"
		};

		say(usage, 1);
		return 2;
	}
	s.token = argv[1];
	s.path = argv[2];
	s.argv = argv + 3;
	s.explicit = s.token[0] == '@' && strcmp(s.token, "@auto");
	s.sigmask = stub_mask(~0ull);

	s.socket = stub_connect();
	if (s.socket < 0)
		give_up(&s, "agent of this node", -s.socket);
	s.signals = stub_above_2(stub_signalfd(~0ull));
	if (s.signals < 0)
		give_up(&s, "signalfd", errno);
	ret = stub_send_job(&s);
	if (ret)
		give_up(&s, s.path, -ret);
	wait_commit(&s, payload);
	stand_in(&s, payload);
}
