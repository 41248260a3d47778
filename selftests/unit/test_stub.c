// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub as home's end of a job: descriptors, signals, and its end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stub_home.h"

/* ---- input ---- */

static void test_flags(void **state)
{
	struct stub_home *h = stub_open();
	int out[2];

	stub_pipe(out);
	stub_null(h, 1);
	h->fds[1] = h->fds[2] = out[1];
	stub_run(h, NULL, "7");
	assert_int_equal(h->flags & (JOB_FD(0) | JOB_FD(1) | JOB_FD(2)), 7);
	assert_true(h->flags & JOB_NULL(0));
	assert_false(h->flags & JOB_NULL(1));
	assert_true(h->flags & JOB_MERGED);
	stub_over(h, 0);
	close(out[0]);
}

static void test_file_offset(void **state)
{
	const struct job_message stopped = { .what = JOB_STOPPED, .signal = SIGSTOP };
	struct stub_home *h = stub_open();
	FILE *f = tmpfile();
	int fd = fileno(f);

	stub_null(h, 3);
	assert_int_equal(write(fd, "0123456789abcdef", 16), 16);
	lseek(fd, 2, SEEK_SET);
	h->fds[0] = dup(fd);
	stub_run(h, NULL, "7");
	UNTIL(h, h->ends[0]);
	assert_true(h->ahead);
	assert_int_equal(h->length, 14);
	assert_memory_equal(h->data, "23456789abcdef", 14);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 2);
	job_end_read(&h->far, 0, 3);
	stub_say(h, &stopped);
	UNTIL(h, h->stopped);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 5);
	kill(h->stub, SIGCONT);
	UNTIL(h, h->signals[SIGCONT]);
	job_end_read(&h->far, 0, 7);
	stub_over(h, 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 9);
	fclose(f);
}

static void test_closed_input(void **state)
{
	const struct job_message closed = { .what = JOB_CLOSED, .channel = 0 };
	struct stub_home *h = stub_open();
	struct pollfd p = { 0 };
	int in[2];

	stub_null(h, 3);
	stub_pipe(in);
	h->fds[0] = in[0];
	stub_run(h, NULL, "7");
	p.fd = in[1];
	assert_int_equal(poll(&p, 1, 0), 0);
	stub_say(h, &closed);
	UNTIL(h, poll(&p, 1, 0) == 1);
	assert_true(p.revents & POLLERR);
	stub_over(h, 0);
	close(in[1]);
}

/* ---- output ---- */

/* Without a write of the task: it is to get SIGPIPE at its next one. */
static void test_no_reader(void **state)
{
	struct stub_home *h = stub_open();
	int out[2], sockets[2];

	stub_null(h, 3);
	stub_pipe(out);
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), errno);
	h->fds[1] = out[1];
	h->fds[2] = sockets[1];
	stub_run(h, NULL, "7");
	stub_step(h);
	assert_int_equal(h->closed[1], 0);
	close(out[0]);
	UNTIL(h, h->closed[1] == 1);
	close(sockets[0]);
	UNTIL(h, h->closed[stub_channel(h, 2)] == 1);
	assert_int_equal(h->signals[SIGPIPE], 0);
	stub_over(h, SIGPIPE);
}

static void test_closed_output(void **state)
{
	struct job_message end = { .what = JOB_END, .channel = 1 };
	struct stub_home *h = stub_open();
	char byte;
	int out[2];

	stub_null(h, 3);
	stub_pipe(out);
	h->fds[1] = out[1];
	stub_run(h, NULL, "7");
	stub_print(h, 1, "x", 1);
	stub_say(h, &end);
	UNTIL(h, stub_poll(out[0], 0) & POLLHUP);
	assert_int_equal(read(out[0], &byte, 1), 1);
	assert_int_equal(read(out[0], &byte, 1), 0);
	stub_over(h, 0);
	close(out[0]);
}

/* More than pipe and windows hold, read late: all of it arrives, and before the stub's end. */
static void test_order(void **state)
{
	static uint32_t numbers[100000], back[100000];
	struct stub_home *h = stub_open();
	size_t have = 0, sent = 0;
	ssize_t n;
	int out[2];

	for (uint32_t i = 0; i < 100000; i++)
		numbers[i] = i * 2654435761u;
	stub_null(h, 3);
	stub_pipe(out);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	h->fds[1] = h->fds[2] = out[1];
	stub_run(h, NULL, "7");
	while (have < sizeof(back)) {
		size_t room = job_end_room(&h->far, 1);

		if (room > sizeof(numbers) - sent)
			room = sizeof(numbers) - sent;
		if (room)
			job_end_send(&h->far, 1, (uint8_t *)numbers + sent, room, false);
		sent += room;
		if (sent == sizeof(numbers) && h->far.state == JOB_RUNNING)
			stub_exit(h, 3 << 8, false);
		stub_step(h);
		assert_false(h->ended && have + 65536 < sizeof(back));
		n = read(out[0], (uint8_t *)back + have, 3000);
		if (n > 0)
			have += n;
	}
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 3 << 8);
	assert_memory_equal(numbers, back, sizeof(back));
	close(out[0]);
	stub_close(h);
}

/* Nobody reads, all is full: signals and the other descriptor go on. */
static void test_slow_reader(void **state)
{
	static uint8_t much[65536 + JOB_WINDOW];
	struct stub_home *h = stub_open();
	int out[2], err[2], full;

	stub_null(h, 3);
	stub_pipe(out);
	stub_pipe(err);
	h->fds[1] = out[1];
	h->fds[2] = err[1];
	stub_run(h, NULL, "7");
	/* The pipe and a window. */
	stub_print(h, 1, much, sizeof(much));
	kill(h->stub, SIGUSR1);
	UNTIL(h, h->signals[SIGUSR1] == 1);
	assert_int_equal(job_end_room(&h->far, 1), 0);
	assert_return_code(ioctl(out[0], FIONREAD, &full), errno);
	assert_int_equal(full, 65536);
	stub_print(h, 2, "still\n", 6);
	UNTIL(h, stub_poll(err[0], POLLIN));
	assert_string_equal(stub_content(err[0]), "still\n");
	/* A user who ends it does not wait for the reader. */
	stub_exit(h, 0, false);
	UNTIL(h, h->far.link.tail == h->far.link.head);
	assert_false(h->ended);
	kill(h->stub, SIGINT);
	UNTIL(h, h->ended);
	close(out[0]);
	close(err[0]);
	stub_close(h);
}

/* ---- the end ---- */

static void test_exits(void **state)
{
	static const int all[] = { 0, 1 << 8, 255 << 8, SIGTERM, SIGKILL, SIGSEGV, SIGINT, 34 };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct stub_home *h = stub_open();

		stub_null(h, 3);
		stub_run(h, NULL, "7");
		stub_over(h, all[i]);
	}
}

static void test_stops(void **state)
{
	static const int all[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };
	struct stub_home *h = stub_open();

	stub_null(h, 3);
	stub_run(h, NULL, "7");
	for (unsigned int i = 0; i < 4; i++) {
		struct job_message m = { .what = JOB_STOPPED, .signal = all[i] };

		stub_say(h, &m);
		UNTIL(h, h->stopped);
		assert_int_equal(WSTOPSIG(h->status), all[i]);
		UNTIL(h, h->notes[NOTE_STOPPED] == i + 1);
		kill(h->stub, SIGCONT);
		UNTIL(h, h->signals[SIGCONT] == i + 1 && !h->stopped);
		m.what = JOB_CONTINUED;
		stub_say(h, &m);
		UNTIL(h, h->notes[NOTE_CONTINUED] == i + 1);
	}
	kill(h->stub, SIGTERM);
	UNTIL(h, h->signals[SIGTERM] == 1);
	stub_over(h, SIGTERM);
}

/* Children of the task write on: the stub has ended, a copy of it relays. */
static void test_children(void **state)
{
	const struct job_message over = { .what = JOB_OVER };
	struct stub_home *h = stub_open();
	int in[2], out[2];
	struct pollfd p = { 0 };

	stub_null(h, 3);
	stub_pipe(in);
	stub_pipe(out);
	h->fds[0] = in[0];
	h->fds[1] = out[1];
	stub_run(h, NULL, "7");
	stub_print(h, 1, "task\n", 5);
	stub_exit(h, 4 << 8, true);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 4 << 8);
	assert_string_equal(stub_content(out[0]), "task\n");
	p.fd = in[1];
	UNTIL(h, poll(&p, 1, 0) && p.revents & POLLERR);
	stub_print(h, 1, "child\n", 6);
	p.fd = out[0];
	p.events = POLLIN;
	UNTIL(h, poll(&p, 1, 0));
	assert_string_equal(stub_content(out[0]), "child\n");
	stub_say(h, &over);
	UNTIL(h, h->agent < 0);
	assert_true(job_end_done(&h->far));
	UNTIL(h, poll(&p, 1, 0) && p.revents & POLLHUP);
	close(in[1]);
	close(out[0]);
	stub_close(h);
}

/* ---- what it costs ---- */

static unsigned int private_kib(pid_t pid)
{
	char name[64], line[256];
	unsigned int sum = 0, n;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(name, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Private_Dirty: %u kB", &n) == 1)
			sum += n;
	fclose(f);
	return sum;
}

static void test_memory(void **state)
{
	static uint8_t much[32768];
	struct stub_home *h = stub_open();
	unsigned int before, after;
	size_t got = 0;
	ssize_t n;
	int in[2], out[2];

	stub_null(h, 3);
	stub_pipe(in);
	stub_pipe(out);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	h->fds[0] = in[0];
	h->fds[1] = out[1];
	stub_run(h, NULL, "7");
	before = private_kib(h->stub);
	for (int i = 0; i < 40; i++) {
		size_t want = h->length + 8192;

		assert_int_equal(write(in[1], much, 8192), 8192);
		while (h->length < want) {
			if (!job_end_granted(&h->far, 0))
				job_end_grant(&h->far, 0, 2048);
			stub_step(h);
		}
		stub_print(h, 1, much, sizeof(much));
		got += sizeof(much);
		UNTIL(h, (n = read(out[0], much, sizeof(much))) > 0 ? !(got -= n) : !got);
	}
	after = private_kib(h->stub);
	printf("# private memory: %u KiB idle, %u KiB after 1.6 MiB\n", before, after);
	assert_true(before <= 150);
	assert_true(after <= 150);
	stub_over(h, 0);
	close(in[1]);
	close(out[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),	      cmocka_unit_test(test_file_offset),
		cmocka_unit_test(test_closed_input),  cmocka_unit_test(test_no_reader),
		cmocka_unit_test(test_closed_output), cmocka_unit_test(test_order),
		cmocka_unit_test(test_slow_reader),   cmocka_unit_test(test_exits),
		cmocka_unit_test(test_stops),	      cmocka_unit_test(test_children),
		cmocka_unit_test(test_memory),
	};

	stub_program();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
