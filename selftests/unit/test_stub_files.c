// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub with more descriptors than 0 to 2, and with files that the executor opens itself. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stub_home.h"
#include "temp.h"

static char path[TEMP_PATH];

static int files_make(const char *text, int flags)
{
	int fd;

	fd = mkstemp(temp_path(path, "stub.XXXXXX"));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	fd = open(path, flags | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* ---- what there is ---- */

static void test_none(void **state)
{
	struct stub_home *h = stub_open_null();

	stub_run(h, NULL, "7");
	assert_int_equal(h->nfiles, 0);
	assert_int_equal(h->ndescriptors, 0);
	stub_over(h, 0);
}

static void test_list(void **state)
{
	struct stub_home *h = stub_open_null();
	int in[2], out[2], one[2], sockets[2];

	stub_pipe(in);
	stub_pipe(out);
	stub_pipe(one);
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), errno);
	close(h->fds[1]);
	h->fds[1] = one[1];
	fcntl(in[0], F_SETFL, O_NONBLOCK);
	stub_give(h, 9, in[0]);
	stub_give(h, 63, in[0]);
	stub_give(h, 5, out[1]);
	stub_give(h, 6, one[1]);
	stub_give(h, 200, sockets[1]);
	stub_give(h, 20, open("/dev/zero", O_RDONLY | O_CLOEXEC));
	stub_run(h, NULL, "@0.1");
	assert_int_equal(h->ndescriptors, 6);
	assert_int_equal(h->nfiles, 4);
	for (uint32_t i = 1; i < h->ndescriptors; i++)
		assert_true(h->descriptors[i].number > h->descriptors[i - 1].number);
	assert_int_equal(stub_file_channel(h, 6), 1);
	assert_int_equal(stub_file_channel(h, 9), stub_file_channel(h, 63));
	assert_int_equal(stub_file(h, 9)->kind, JOB_STREAM);
	assert_int_equal(stub_file(h, 9)->flags, JOB_OPEN_READ | JOB_OPEN_NONBLOCK);
	assert_int_equal(stub_file(h, 5)->flags, JOB_OPEN_WRITE);
	assert_int_equal(stub_file(h, 200)->kind, JOB_SOCKET);
	assert_int_equal(stub_file(h, 20)->kind, JOB_DEVICE);
	assert_int_equal(stub_file(h, 20)->ino, 5);
	stub_over(h, 0);
	close(in[1]);
	close(out[0]);
	close(one[0]);
	close(sockets[0]);
}

static int files_odd(int kind)
{
	int pair[2];

	switch (kind) {
	case 0:
		return epoll_create1(EPOLL_CLOEXEC);
	case 1:
		return eventfd(1, EFD_CLOEXEC);
	case 2:
		return memfd_create("memory", MFD_CLOEXEC);
	case 3:
		assert_return_code(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), errno);
		close(pair[0]);
		return pair[1];
	case 4:
		return open("/", O_PATH | O_CLOEXEC);
	case 5:
		return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	case 6:
		return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	default:
		return open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	}
}

/* Never without a word: refused to a user who names the node, else it runs here, with all. */
static void test_refused(void **state)
{
	for (int kind = 0; kind < 8; kind++) {
		for (int named = 0; named < 2; named++) {
			struct stub_home *h = stub_open_null();
			char script[] = "[ -e /proc/self/fd/7 ] && echo here";
			int out[2];

			stub_pipe(out);
			close(h->fds[1]);
			close(h->fds[2]);
			h->fds[1] = h->fds[2] = out[1];
			stub_give(h, 7, files_odd(kind));
			stub_start(h, NULL, named ? "@0.1" : "@auto", "/bin/sh", script);
			UNTIL(h, h->ended);
			assert_false(h->job);
			if (named) {
				const char *text = stub_content(out[0]);

				assert_int_equal(h->status, 1 << 8);
				assert_memory_equal(text, "ehctl exec: descriptor 7 ", 25);
			} else {
				assert_int_equal(h->status, 0);
				assert_string_equal(stub_content(out[0]), "here\n");
			}
			close(out[0]);
			stub_close(h);
		}
	}
}

static void test_too_many(void **state)
{
	struct stub_home *h = stub_open_null();
	int in[2];

	/* Duplicates are one. */
	stub_pipe(in);
	for (int i = 0; i < 12; i++)
		stub_give(h, 10 + i, in[0]);
	stub_run(h, NULL, "7");
	assert_int_equal(h->nfiles, 1);
	assert_int_equal(h->ndescriptors, 12);
	stub_over(h, 0);
	close(in[1]);
}

/* ---- streams ---- */

static void test_streams(void **state)
{
	struct job_message end = { .what = JOB_END };
	struct stub_home *h = stub_open_null();
	int in[2], out[2];
	uint32_t from, to;

	stub_pipe(in);
	stub_pipe(out);
	stub_give(h, 9, in[0]);
	stub_give(h, 5, out[1]);
	stub_give(h, 6, out[1]);
	assert_int_equal(write(in[1], "1\n2\n3\n", 6), 6);
	stub_run(h, NULL, "7");
	from = stub_file_channel(h, 9);
	to = stub_file_channel(h, 5);
	assert_int_equal(stub_file_channel(h, 6), to);
	UNTIL(h, h->offers[from]);
	assert_int_equal(h->length, 0);
	job_end_grant(&h->far, from, 2);
	UNTIL(h, h->length == 2);
	stub_print(h, to, "five\n", 5);
	UNTIL(h, stub_poll(out[0], POLLIN) & POLLIN);
	assert_string_equal(stub_content(out[0]), "five\n");
	/* All of its descriptors are closed then. */
	end.channel = to;
	stub_say(h, &end);
	UNTIL(h, stub_poll(out[0], 0) & POLLHUP);
	close(in[1]);
	UNTIL(h, h->offers[from] == 2);
	job_end_grant(&h->far, from, 100);
	UNTIL(h, h->length == 6);
	UNTIL(h, h->ends[from]);
	stub_over(h, 0);
	close(out[0]);
}

static void test_closed(void **state)
{
	struct job_message closed = { .what = JOB_CLOSED };
	struct stub_home *h = stub_open_null();
	int in[2], out[2];

	stub_pipe(in);
	stub_pipe(out);
	stub_give(h, 3, in[0]);
	stub_give(h, 8, in[0]);
	stub_give(h, 4, out[1]);
	stub_run(h, NULL, "7");
	closed.channel = stub_file_channel(h, 3);
	stub_say(h, &closed);
	UNTIL(h, stub_poll(in[1], 0) & POLLERR);
	close(out[0]);
	UNTIL(h, h->closed[stub_file_channel(h, 4)]);
	stub_over(h, 0);
	close(in[1]);
}

static void test_socket(void **state)
{
	struct job_message m = { .what = JOB_END };
	struct stub_home *h = stub_open_null();
	char text[16] = "";
	int sockets[2];
	uint32_t both;

	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), errno);
	stub_give(h, 3, sockets[1]);
	stub_run(h, NULL, "7");
	both = stub_file_channel(h, 3);
	stub_print(h, both, "question", 8);
	UNTIL(h, stub_poll(sockets[0], POLLIN) & POLLIN);
	assert_int_equal(read(sockets[0], text, sizeof(text)), 8);
	assert_int_equal(write(sockets[0], "answer", 6), 6);
	UNTIL(h, h->offers[both]);
	job_end_grant(&h->far, both, 100);
	UNTIL(h, h->length == 6);
	/* The program closes it: first one direction, then the other. */
	m.channel = both;
	stub_say(h, &m);
	stub_step(h);
	assert_false(stub_poll(sockets[0], 0) & POLLHUP);
	m.what = JOB_CLOSED;
	stub_say(h, &m);
	UNTIL(h, stub_poll(sockets[0], 0) & POLLHUP);
	stub_over(h, 0);
	close(sockets[0]);
}

/* Each stream takes descriptors of the stub's own. Where there are not enough the task stays here. */
static void test_few(void **state)
{
	static const struct rlimit few = { 10, 10 }, enough = { 32, 32 };

	for (int i = 0; i < 2; i++) {
		struct stub_home *h = stub_open_null();
		int one[2], two[2], out[2];

		assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, one), errno);
		assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, two), errno);
		stub_pipe(out);
		close(h->fds[1]);
		h->fds[1] = out[1];
		stub_give(h, 3, one[1]);
		stub_give(h, 4, two[1]);
		h->few = i ? &enough : &few;
		h->no_more = true;
		stub_start(h, NULL, "7", "/bin/sh", "ulimit -n");
		UNTIL(h, h->job || h->ended);
		assert_int_equal(h->job, i);
		if (h->job) {
			stub_begin(h);
			assert_int_equal(write(two[0], "text", 4), 4);
			UNTIL(h, h->offers[stub_file_channel(h, 4)]);
			stub_ends(h, 0);
		}
		assert_string_equal(stub_content(out[0]), i ? "" : "10\n");
		close(out[0]);
		close(one[0]);
		close(two[0]);
		stub_close(h);
	}
}

/* ---- files ---- */

static void test_real(void **state)
{
	struct job_message m = { .what = JOB_SEEK, .offset = 7 };
	int fd = files_make("0123456789", O_RDONLY), keep = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	struct stub_home *h = stub_open_null();

	lseek(fd, 2, SEEK_SET);
	close(h->fds[0]);
	h->fds[0] = fd;
	h->opens = true;
	stub_run(h, NULL, "7");
	assert_false(h->flags & JOB_FD(0));
	assert_int_equal(stub_file(h, 0)->kind, JOB_REAL);
	assert_int_equal(stub_file(h, 0)->flags, JOB_OPEN_READ | JOB_OPEN_OR_STREAM);
	assert_int_equal(stub_file(h, 0)->offset, 2);
	m.channel = stub_file_channel(h, 0);
	stub_say(h, &m);
	stub_ends(h, 0);
	assert_int_equal(h->offers[m.channel], 0);
	stub_close(h);
	assert_int_equal(lseek(keep, 0, SEEK_CUR), 7);
	close(keep);
	unlink(path);
}

/* The executor does not see this file: it is copied, as any file. */
static void test_not_there(void **state)
{
	int fd = files_make("0123456789", O_RDONLY), keep = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	struct stub_home *h = stub_open_null();
	uint32_t channel;

	close(h->fds[0]);
	h->fds[0] = fd;
	stub_run(h, NULL, "7");
	channel = stub_file_channel(h, 0);
	UNTIL(h, h->ends[channel]);
	assert_true(h->ahead);
	assert_int_equal(h->length, 10);
	job_end_read(&h->far, channel, 3);
	stub_over(h, 0);
	assert_int_equal(lseek(keep, 0, SEEK_CUR), 3);
	close(keep);
	unlink(path);
}

/* Which files may be opened elsewhere at all. */
static void test_shared(void **state)
{
	static const struct {
		const char *text;
		int flags, number, at;
		bool shared; /* the parent has it, too */
		int kind; /* -1: refused; -2: as 0-2 usually are */
		uint32_t opened;
	} cases[] = {
		{ "x", O_WRONLY | O_APPEND, 1, 0, true, JOB_REAL,
		  JOB_OPEN_WRITE | JOB_OPEN_APPEND | JOB_OPEN_HERE | JOB_OPEN_OR_STREAM },
		{ "x", O_WRONLY | O_APPEND, 5, 0, true, JOB_REAL,
		  JOB_OPEN_WRITE | JOB_OPEN_APPEND },
		{ "x", O_WRONLY, 1, 1, true, -2, 0 },
		{ "x", O_WRONLY, 5, 0, true, -1, 0 },
		{ "x", O_WRONLY, 5, 1, true, JOB_STREAM, JOB_OPEN_WRITE },
		{ "x", O_RDWR, 5, 1, true, -1, 0 },
		{ "", O_WRONLY, 9, 0, true, JOB_REAL, JOB_OPEN_WRITE | JOB_OPEN_APPEND },
		{ "x", O_RDWR, 1, 0, false, JOB_REAL,
		  JOB_OPEN_READ | JOB_OPEN_WRITE | JOB_OPEN_OR_STREAM },
		{ "x", O_WRONLY, 5, 0, false, JOB_REAL, JOB_OPEN_WRITE },
		{ "x", O_RDONLY, 5, 0, true, JOB_REAL, JOB_OPEN_READ },
	};

	const size_t n = sizeof(cases) / sizeof(*cases);

	/* Again with a stub that cannot see what its parent has: it may be shared. */
	for (size_t turn = 0; turn < 2 * n; turn++) {
		const size_t i = turn % n;
		struct stub_home *h;
		int fd, keep = -1;

		if (turn >= n && !cases[i].shared)
			continue;
		h = stub_open_null();
		h->weak = turn >= n;
		fd = files_make(cases[i].text, cases[i].flags);
		lseek(fd, cases[i].at, SEEK_SET);
		if (cases[i].shared)
			keep = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		if (cases[i].number < 3) {
			close(h->fds[cases[i].number]);
			h->fds[cases[i].number] = fd;
		} else {
			stub_give(h, cases[i].number, fd);
		}
		h->opens = true;
		/* Its parent closes it a moment after the fork. */
		if (!cases[i].shared)
			stub_hold(h);
		stub_start(h, NULL, "@0.1", "/bin/sh", "true");
		if (!cases[i].shared)
			stub_let(h);
		if (cases[i].kind == -1) {
			UNTIL(h, h->ended);
			assert_int_equal(h->status, 1 << 8);
			stub_close(h);
		} else {
			stub_begin(h);
			if (cases[i].kind == -2) {
				assert_int_equal(h->nfiles, 0);
			} else {
				const struct job_file *f = stub_file(h, cases[i].number);

				if ((int)f->kind != cases[i].kind || f->flags != cases[i].opened)
					fail_msg("case %zu: kind %u, flags %u", turn, f->kind,
						 f->flags);
			}
			stub_over(h, 0);
		}
		if (keep >= 0)
			close(keep);
		unlink(path);
	}
}

/* A lock that the task has left is taken before its end is reported. */
static void test_lock(void **state)
{
	struct job_message m = { .what = JOB_LOCK, .exclusive = true };
	int fd = files_make("", O_WRONLY), keep = fcntl(fd, F_DUPFD_CLOEXEC, 10), other;
	struct stub_home *h = stub_open_null();

	stub_give(h, 9, fd);
	h->opens = true;
	stub_run(h, NULL, "7");
	other = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX), 0);
	m.channel = stub_file_channel(h, 9);
	stub_say(h, &m);
	stub_exit(h, 0, false);
	for (int i = 0; i < 10; i++)
		stub_step(h);
	assert_false(h->ended);
	assert_int_equal(flock(other, LOCK_UN), 0);
	UNTIL(h, h->ended);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	stub_close(h);
	close(keep);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	unlink(path);
}

/* Whoever has locked it would wait for himself there. */
static void test_locked(void **state)
{
	int fd = files_make("", O_WRONLY), keep = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	struct stub_home *h = stub_open_null();

	assert_int_equal(flock(fd, LOCK_EX), 0);
	stub_give(h, 9, fd);
	stub_start(h, NULL, "@0.1", "/bin/true", NULL);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 1 << 8);
	stub_close(h);
	close(keep);
	unlink(path);
}

/* The executor is lost before it has read anything: the second run has all of them. */
static void test_again(void **state)
{
	struct stub_home *h = stub_open_null();
	int in[2], out[2];

	stub_pipe(in);
	stub_pipe(out);
	stub_give(h, 3, in[0]);
	stub_give(h, 4, out[1]);
	stub_give(h, 5, out[1]);
	assert_int_equal(write(in[1], "text\n", 5), 5);
	close(in[1]);
	stub_start(h, "--retry", "@auto", "/bin/sh", "cat <&3 >&4; echo five >&5");
	stub_begin(h);
	stub_frame(h, FRAME_GONE, "", 0);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 0);
	assert_string_equal(stub_content(out[0]), "text\nfive\n");
	close(out[0]);
	stub_close(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),	cmocka_unit_test(test_list),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_streams), cmocka_unit_test(test_closed),
		cmocka_unit_test(test_socket),	cmocka_unit_test(test_few),
		cmocka_unit_test(test_real),	cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_shared),	cmocka_unit_test(test_lock),
		cmocka_unit_test(test_locked),	cmocka_unit_test(test_again),
	};

	stub_program();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
