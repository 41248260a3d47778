// SPDX-License-Identifier: GPL-2.0-or-later
#include "one_end.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helpers/common/agent_address.h"
#include "helpers/end/calls.h"
#include "wire/attach.h"

/* One that is told nothing more waits for its longest limit, and looks for its agent until then. */
#define POLLS_MAX 20000
#define LIMIT_MAX 1000000 /* ms without a connection */
#define OVER_MAX_MS (1ll << 40)
#define OVER_MS \
	100000 /* at least, of the first wait when nothing more comes; then twice as long each time */

struct one_end world;

static int real[3], first_free;

/* ---- its system ---- */

int64_t calls_now(void)
{
	return world.now;
}

uint64_t calls_us(void)
{
	return calls_now() * 1000;
}

uint64_t calls_mask(uint64_t set)
{
	return 0;
}

int calls_signalfd(uint64_t set)
{
	return -1;
}

bool calls_ignores(int sig)
{
	return false;
}

bool calls_take(int sig)
{
	return false;
}

void calls_set_action(int sig, bool ignore)
{
}

int kill(pid_t pid, int sig)
{
	return 0;
}

/* ---- its agent ---- */

uid_t agent_owner(void)
{
	return 0;
}

bool agent_believes(uid_t uid, uid_t owner)
{
	return true;
}

int agent_reach(int fd, const char *folder, struct ucred *who)
{
	return -ENOENT;
}

int agent_connect_earlier(int fd, uid_t owner)
{
	return -ECONNREFUSED;
}

int one_end_connect(void)
{
	int pair[2];

	if (world.agent >= 0)
		close(world.agent);
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	fcntl(pair[1], F_SETFL, O_NONBLOCK);
	world.agent = pair[1];
	return pair[0];
}

int agent_connect(int fd, uid_t owner, struct ucred *who)
{
	int near;

	if (!world.listens)
		return -ECONNREFUSED;
	near = one_end_connect();
	must(dup2(near, fd) == fd && !close(near));
	return 0;
}

static void say(enum frame_type type, const void *payload, size_t length)
{
	uint8_t frame[FRAME_HEADER + FRAME_LINK_MAX];

	if (world.agent < 0 || length > FRAME_LINK_MAX)
		return;
	frame_header(frame, type, length);
	memcpy(frame + FRAME_HEADER, payload, length);
	/* One that does not fit breaks the form of what follows. */
	send(world.agent, frame, FRAME_HEADER + length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void say_link(void)
{
	uint8_t payload[LINK_INPUT_MAX];

	say(FRAME_LINK, payload, link_input(&world.in, world.end, LINK_RICH, payload));
}

static void say_attached(void)
{
	uint8_t payload[ATTACH_SIZE], flags = input_byte(&world.in);
	struct attached a = { .limit_ms = input_number(&world.in) % LIMIT_MAX };

	a.retry = flags & 1;
	a.wait = flags & 2;
	strcpy(a.token, flags & 4 ? "other" : "token");
	strcpy(a.id, "0.0:7");
	strcpy(a.host, "n1");
	say(FRAME_ATTACHED, payload, attached_encode(&a, payload));
}

static void say_state(void)
{
	static const enum frame_type types[] = { FRAME_DETACHED, FRAME_GONE, FRAME_NOTED,
						 FRAME_REFUSED, FRAME_PAUSED };
	uint8_t payload[16] = { 0 }, flags = input_byte(&world.in), which = flags % 5;
	const size_t lengths[] = { 0, 0, flags & 32 ? 4 : 0, flags & 32 ? 11 : flags >> 6,
				   flags & 32 ? 4 : 0 };

	payload[0] = flags >> 6 & 1;
	payload[4] = flags >> 7;
	memcpy(payload + 8, "why", 3);
	say(types[which], payload, lengths[which]);
}

/* A frame of any type with any payload; or no frame. */
static void say_any(void)
{
	uint8_t type = input_byte(&world.in);
	const uint8_t *bytes;
	size_t n;

	bytes = input_bytes(&world.in, &n);
	if (world.agent >= 0 && type >= FRAME_TYPES)
		send(world.agent, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		say(type, bytes, n);
}

static void agent_leaves(void)
{
	if (world.agent >= 0)
		close(world.agent);
	world.agent = -1;
	world.listens = input_byte(&world.in) & 1;
}

/* ---- the far ends ---- */

void one_end_far(int fd)
{
	must(world.nfar < ONE_END_FARS);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	world.far[world.nfar++] = fd;
}

int one_end_near(bool socket, bool reads)
{
	int pair[2];

	must(!(socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)
		      : pipe2(pair, O_CLOEXEC)));
	one_end_far(pair[reads]);
	return pair[!reads];
}

int one_end_terminal(void)
{
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL))
		return -1;
	one_end_far(master);
	return slave;
}

int one_end_file(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	must(fd >= 0 && !ftruncate(fd, 100000));
	return fd;
}

static void drain(int fd)
{
	uint8_t bytes[65536];

	while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
		;
}

static void far_acts(void)
{
	static const uint8_t bytes[65536] = { "line\r\nline\n\004\003" };
	const uint8_t what = input_byte(&world.in);
	int *fd = &world.far[what % ONE_END_FARS];

	if (what % ONE_END_FARS >= world.nfar || *fd < 0)
		return;
	switch (what >> 3 & 3) {
	case 0:
		/* What does not fit is not written. */
		(void)!write(*fd, bytes, input_number(&world.in) % (sizeof(bytes) + 1));
		break;
	case 1:
		drain(*fd);
		break;
	case 2:
		shutdown(*fd, what & 32 ? SHUT_RD : SHUT_WR);
		break;
	case 3:
		close(*fd);
		*fd = -1;
		break;
	}
}

/* ---- steps ---- */

static void all_go(void)
{
	world.over = true;
	world.listens = false;
	if (world.agent >= 0)
		close(world.agent);
	world.agent = -1;
	for (int i = 0; i < world.nfar; i++) {
		if (world.far[i] >= 0)
			close(world.far[i]);
		world.far[i] = -1;
	}
}

/* False: only time has passed. */
static bool world_step(void)
{
	uint8_t what;

	if (world.over)
		return false;
	if (!world.in.left) {
		all_go();
		/* The last step of the target's, if it needs one. */
		world.step(0);
		return true;
	}
	what = input_byte(&world.in);
	switch (what % 16) {
	default:
		say_link();
		return true;
	case 7:
		say_attached();
		return true;
	case 8:
		say_state();
		return true;
	case 9:
		say_any();
		return true;
	case 10:
		agent_leaves();
		return true;
	case 11:
		drain(world.agent);
		return true;
	case 12:
	case 13:
		far_acts();
		return true;
	case 14:
		world.flags = what >> 4;
		world.now += 1 << (input_byte(&world.in) % 24);
		return false;
	case 15:
		return world.step(what);
	}
}

/* Here the end waits. What is there already comes first. */
int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	long ready;

	if (!world.on)
		return (int)syscall(SYS_poll, fds, n, timeout);
	must(++world.polls < POLLS_MAX);
	for (;;) {
		ready = syscall(SYS_poll, fds, n, 0);
		if (ready || !timeout)
			return (int)ready;
		world.check();
		if (!world_step())
			break;
	}
	/* It never waits for those that have gone. */
	must(timeout > 0 || !world.over);
	if (world.over) {
		world.now += timeout > world.over_ms ? timeout : world.over_ms;
		if (world.over_ms < OVER_MAX_MS)
			world.over_ms *= 2;
	}
	return 0;
}

/* Of _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	return poll(fds, n, timeout);
}

/* ---- one input ---- */

/* What is said of an error goes where it can be read. */
static void speak_again(void)
{
	for (int i = 0; i < 3 && first_free; i++)
		dup2(real[i], i);
	world.on = false;
}

void __asan_on_error(void);

void __asan_on_error(void)
{
	speak_again();
}

void __assert_fail(const char *what, const char *file, unsigned int line, const char *function)
{
	speak_again();
	dprintf(2, "%s:%u: %s: does not hold: %s\n", file, line, function, what);
	abort();
}

static void one_end_init(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC), last = 0;

	/* Nothing may be typed at the terminal of whoever runs this. */
	if (fd >= 0) {
		ioctl(fd, TIOCNOTTY);
		close(fd);
	}
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 3; i++)
		real[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
	for (fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			last = fd;
	/* Below first_free none is free. */
	do
		first_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (first_free < last);
	close(first_free);
}

void one_end_begin(const uint8_t *data, size_t size)
{
	if (!first_free)
		one_end_init();
	world = (struct one_end){
		.in = { data, size }, .agent = -1, .now = 1000, .over_ms = OVER_MS
	};
}

void one_end_play(const struct job_end *end, bool (*step)(uint8_t what), void (*check)(void))
{
	world.end = end;
	world.step = step;
	world.check = check;
	world.on = true;
}

void one_end_done(void)
{
	for (int i = 0; i < 3; i++)
		dup2(real[i], i);
	close_range(first_free, ~0u, 0);
}
