// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * on [-i|-t] [--unix SOCKET|NODE] CMD…   run CMD on a node of the virtual cluster
 * on --serve PORT [DEVICE]               the server, first process of a guest
 */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#define ON_PORT 514
#define ON_NET 0x0a4e0001u /* 10.78.0.1: the control network, not the one tests cut */

static struct termios cooked;
static volatile sig_atomic_t resized;

static void on_resize(int sig)
{
	resized = sig;
}

static void cook(void)
{
	tcsetattr(0, TCSADRAIN, &cooked);
}

static void raw(void)
{
	struct sigaction winch = { .sa_handler = on_resize };
	struct termios t;

	if (tcgetattr(0, &cooked))
		return;
	t = cooked;
	cfmakeraw(&t);
	tcsetattr(0, TCSADRAIN, &t);
	atexit(cook);
	sigaction(SIGWINCH, &winch, NULL);
}

static int connect_unix(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int connect_node(unsigned node)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(ON_PORT),
				    .sin_addr.s_addr = htonl(ON_NET + node) };
	int fd;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int send_run(int conn, unsigned flags, char **argv)
{
	struct wire_run run = { .flags = flags, .argv = argv, .envp = environ };
	struct winsize size = { 0 };
	char cwd[4096];
	unsigned char *data;
	size_t len;
	int err;

	if (!getcwd(cwd, sizeof(cwd)))
		return -errno;
	run.cwd = getenv("ON_CWD") ?: cwd;
	ioctl(0, TIOCGWINSZ, &size);
	run.rows = size.ws_row;
	run.cols = size.ws_col;
	data = wire_pack(&run, &len);
	if (!data)
		return -ENOMEM;
	err = len > WIRE_MAX ? -E2BIG : wire_send(conn, WIRE_RUN, data, len);
	free(data);
	return err;
}

static void emit(int fd, const unsigned char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			exit(errno == EPIPE ? 128 + SIGPIPE : ON_FAILED);
		data += n;
		len -= n;
	}
}

/* Standard input as a frame, sent piecewise so that output never waits for it. */
struct feed {
	unsigned char buf[WIRE_HEADER + WIRE_CHUNK];
	size_t at, len;
	bool open;
};

static void feed_read(struct feed *f)
{
	ssize_t n = read(0, f->buf + WIRE_HEADER, WIRE_CHUNK);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		n = 0;
		f->open = false;
	}
	memcpy(f->buf, (unsigned char[]){ WIRE_STDIN, 0, n >> 16, n >> 8, n }, WIRE_HEADER);
	f->at = 0;
	f->len = WIRE_HEADER + n;
}

static void feed_send(struct feed *f, int conn)
{
	ssize_t n = send(conn, f->buf + f->at, f->len - f->at, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0)
		f->at += n;
	else if (errno != EAGAIN && errno != EINTR)
		f->at = f->len; /* gone: reading will tell */
}

static int converse(int conn, unsigned flags)
{
	struct feed f = { .open = flags & WIRE_STDIN_FLAG };
	struct wire_in in = { 0 };
	unsigned char type, *data;
	size_t len;
	long n;

	for (;;) {
		bool busy = f.at < f.len;
		struct pollfd p[] = {
			{ .fd = conn, .events = POLLIN | (busy ? POLLOUT : 0) },
			{ .fd = f.open && !busy ? 0 : -1, .events = POLLIN },
		};

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return ON_FAILED;
		if (resized && !busy) {
			struct winsize s;

			resized = 0;
			if (!ioctl(0, TIOCGWINSZ, &s))
				wire_send(conn, WIRE_SIZE,
					  (unsigned char[]){ s.ws_row >> 8, s.ws_row, s.ws_col >> 8,
							     s.ws_col },
					  4);
			continue;
		}
		if (p[1].revents)
			feed_read(&f);
		if (f.at < f.len)
			feed_send(&f, conn);
		if (!(p[0].revents & (POLLIN | POLLHUP | POLLERR)))
			continue;
		n = wire_fill(&in, conn);
		if (n == -EAGAIN)
			continue;
		if (n <= 0) {
			fprintf(stderr, "on: the node went away\n");
			return ON_FAILED;
		}
		while (wire_next(&in, &type, &data, &len)) {
			switch (type) {
			case WIRE_STDOUT:
				emit(1, data, len);
				break;
			case WIRE_STDERR:
				emit(2, data, len);
				break;
			case WIRE_FAIL:
				fprintf(stderr, "on: %.*s\n", (int)len, (char *)data);
				return ON_FAILED;
			case WIRE_EXIT:
				return data[0];
			}
			wire_done(&in);
		}
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: on [-i] [-t] NODE|--unix SOCKET CMD...\n"
			"  -i  pass standard input on     -t  with a terminal\n");
	return 2;
}

static int run_here(unsigned node, char **argv, unsigned flags)
{
	int err = node_enter(node);

	if (err) {
		fprintf(stderr, "on: node %u: %s\n", node, strerror(-err));
		return ON_FAILED;
	}
	if (!flags && !freopen("/dev/null", "r", stdin))
		return ON_FAILED;
	execvp(argv[0], argv);
	fprintf(stderr, "on: %s: %s\n", argv[0], strerror(errno));
	return ON_FAILED;
}

int main(int argc, char **argv)
{
	unsigned flags = 0;
	unsigned long node;
	char *end;
	int conn, err;

	if (argc >= 3 && !strcmp(argv[1], "--serve"))
		return serve(atoi(argv[2]), argv[3]);
	for (argv++; *argv && (!strcmp(*argv, "-i") || !strcmp(*argv, "-t")); argv++)
		flags |= argv[0][1] == 'i' ? WIRE_STDIN_FLAG : WIRE_STDIN_FLAG | WIRE_TTY_FLAG;
	if (!argv[0] || !argv[1])
		return usage();
	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(*argv, "--unix")) {
		argv++;
		conn = connect_unix(*argv);
	} else {
		char self[32];

		node = strtoul(*argv, &end, 10);
		if (*end || end == *argv || node > 255)
			return usage();
		snprintf(self, sizeof(self), "%lu", node);
		setenv("EHS_SELF", self, 1);
		if (argv[1] && node_is_here(node)) {
			signal(SIGPIPE, SIG_DFL);
			return run_here(node, argv + 1, flags);
		}
		conn = connect_node(node);
	}
	if (conn < 0) {
		fprintf(stderr, "on: node %s: %s\n", *argv, strerror(errno));
		return ON_FAILED;
	}
	if (!*++argv)
		return usage();
	if (!isatty(0))
		flags &= ~WIRE_TTY_FLAG;
	if (flags & WIRE_TTY_FLAG)
		raw();
	err = send_run(conn, flags, argv);
	if (err) {
		fprintf(stderr, "on: request: %s\n", strerror(-err));
		return ON_FAILED;
	}
	return converse(conn, flags);
}
