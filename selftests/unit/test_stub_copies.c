// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub: input that is copied ahead, and taken when the program has read it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "random.h"
#include "stub_home.h"
#include "temp.h"

enum other { NOBODY, ANOTHER, HIDDEN, ABLE };

/* Asks for 64 KiB in large answers. */
static void ask_much(struct stub_home *h, int in, const uint8_t *bytes)
{
	for (size_t at = 0; at < 65536; at += 16384) {
		assert_int_equal(write(in, bytes + at, 16384), 16384);
		UNTIL(h, ({
			      if (!job_end_granted(&h->far, stub_channel(h, 0)))
				      job_end_grant(&h->far, stub_channel(h, 0), 8192);
			      h->length >= at + 16384;
		      }));
	}
}

/*
 * Beside another reader, which the stub cannot look at if it is HIDDEN, root's, or ABLE: it has the stub's user, so that
 * its descriptors can be listed, and capabilities, so that they cannot be followed.
 */
static void copies(int in[2], enum other other)
{
	static uint8_t much[65536 + 100];
	struct stub_home *h = stub_open();
	char byte[4] = "";
	pid_t reader = 0;
	int queued;

	for (size_t i = 0; i < sizeof(much); i++)
		much[i] = random_64();
	stub_null(h, 3);
	h->fds[0] = dup(in[0]);
	h->user = other == HIDDEN ? 65534 : 0;
	h->weak = other == ABLE;
	if (other != NOBODY) {
		reader = fork();
		if (!reader) {
			pause();
			_exit(0);
		}
	}
	stub_run(h, NULL, "7");
	ask_much(h, in[1], much);
	assert_false(h->ahead);
	assert_int_equal(write(in[1], much + 65536, 100), 100);
	if (other) {
		unsigned int offers = h->offers[0];

		UNTIL(h, h->offers[0] > offers || h->offers[0] >= 5);
		assert_false(h->ahead);
		kill(reader, SIGKILL);
		waitpid(reader, NULL, 0);
	} else {
		UNTIL(h, h->length == sizeof(much));
		assert_true(h->ahead);
		assert_memory_equal(h->data, much, sizeof(much));
		/* It is still there. */
		assert_return_code(ioctl(in[0], FIONREAD, &queued), errno);
		assert_int_equal(queued, 100);
		/* Each further write is reported, though the source was readable before. */
		assert_int_equal(write(in[1], "x", 1), 1);
		UNTIL(h, h->length == sizeof(much) + 1);
		assert_int_equal(write(in[1], "y", 1), 1);
		UNTIL(h, h->length == sizeof(much) + 2);
		/* The program reads all of it but the last. */
		job_end_read(&h->far, 0, sizeof(much) + 1);
	}
	stub_exit(h, 0, false);
	UNTIL(h, h->ended);
	if (!other) {
		assert_int_equal(read(in[0], byte, 3), 1);
		assert_string_equal(byte, "y");
	}
	close(in[0]);
	close(in[1]);
	stub_close(h);
}

static void test_copies_pipe(void **state)
{
	int in[2];

	stub_pipe(in);
	copies(in, NOBODY);
}

/* A socket does not show how much of a part was read: only what nobody else can read is copied. */
static void test_copies_socket(void **state)
{
	static uint8_t much[65536 + 100];

	for (int shared = 0; shared < 2; shared++) {
		struct stub_home *h = stub_open();
		int in[2], ours;

		for (size_t i = 0; i < sizeof(much); i++)
			much[i] = random_64();
		assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), errno);
		ours = shared ? fcntl(in[0], F_DUPFD_CLOEXEC, 3) : -1;
		stub_null(h, 3);
		h->fds[0] = in[0];
		stub_run(h, NULL, "7");
		ask_much(h, in[1], much);
		assert_int_equal(write(in[1], much + 65536, 100), 100);
		UNTIL(h, ({
			      if (shared && !job_end_granted(&h->far, stub_channel(h, 0)))
				      job_end_grant(&h->far, stub_channel(h, 0), 100);
			      h->length == sizeof(much);
		      }));
		assert_int_equal(h->ahead, !shared);
		assert_memory_equal(h->data, much, sizeof(much));
		stub_over(h, 0);
		close(in[1]);
		if (ours >= 0)
			close(ours);
	}
}

static void test_copies_two_readers(void **state)
{
	int in[2];

	stub_pipe(in);
	copies(in, ANOTHER);
}

static void test_copies_hidden_reader(void **state)
{
	int in[2];

	if (getuid())
		skip(); /* only root can be two users */
	stub_pipe(in);
	copies(in, HIDDEN);
}

static void test_copies_able_reader(void **state)
{
	int in[2];

	stub_pipe(in);
	copies(in, ABLE);
}

/* All that is copied is read, but less than half a window: the writer is not held up. */
static void test_copies_full(void **state)
{
	static uint8_t much[65536];
	struct stub_home *h = stub_open();
	int in[2], small = 0, sent = 0;
	size_t taken;

	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), errno);
	stub_null(h, 3);
	h->fds[0] = in[0];
	stub_run(h, NULL, "7");
	ask_much(h, in[1], much);
	/* Each byte takes a whole buffer of the socket, so it is full after some hundred of them. */
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	while (write(in[1], "x", 1) == 1)
		sent++;
	assert_true(sent < 32768);
	UNTIL(h, h->length == sizeof(much) + sent);
	assert_true(h->ahead);
	taken = sizeof(much);
	while (small < 100) {
		job_end_read(&h->far, stub_channel(h, 0), h->length);
		job_end_grant(&h->far, stub_channel(h, 0), h->length - taken);
		taken = h->length;
		UNTIL(h, write(in[1], "x", 1) == 1);
		small++;
	}
	stub_exit(h, 0, false);
	UNTIL(h, h->ended);
	close(in[1]);
	stub_close(h);
}

/* One long write, which goes on whenever something is taken out. */
static void test_copies_long_write(void **state)
{
	static uint8_t much[900000];
	struct stub_home *h = stub_open();
	size_t taken, before = 0;
	unsigned int quiet = 0;
	pid_t writer;
	int in[2];

	for (size_t i = 0; i < sizeof(much); i++)
		much[i] = random_64();
	stub_pipe(in);
	stub_null(h, 3);
	h->fds[0] = in[0];
	writer = fork();
	assert_return_code(writer, errno);
	if (!writer) {
		close(in[0]);
		_exit(write(in[1], much, sizeof(much)) != sizeof(much));
	}
	close(in[1]);
	/* Now it cannot read it any more. */
	UNTIL(h, stub_poll(in[0], POLLIN));
	stub_run(h, NULL, "7");
	UNTIL(h, ({
		      if (!job_end_granted(&h->far, 0))
			      job_end_grant(&h->far, 0, 16384);
		      h->ahead;
	      }));
	taken = h->answered;
	UNTIL(h, ({
		      size_t left = h->length - taken;

		      /* When the pipe is full of copies more than half of them is read, or the rest. */
		      quiet = h->length == before ? quiet + 1 : 0;
		      before = h->length;
		      if (quiet > 10 || left >= JOB_WINDOW - 4096) {
			      left = left > 40960 ? 40960 : left;
			      taken += left;
			      job_end_read(&h->far, 0, taken);
			      job_end_grant(&h->far, 0, left);
			      quiet = 0;
		      }
		      h->ends[0];
	      }));
	assert_int_equal(h->length, sizeof(much));
	assert_memory_equal(h->data, much, sizeof(much));
	stub_over(h, 0);
	waitpid(writer, NULL, 0);
}

/* A shell reads a byte at a time: after some of these answers copies follow, too. */
static void test_copies_bytes(void **state)
{
	struct stub_home *h = stub_open();
	char text[100];
	int in[2];

	memset(text, 'x', sizeof(text));
	stub_pipe(in);
	stub_null(h, 3);
	h->fds[0] = in[0];
	assert_int_equal(write(in[1], text, sizeof(text)), sizeof(text));
	stub_run(h, NULL, "7");
	UNTIL(h, ({
		      if (!h->ahead && !job_end_granted(&h->far, 0))
			      job_end_grant(&h->far, 0, 1);
		      h->length == sizeof(text);
	      }));
	assert_true(h->ahead);
	stub_over(h, 0);
	close(in[1]);
}

/* A program that is never seen to wait may look from time to time: it gets copies. */
static void copies_early(bool unsure)
{
	struct stub_home *h = stub_open();
	int in[2], queued;

	stub_pipe(in);
	stub_null(h, 3);
	h->fds[0] = dup(in[0]);
	assert_int_equal(write(in[1], "text", 4), 4);
	stub_run(h, NULL, "7");
	if (unsure) {
		UNTIL(h, h->offers[0]);
		job_end_unsure(&h->far, 0);
		job_end_grant(&h->far, 0, 1);
	}
	UNTIL(h, h->length == 4);
	assert_true(h->ahead);
	assert_int_equal(h->answered, 0);
	assert_return_code(ioctl(in[0], FIONREAD, &queued), errno);
	assert_int_equal(queued, 4);
	stub_over(h, 0);
	assert_string_equal(stub_content(in[0]), "text");
	close(in[0]);
	close(in[1]);
}

static void test_copies_unseen(void **state)
{
	copies_early(false);
}

/* It is not known how much its readers want: they get copies at once, which take nothing. */
static void test_copies_unsure(void **state)
{
	copies_early(true);
}

/* If it cannot be copied, no more is taken than what is known. */
static void test_unsure_of_two(void **state)
{
	struct stub_home *h = stub_open();
	pid_t reader;
	int in[2];

	stub_pipe(in);
	stub_null(h, 3);
	h->fds[0] = dup(in[0]);
	reader = fork();
	if (!reader) {
		pause();
		_exit(0);
	}
	assert_int_equal(write(in[1], "text", 4), 4);
	stub_run(h, NULL, "7");
	UNTIL(h, h->offers[0]);
	job_end_unsure(&h->far, 0);
	job_end_grant(&h->far, 0, 1);
	UNTIL(h, h->length);
	assert_false(h->ahead);
	assert_int_equal(h->length, 1);
	stub_over(h, 0);
	assert_string_equal(stub_content(in[0]), "ext");
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	close(in[0]);
	close(in[1]);
}

/* The end of a pipe is told when all of it was copied. */
static void test_copies_end(void **state)
{
	static uint8_t much[65536];
	struct stub_home *h = stub_open();
	int in[2];

	stub_pipe(in);
	stub_null(h, 3);
	h->fds[0] = in[0];
	stub_run(h, NULL, "7");
	ask_much(h, in[1], much);
	assert_int_equal(write(in[1], "end", 3), 3);
	UNTIL(h, h->length == sizeof(much) + 3);
	assert_int_equal(h->ends[0], 0);
	close(in[1]);
	UNTIL(h, h->ends[0] == 1);
	stub_over(h, 0);
}

/*
 * The other end asks for more and more, and never says what was read: copies end a window behind that,
 * and an answer. What is read then is followed by the rest.
 */
static void test_copies_unread(void **state)
{
	static uint8_t much[65536], more[400000];
	struct stub_home *h = stub_open();
	const uint64_t end = clock_ms() + STUB_LIMIT_MS;
	int in[2], room = 1 << 20;
	size_t sent = 0, taken;
	ssize_t n;

	for (size_t i = 0; i < sizeof(more); i++)
		more[i] = random_64();
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), errno);
	setsockopt(in[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	setsockopt(in[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	stub_null(h, 3);
	h->fds[0] = in[0];
	stub_run(h, NULL, "7");
	ask_much(h, in[1], much);
	while ((n = write(in[1], more + sent, sizeof(more) - sent)) > 0)
		sent += n;
	/* Else this shows nothing: it may not be so much on its way. */
	assert_true(sent > JOB_WINDOW + 3 * JOB_DATA_MAX);
	taken = sizeof(much);
	/* More than the other end may ask for, if it keeps to the rules. */
	for (int quiet = 0; quiet < 10; quiet += h->length >= sizeof(much) + JOB_WINDOW) {
		job_end_grant(&h->far, stub_channel(h, 0), h->length - taken);
		taken = h->length;
		assert_true(clock_ms() < end);
		stub_step(h);
	}
	assert_false(h->ended);
	assert_in_range(h->length, sizeof(much) + JOB_WINDOW,
			sizeof(much) + JOB_WINDOW + JOB_DATA_MAX);
	UNTIL(h, ({
		      job_end_read(&h->far, stub_channel(h, 0), h->length);
		      job_end_grant(&h->far, stub_channel(h, 0), h->length - taken);
		      taken = h->length;
		      h->length == sizeof(much) + sent;
	      }));
	assert_memory_equal(h->data + sizeof(much), more, sent);
	stub_over(h, 0);
	close(in[1]);
}

/* Its writer has made the pipe larger, and many small pieces are in it: none of them is its end. */
static void test_copies_larger(void **state)
{
	enum { PIECES = 200 };
	static uint8_t much[65536];
	struct stub_home *h = stub_open();
	uint8_t pieces[PIECES];
	int in[2], file = memfd_create("pieces", MFD_CLOEXEC);
	size_t taken;

	for (int i = 0; i < PIECES; i++)
		pieces[i] = i;
	assert_int_equal(write(file, pieces, PIECES), PIECES);
	stub_pipe(in);
	stub_null(h, 3);
	h->fds[0] = in[0];
	stub_run(h, NULL, "7");
	ask_much(h, in[1], much);
	assert_int_equal(write(in[1], "x", 1), 1);
	UNTIL(h, h->length == sizeof(much) + 1);
	assert_true(h->ahead);
	job_end_read(&h->far, 0, h->length);
	job_end_grant(&h->far, 0, JOB_STEP);
	taken = h->length;
	assert_true(fcntl(in[1], F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
	for (off_t at = 0; at < PIECES;)
		assert_int_equal(splice(file, &at, in[1], NULL, 1, 0), 1);
	close(in[1]);
	UNTIL(h, ({
		      /* The program reads what comes, a piece at a time. */
		      if (taken < h->length) {
			      job_end_read(&h->far, 0, ++taken);
			      job_end_grant(&h->far, 0, JOB_STEP);
		      }
		      h->ends[0];
	      }));
	assert_int_equal(h->length, sizeof(much) + 1 + PIECES);
	assert_memory_equal(h->data + sizeof(much) + 1, pieces, PIECES);
	stub_over(h, 0);
	close(file);
}

/* A pipe of packets: what does not fit into a read() of one is gone, so there is room for it. */
static void test_copies_packets(void **state)
{
	enum { PACKET = 3000, PACKETS = 200 };
	static uint8_t much[65536], more[PACKETS * PACKET];
	struct stub_home *h = stub_open();
	size_t sent = 0, taken, before = 0;
	int in[2], quiet = 0;

	for (size_t i = 0; i < sizeof(more); i++)
		more[i] = random_64();
	assert_return_code(pipe2(in, O_DIRECT | O_CLOEXEC), errno);
	/* A window is less than it holds. */
	assert_true(fcntl(in[1], F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
	fcntl(in[1], F_SETFL, O_DIRECT | O_NONBLOCK);
	stub_null(h, 3);
	h->fds[0] = in[0];
	stub_run(h, NULL, "7");
	ask_much(h, in[1], much);
	assert_int_equal(write(in[1], more, PACKET), PACKET);
	sent = PACKET;
	UNTIL(h, h->ahead);
	taken = h->answered;
	UNTIL(h, ({
		      while (sent < sizeof(more) && write(in[1], more + sent, PACKET) == PACKET)
			      sent += PACKET;
		      /* The program reads nothing until no more comes, and then all of it. */
		      quiet = h->length == before ? quiet + 1 : 0;
		      before = h->length;
		      if (quiet > 5) {
			      job_end_read(&h->far, 0, h->length);
			      job_end_grant(&h->far, 0, h->length - taken);
			      taken = h->length;
		      }
		      h->length >= sizeof(much) + sizeof(more);
	      }));
	assert_int_equal(h->length, sizeof(much) + sizeof(more));
	assert_memory_equal(h->data + sizeof(much), more, sizeof(more));
	stub_over(h, 0);
	close(in[1]);
}

/* The other side of a socket has gone without reading what it was sent: that is the end of the input. */
static void test_copies_reset(void **state)
{
	static uint8_t much[65536];
	struct stub_home *h = stub_open();
	int in[2], left = 1;

	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), errno);
	stub_null(h, 3);
	h->fds[0] = in[0];
	stub_run(h, NULL, "7");
	ask_much(h, in[1], much);
	assert_int_equal(write(in[1], "x", 1), 1);
	UNTIL(h, h->length == sizeof(much) + 1);
	assert_true(h->ahead);
	job_end_read(&h->far, stub_channel(h, 0), h->length);
	job_end_grant(&h->far, stub_channel(h, 0), JOB_STEP);
	/* Whether it was taken out. */
	UNTIL(h, !ioctl(in[1], TIOCOUTQ, &left) && !left);
	/* The stub does not look any more, and waits for an event. */
	for (int i = 0; i < 10; i++)
		stub_step(h);
	stub_print(h, stub_channel(h, 0), "unread", 6);
	UNTIL(h, stub_poll(in[1], POLLIN));
	close(in[1]);
	UNTIL(h, h->ends[stub_channel(h, 0)] == 1);
	assert_int_equal(h->length, sizeof(much) + 1);
	stub_over(h, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies_pipe),
		cmocka_unit_test(test_copies_socket),
		cmocka_unit_test(test_copies_two_readers),
		cmocka_unit_test(test_copies_full),
		cmocka_unit_test(test_copies_long_write),
		cmocka_unit_test(test_copies_bytes),
		cmocka_unit_test(test_copies_unseen),
		cmocka_unit_test(test_copies_end),
		cmocka_unit_test(test_copies_unread),
		cmocka_unit_test(test_copies_larger),
		cmocka_unit_test(test_copies_packets),
		cmocka_unit_test(test_copies_reset),
		cmocka_unit_test(test_copies_hidden_reader),
		cmocka_unit_test(test_copies_able_reader),
		cmocka_unit_test(test_copies_unsure),
		cmocka_unit_test(test_unsure_of_two),
	};

	random_begin();
	stub_program();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
