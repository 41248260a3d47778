// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The server's half: a process for each command, so that a command and its
 * connection end together. As the guest's first process it reaps orphans too.
 */
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct command {
	int conn;
	pid_t pid;
	int in; /* -1: closed */
	int out; /* the terminal's master when there is one */
	int err;
	bool tty;
	unsigned char *pending; /* standard input the command has not taken yet */
	size_t pending_len;
	bool eof; /* close in once pending is empty */
};

static void fail(int conn, const char *what, int err)
{
	char text[256];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(err));
	wire_send(conn, WIRE_FAIL, text, strlen(text));
}

/* The command's side of fork(); report is close-on-exec and carries errno of a failure. */
static void __attribute__((noreturn)) become(struct wire_run *run, int report)
{
	const char *node;
	sigset_t none;
	int err;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	environ = run->envp;
	node = getenv("EHS_SELF");
	err = node ? -node_enter(strtoul(node, NULL, 10)) : 0;
	if (!err && chdir(run->cwd))
		err = errno;
	if (!err) {
		execvp(run->argv[0], run->argv);
		err = errno;
	}
	if (write(report, &err, sizeof(err)) < 0)
		_exit(ON_FAILED);
	_exit(err == ENOENT ? 127 : 126);
}

static int start_pipes(struct command *c, struct wire_run *run, int report)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC))
		return -errno;
	if (pipe2(out, O_CLOEXEC))
		goto close_in;
	if (pipe2(err, O_CLOEXEC))
		goto close_out;
	c->pid = fork();
	if (c->pid < 0)
		goto close_err;
	if (!c->pid) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		setsid();
		dup2(run->flags & WIRE_STDIN_FLAG ? in[0] : null, 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		become(run, report);
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
	fcntl(c->in, F_SETFL, O_NONBLOCK);
	return 0;
close_err:
	close(err[0]);
	close(err[1]);
close_out:
	close(out[0]);
	close(out[1]);
close_in:
	close(in[0]);
	close(in[1]);
	return -errno;
}

static int start_tty(struct command *c, struct wire_run *run, int report)
{
	struct winsize size = { .ws_row = run->rows, .ws_col = run->cols };
	int master;

	c->pid = forkpty(&master, NULL, NULL, &size);
	if (c->pid < 0)
		return -errno;
	if (!c->pid)
		become(run, report);
	c->tty = true;
	c->in = c->out = master;
	fcntl(master, F_SETFL, O_NONBLOCK);
	return 0;
}

static int start(struct command *c, struct wire_run *run)
{
	int report[2], err, why = 0;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	err = run->flags & WIRE_TTY_FLAG ? start_tty(c, run, report[1])
					 : start_pipes(c, run, report[1]);
	close(report[1]);
	if (!err && read(report[0], &why, sizeof(why)) == sizeof(why))
		err = -why;
	close(report[0]);
	return err;
}

static void close_input(struct command *c)
{
	static const char eof = 4;

	if (c->tty) {
		if (write(c->out, &eof, 1) < 0)
			return;
	} else if (c->in >= 0) {
		close(c->in);
		c->in = -1;
	}
}

static void feed(struct command *c)
{
	ssize_t n;

	if (c->pending_len && c->in >= 0) {
		n = write(c->in, c->pending, c->pending_len);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			/* The command reads no more: what comes is dropped, as a pipe would. */
			c->pending_len = 0;
			close_input(c);
			return;
		}
		c->pending_len -= n;
		memmove(c->pending, c->pending + n, c->pending_len);
	}
	if (!c->pending_len && c->eof) {
		c->eof = false;
		close_input(c);
	}
}

/* What the client said; false: it is gone, or talks another protocol. */
static bool hear(struct command *c, struct wire_in *in)
{
	unsigned char type, *data;
	size_t len;

	while (!c->pending_len && wire_next(in, &type, &data, &len)) {
		if (type == WIRE_STDIN && !len) {
			c->eof = true;
		} else if (type == WIRE_STDIN && c->in >= 0) {
			c->pending = realloc(c->pending, len);
			if (!c->pending)
				return false;
			memcpy(c->pending, data, len);
			c->pending_len = len;
		} else if (type == WIRE_SIZE && len == 4 && c->tty) {
			struct winsize size = { .ws_row = data[0] << 8 | data[1],
						.ws_col = data[2] << 8 | data[3] };

			ioctl(c->out, TIOCSWINSZ, &size);
		}
		wire_done(in);
		feed(c);
	}
	return true;
}

/* Passes on what is there now; false: the descriptor has no more. */
static bool pass(struct command *c, int fd, enum wire_type type)
{
	unsigned char buf[WIRE_CHUNK];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	return !wire_send(c->conn, type, buf, n);
}

static void drain(struct command *c, int fd, enum wire_type type)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (fd >= 0 && poll(&p, 1, 0) == 1 && p.revents & POLLIN && pass(c, fd, type))
		;
}

/* Until the command ends (its wait status in *status) or the client goes (false). */
static bool relay(struct command *c, struct wire_in *in, int children, int *status)
{
	for (;;) {
		/* While the command is behind with its input no more is taken from the client. */
		struct pollfd p[] = {
			{ .fd = c->conn, .events = c->pending_len ? POLLRDHUP : POLLIN },
			{ .fd = c->out, .events = POLLIN },
			{ .fd = c->err, .events = POLLIN },
			{ .fd = c->pending_len ? c->in : -1, .events = POLLOUT },
			{ .fd = children, .events = POLLIN },
		};

		if (poll(p, 5, -1) < 0 && errno != EINTR)
			return false;
		if (p[3].revents) {
			feed(c);
			if (!hear(c, in))
				return false;
		}
		if (p[0].revents & POLLIN) {
			long n = wire_fill(in, c->conn);

			if (n <= 0 && n != -EAGAIN)
				return false;
			if (!hear(c, in))
				return false;
		} else if (p[0].revents & (POLLHUP | POLLERR | POLLRDHUP)) {
			return false;
		}
		if (p[1].revents && !pass(c, c->out, WIRE_STDOUT)) {
			c->out = -1;
			if (c->tty)
				c->in = -1;
		}
		if (p[2].revents && !pass(c, c->err, WIRE_STDERR))
			c->err = -1;
		if (p[4].revents) {
			struct signalfd_siginfo info;

			if (read(children, &info, sizeof(info)) < 0)
				return false;
			if (waitpid(c->pid, status, WNOHANG) == c->pid)
				return true;
		}
	}
}

/* One command over a connection; false: nothing (more) came. */
static bool converse(int conn, struct wire_in *in)
{
	struct command c = { .conn = conn, .in = -1, .out = -1, .err = -1 };
	struct wire_run run = { 0 };
	unsigned char type, *data, code, *copy;
	int status, err, children;
	sigset_t child;
	size_t len;

	while (!wire_next(in, &type, &data, &len)) {
		if (wire_fill(in, conn) <= 0)
			return false;
	}
	if (type != WIRE_RUN)
		return false;
	copy = malloc(len);
	if (!copy)
		return false;
	memcpy(copy, data, len);
	wire_done(in);
	err = wire_unpack(copy, len, &run);
	if (err) {
		fail(conn, "request", -err);
		return false;
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	children = signalfd(-1, &child, SFD_CLOEXEC);
	err = start(&c, &run);
	if (err) {
		fail(conn, run.argv[0], -err);
		_exit(ON_FAILED);
	}
	if (!relay(&c, in, children, &status)) {
		kill(-c.pid, SIGKILL);
		_exit(ON_FAILED);
	}
	/* What background processes may still say is theirs; what was said goes out. */
	drain(&c, c.out, WIRE_STDOUT);
	drain(&c, c.err, WIRE_STDERR);
	code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return !wire_send(conn, WIRE_EXIT, &code, 1);
}

static void serve_connection(int conn)
{
	struct wire_in in = { 0 };

	converse(conn, &in);
	_exit(0);
}

/* The host's clients come one after the other on the one port. */
static void serve_device(const char *device)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "on: %s: %s\n", device, strerror(errno));
		_exit(ON_FAILED);
	}
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		pid_t pid;

		/* A port without a client is always ready, to read its end: look again soon. */
		if (poll(&p, 1, -1) == 1 && (p.revents & (POLLIN | POLLHUP)) != POLLIN) {
			poll(NULL, 0, 20);
			continue;
		}
		pid = fork();
		if (!pid)
			serve_connection(fd);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

int serve(unsigned short port, const char *device)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	int listener, one = 1;

	signal(SIGPIPE, SIG_IGN);
	if (device && !fork())
		serve_device(device);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listener < 0 || bind(listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(listener, 64)) {
		fprintf(stderr, "on: port %u: %s\n", port, strerror(errno));
		return ON_FAILED;
	}
	for (;;) {
		struct pollfd p = { .fd = listener, .events = POLLIN };
		int conn;

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		/* As process 1 it inherits orphans at any time: look for them once a second. */
		if (poll(&p, 1, 1000) != 1)
			continue;
		conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (conn < 0)
			continue;
		if (!fork()) {
			close(listener);
			serve_connection(conn);
		}
		close(conn);
	}
}
