// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub with more descriptors than 0 to 2, and with files that the executor opens itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "stub_home.h"
#include "temp.h"

#define FIRST JOB_CHANNEL_FILES

static char path[TEMP_PATH];

static struct home *files_open(void)
{
	struct home *h = home_open();

	for (int i = 0; i < 3; i++)
		h->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	return h;
}

static void files_give(struct home *h, int number, int fd)
{
	h->more[h->nmore].fd = fd;
	h->more[h->nmore++].number = number;
}

/* The channel of a descriptor, 0: none. */
static uint32_t files_channel(const struct home *h, uint32_t number)
{
	for (uint32_t i = 0; i < h->ndescriptors; i++)
		if (h->descriptors[i].number == number)
			return h->descriptors[i].channel;
	return 0;
}

static const struct job_file *files_of(const struct home *h, uint32_t number)
{
	uint32_t channel = files_channel(h, number);

	assert_true(channel >= FIRST);
	return &h->files[channel - FIRST];
}

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
	struct home *h = files_open();

	home_run(h, NULL, "7");
	assert_int_equal(h->nfiles, 0);
	assert_int_equal(h->ndescriptors, 0);
	home_over(h, 0);
}

static void test_list(void **state)
{
	struct home *h = files_open();
	int in[2], out[2], one[2], sockets[2];

	home_pipe(in);
	home_pipe(out);
	home_pipe(one);
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), errno);
	close(h->fds[1]);
	h->fds[1] = one[1];
	fcntl(in[0], F_SETFL, O_NONBLOCK);
	files_give(h, 9, in[0]);
	files_give(h, 63, in[0]);
	files_give(h, 5, out[1]);
	files_give(h, 6, one[1]);
	files_give(h, 200, sockets[1]);
	files_give(h, 20, open("/dev/zero", O_RDONLY | O_CLOEXEC));
	home_run(h, NULL, "@0.1");
	assert_int_equal(h->ndescriptors, 6);
	assert_int_equal(h->nfiles, 4);
	for (uint32_t i = 1; i < h->ndescriptors; i++)
		assert_true(h->descriptors[i].number > h->descriptors[i - 1].number);
	assert_int_equal(files_channel(h, 6), 1);
	assert_int_equal(files_channel(h, 9), files_channel(h, 63));
	assert_int_equal(files_of(h, 9)->kind, JOB_STREAM);
	assert_int_equal(files_of(h, 9)->flags, JOB_OPEN_READ | JOB_OPEN_NONBLOCK);
	assert_int_equal(files_of(h, 5)->flags, JOB_OPEN_WRITE);
	assert_int_equal(files_of(h, 200)->kind, JOB_SOCKET);
	assert_int_equal(files_of(h, 20)->kind, JOB_DEVICE);
	assert_int_equal(files_of(h, 20)->ino, 5);
	home_over(h, 0);
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
			struct home *h = files_open();
			char script[] = "[ -e /proc/self/fd/7 ] && echo here";
			int out[2];

			home_pipe(out);
			close(h->fds[1]);
			close(h->fds[2]);
			h->fds[1] = h->fds[2] = out[1];
			files_give(h, 7, files_odd(kind));
			home_start(h, NULL, named ? "@0.1" : "@auto", "/bin/sh", script);
			UNTIL(h, h->ended);
			assert_false(h->job);
			if (named) {
				const char *text = home_content(out[0]);

				assert_int_equal(h->status, 1 << 8);
				assert_memory_equal(text, "ehctl exec: descriptor 7 ", 25);
			} else {
				assert_int_equal(h->status, 0);
				assert_string_equal(home_content(out[0]), "here\n");
			}
			close(out[0]);
			home_close(h);
		}
	}
}

static void test_too_many(void **state)
{
	struct home *h = files_open();
	int in[2];

	/* Duplicates are one. */
	home_pipe(in);
	for (int i = 0; i < 12; i++)
		files_give(h, 10 + i, in[0]);
	home_run(h, NULL, "7");
	assert_int_equal(h->nfiles, 1);
	assert_int_equal(h->ndescriptors, 12);
	home_over(h, 0);
	close(in[1]);
}

/* ---- streams ---- */

static void test_streams(void **state)
{
	struct job_message end = { .what = JOB_END };
	struct home *h = files_open();
	int in[2], out[2];
	uint32_t from, to;

	home_pipe(in);
	home_pipe(out);
	files_give(h, 9, in[0]);
	files_give(h, 5, out[1]);
	files_give(h, 6, out[1]);
	assert_int_equal(write(in[1], "1\n2\n3\n", 6), 6);
	home_run(h, NULL, "7");
	from = files_channel(h, 9);
	to = files_channel(h, 5);
	assert_int_equal(files_channel(h, 6), to);
	UNTIL(h, h->offers[from]);
	assert_int_equal(h->length, 0);
	job_end_grant(&h->far, from, 2);
	UNTIL(h, h->length == 2);
	home_print(h, to, "five\n", 5);
	UNTIL(h, home_poll(out[0], POLLIN) & POLLIN);
	assert_string_equal(home_content(out[0]), "five\n");
	/* All of its descriptors are closed then. */
	end.channel = to;
	home_say(h, &end);
	UNTIL(h, home_poll(out[0], 0) & POLLHUP);
	close(in[1]);
	UNTIL(h, h->offers[from] == 2);
	job_end_grant(&h->far, from, 100);
	UNTIL(h, h->length == 6);
	UNTIL(h, h->ends[from]);
	home_over(h, 0);
	close(out[0]);
}

static void test_closed(void **state)
{
	struct job_message closed = { .what = JOB_CLOSED };
	struct home *h = files_open();
	int in[2], out[2];

	home_pipe(in);
	home_pipe(out);
	files_give(h, 3, in[0]);
	files_give(h, 8, in[0]);
	files_give(h, 4, out[1]);
	home_run(h, NULL, "7");
	closed.channel = files_channel(h, 3);
	home_say(h, &closed);
	UNTIL(h, home_poll(in[1], 0) & POLLERR);
	close(out[0]);
	UNTIL(h, h->closed[files_channel(h, 4)]);
	home_over(h, 0);
	close(in[1]);
}

static void test_socket(void **state)
{
	struct job_message m = { .what = JOB_END };
	struct home *h = files_open();
	char text[16] = "";
	int sockets[2];
	uint32_t both;

	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), errno);
	files_give(h, 3, sockets[1]);
	home_run(h, NULL, "7");
	both = files_channel(h, 3);
	home_print(h, both, "question", 8);
	UNTIL(h, home_poll(sockets[0], POLLIN) & POLLIN);
	assert_int_equal(read(sockets[0], text, sizeof(text)), 8);
	assert_int_equal(write(sockets[0], "answer", 6), 6);
	UNTIL(h, h->offers[both]);
	job_end_grant(&h->far, both, 100);
	UNTIL(h, h->length == 6);
	/* The program closes it: first one direction, then the other. */
	m.channel = both;
	home_say(h, &m);
	home_step(h);
	assert_false(home_poll(sockets[0], 0) & POLLHUP);
	m.what = JOB_CLOSED;
	home_say(h, &m);
	UNTIL(h, home_poll(sockets[0], 0) & POLLHUP);
	home_over(h, 0);
	close(sockets[0]);
}

/* Each stream takes descriptors of the stub's own. Where there are not enough the task stays here. */
static void test_few(void **state)
{
	static const struct rlimit few = { 10, 10 }, enough = { 32, 32 };

	for (int i = 0; i < 2; i++) {
		struct home *h = files_open();
		int one[2], two[2], out[2];

		assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, one), errno);
		assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, two), errno);
		home_pipe(out);
		close(h->fds[1]);
		h->fds[1] = out[1];
		files_give(h, 3, one[1]);
		files_give(h, 4, two[1]);
		h->few = i ? &enough : &few;
		h->no_more = true;
		home_start(h, NULL, "7", "/bin/sh", "ulimit -n");
		UNTIL(h, h->job || h->ended);
		assert_int_equal(h->job, i);
		if (h->job) {
			home_begin(h);
			assert_int_equal(write(two[0], "text", 4), 4);
			UNTIL(h, h->offers[files_channel(h, 4)]);
			home_ends(h, 0);
		}
		assert_string_equal(home_content(out[0]), i ? "" : "10\n");
		close(out[0]);
		close(one[0]);
		close(two[0]);
		home_close(h);
	}
}

/* ---- tokens of make ---- */

static int tokens_lie(int fd)
{
	int n;

	assert_return_code(ioctl(fd, FIONREAD, &n), errno);
	return n;
}

/* A pipe of tokens, as descriptors 3 and 4 of the task. Returns one to read it. */
static int tokens_give(struct home *h, const char *text)
{
	int tokens[2], keep;

	home_pipe(tokens);
	keep = fcntl(tokens[0], F_DUPFD_CLOEXEC, 10);
	assert_int_equal(write(tokens[1], text, strlen(text)), strlen(text));
	files_give(h, 3, tokens[0]);
	files_give(h, 4, tokens[1]);
	return keep;
}

/* What was given and not read goes back, whatever becomes of the task. */
static void test_tokens(void **state)
{
	for (int how = 0; how < 3; how++) {
		struct job_message closed = { .what = JOB_CLOSED };
		struct home *h = files_open();
		int keep;
		uint32_t channel;

		keep = tokens_give(h, "abcd");
		setenv("MAKEFLAGS", "rR -j4 --jobserver-auth=9,8 --jobserver-auth=3,4", 1);
		home_run(h, NULL, "7");
		unsetenv("MAKEFLAGS");
		channel = files_channel(h, 3);
		assert_true(files_of(h, 3)->flags & JOB_OPEN_TOKENS);
		assert_true(files_of(h, 4)->flags & JOB_OPEN_TOKENS);
		UNTIL(h, h->offers[channel]);
		job_end_grant(&h->far, channel, 1);
		UNTIL(h, h->length == 1);
		UNTIL(h, h->offers[channel] == 2);
		job_end_read(&h->far, channel, 1);
		job_end_grant(&h->far, channel, 2);
		UNTIL(h, h->length == 3);
		assert_int_equal(h->data[0], 'a');
		/* It has died: its end of the pipe is seen first. */
		closed.channel = channel;
		if (how == 2)
			home_say(h, &closed);
		if (how == 1) {
			home_frame(h, FRAME_GONE, "", 0);
			UNTIL(h, h->ended);
			home_close(h);
		} else {
			home_over(h, 0);
		}
		/* Nor was the first put back. */
		assert_string_equal(home_content(keep), how == 1 ? "dabc" : "dbc");
		close(keep);
	}
}

/* How a task ends that has taken three tokens. */
static const struct holder {
	const char *puts; /* back, itself */
	int status; /* -1: it is lost */
	bool more, cut; /* children outlive it; they are lost */
	const char *left; /* at home in the end */
} holders[] = {
	{ "a", SIGKILL, false, false, "abc" }, { "a", -1, false, false, "abc" },
	{ "a", 0x100, false, false, "a" },     { "abcd", SIGKILL, false, false, "abcd" },
	{ "a", SIGKILL, true, false, "abc" },  { "a", SIGKILL, true, true, "abc" },
	{ "a", 0, true, false, "a" },	       { "a", 0, true, true, "abc" },
};

static void tokens_end(struct home *h, const struct holder *k)
{
	const struct job_message over = { .what = JOB_OVER };

	if (k->status < 0) {
		home_frame(h, FRAME_GONE, "", 0);
	} else {
		home_exit(h, k->status, k->more);
		if (k->cut)
			home_frame(h, FRAME_GONE, "", 0);
		else if (k->more)
			home_say(h, &over);
	}
	UNTIL(h, h->ended);
}

/* What a task that was killed or lost had taken is put back for it; one that ends keeps what it keeps at home, too. */
static void test_tokens_kept(void **state)
{
	for (size_t i = 0; i < sizeof(holders) / sizeof(*holders); i++) {
		const struct holder *k = &holders[i];
		struct home *h = files_open();
		int keep = tokens_give(h, "abc");
		uint32_t in, out;

		setenv("CARGO_MAKEFLAGS", "-j --jobserver-fds=3,4 --jobserver-auth=3,4", 1);
		home_run(h, NULL, "7");
		unsetenv("CARGO_MAKEFLAGS");
		in = files_channel(h, 3);
		out = files_channel(h, 4);
		for (unsigned int n = 1; n <= 3; n++) {
			UNTIL(h, h->offers[in] == n);
			job_end_grant(&h->far, in, 1);
			UNTIL(h, h->length == n);
		}
		job_end_read(&h->far, in, 3);
		home_print(h, out, k->puts, strlen(k->puts));
		UNTIL(h, tokens_lie(keep) == (int)strlen(k->puts));
		tokens_end(h, k);
		/* A copy of the stub may put them back. */
		UNTIL(h, tokens_lie(keep) == (int)strlen(k->left));
		home_close(h);
		assert_string_equal(home_content(keep), k->left);
		close(keep);
	}
}

/* However many. */
static void test_tokens_many(void **state)
{
	static char many[201];
	struct home *h = files_open();
	int keep;
	uint32_t in;

	memset(many, 'x', sizeof(many) - 1);
	keep = tokens_give(h, many);
	setenv("MAKEFLAGS", " -j201 --jobserver-auth=3,4", 1);
	home_run(h, NULL, "7");
	unsetenv("MAKEFLAGS");
	in = files_channel(h, 3);
	UNTIL(h, h->offers[in]);
	job_end_grant(&h->far, in, 200);
	UNTIL(h, h->length == 200);
	job_end_read(&h->far, in, 200);
	home_over(h, SIGKILL);
	assert_string_equal(home_content(keep), many);
	close(keep);
}

/* What MAKEFLAGS names may be anything in a task that is no make: two pipes stay two. */
static void test_tokens_none(void **state)
{
	struct home *h = files_open();
	int one[2], two[2];

	home_pipe(one);
	home_pipe(two);
	files_give(h, 3, one[0]);
	files_give(h, 4, two[1]);
	setenv("MAKEFLAGS", " -j4 --jobserver-auth=3,4", 1);
	home_run(h, NULL, "7");
	unsetenv("MAKEFLAGS");
	assert_false(files_of(h, 3)->flags & JOB_OPEN_TOKENS);
	assert_false(files_of(h, 4)->flags & JOB_OPEN_TOKENS);
	home_over(h, 0);
	close(one[1]);
	close(two[0]);
}

/* The path of a FIFO leads elsewhere on the executor, so it becomes two descriptors. */
static void test_fifo(void **state)
{
	struct home *h = files_open();
	char flags[128];
	unsigned int in, out, again;
	uint32_t channel;
	int maker, end = 0;

	unlink(temp_path(path, "stub.fifo"));
	assert_return_code(mkfifo(path, 0600), errno);
	maker = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	assert_int_equal(write(maker, "++", 2), 2);
	snprintf(flags, sizeof(flags), " -j3 --jobserver-auth=fifo:%s -- X=1", path);
	setenv("MAKEFLAGS", flags, 1);
	home_run(h, NULL, "7");
	unsetenv("MAKEFLAGS");
	assert_int_equal(
		sscanf(h->makeflags,
		       " -j3 --jobserver-auth=%u,%u --jobserver-auth=fifo:/proc/self/fd/%u -- X=1%n",
		       &in, &out, &again, &end),
		3);
	assert_int_equal(h->makeflags[end], '\0');
	assert_int_equal(again, in);
	assert_int_equal(h->nfiles, 2);
	assert_int_equal(files_of(h, in)->flags, JOB_OPEN_READ | JOB_OPEN_TOKENS);
	assert_int_equal(files_of(h, out)->flags, JOB_OPEN_WRITE | JOB_OPEN_TOKENS);
	channel = files_channel(h, in);
	UNTIL(h, h->offers[channel]);
	job_end_grant(&h->far, channel, 1);
	UNTIL(h, h->length == 1);
	job_end_read(&h->far, channel, 1);
	home_print(h, files_channel(h, out), "+", 1);
	home_over(h, 0);
	assert_string_equal(home_content(maker), "++");
	close(maker);
	unlink(path);
}

/* ---- files ---- */

static void test_real(void **state)
{
	struct job_message m = { .what = JOB_SEEK, .offset = 7 };
	int fd = files_make("0123456789", O_RDONLY), keep = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	struct home *h = files_open();

	lseek(fd, 2, SEEK_SET);
	close(h->fds[0]);
	h->fds[0] = fd;
	h->opens = true;
	home_run(h, NULL, "7");
	assert_false(h->flags & JOB_FD(0));
	assert_int_equal(files_of(h, 0)->kind, JOB_REAL);
	assert_int_equal(files_of(h, 0)->flags, JOB_OPEN_READ | JOB_OPEN_OR_STREAM);
	assert_int_equal(files_of(h, 0)->offset, 2);
	m.channel = files_channel(h, 0);
	home_say(h, &m);
	home_ends(h, 0);
	assert_int_equal(h->offers[m.channel], 0);
	home_close(h);
	assert_int_equal(lseek(keep, 0, SEEK_CUR), 7);
	close(keep);
	unlink(path);
}

/* The executor does not see this file: it is copied, as any file. */
static void test_not_there(void **state)
{
	int fd = files_make("0123456789", O_RDONLY), keep = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	struct home *h = files_open();
	uint32_t channel;

	close(h->fds[0]);
	h->fds[0] = fd;
	home_run(h, NULL, "7");
	channel = files_channel(h, 0);
	UNTIL(h, h->ends[channel]);
	assert_true(h->ahead);
	assert_int_equal(h->length, 10);
	job_end_read(&h->far, channel, 3);
	home_over(h, 0);
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

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct home *h = files_open();
		int fd = files_make(cases[i].text, cases[i].flags), keep = -1;

		lseek(fd, cases[i].at, SEEK_SET);
		if (cases[i].shared)
			keep = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		if (cases[i].number < 3) {
			close(h->fds[cases[i].number]);
			h->fds[cases[i].number] = fd;
		} else {
			files_give(h, cases[i].number, fd);
		}
		h->opens = true;
		/* Its parent closes it a moment after the fork. */
		if (!cases[i].shared)
			home_hold(h);
		home_start(h, NULL, "@0.1", "/bin/sh", "true");
		if (!cases[i].shared)
			home_let(h);
		if (cases[i].kind == -1) {
			UNTIL(h, h->ended);
			assert_int_equal(h->status, 1 << 8);
			home_close(h);
		} else {
			home_begin(h);
			if (cases[i].kind == -2) {
				assert_int_equal(h->nfiles, 0);
			} else {
				const struct job_file *f = files_of(h, cases[i].number);

				if ((int)f->kind != cases[i].kind || f->flags != cases[i].opened)
					fail_msg("case %zu: kind %u, flags %u", i, f->kind,
						 f->flags);
			}
			home_over(h, 0);
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
	struct home *h = files_open();

	files_give(h, 9, fd);
	h->opens = true;
	home_run(h, NULL, "7");
	other = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX), 0);
	m.channel = files_channel(h, 9);
	home_say(h, &m);
	home_exit(h, 0, false);
	for (int i = 0; i < 10; i++)
		home_step(h);
	assert_false(h->ended);
	assert_int_equal(flock(other, LOCK_UN), 0);
	UNTIL(h, h->ended);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	home_close(h);
	close(keep);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	unlink(path);
}

/* Whoever has locked it would wait for himself there. */
static void test_locked(void **state)
{
	int fd = files_make("", O_WRONLY), keep = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	struct home *h = files_open();

	assert_int_equal(flock(fd, LOCK_EX), 0);
	files_give(h, 9, fd);
	home_start(h, NULL, "@0.1", "/bin/true", NULL);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 1 << 8);
	home_close(h);
	close(keep);
	unlink(path);
}

/* The executor is lost before it has read anything: the second run has all of them. */
static void test_again(void **state)
{
	struct home *h = files_open();
	int in[2], out[2];

	home_pipe(in);
	home_pipe(out);
	files_give(h, 3, in[0]);
	files_give(h, 4, out[1]);
	files_give(h, 5, out[1]);
	assert_int_equal(write(in[1], "text\n", 5), 5);
	close(in[1]);
	home_start(h, "--retry", "@auto", "/bin/sh", "cat <&3 >&4; echo five >&5");
	home_begin(h);
	home_frame(h, FRAME_GONE, "", 0);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 0);
	assert_string_equal(home_content(out[0]), "text\nfive\n");
	close(out[0]);
	home_close(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),	    cmocka_unit_test(test_list),
		cmocka_unit_test(test_refused),	    cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_streams),	    cmocka_unit_test(test_closed),
		cmocka_unit_test(test_socket),	    cmocka_unit_test(test_few),
		cmocka_unit_test(test_tokens),	    cmocka_unit_test(test_tokens_kept),
		cmocka_unit_test(test_tokens_many), cmocka_unit_test(test_tokens_none),
		cmocka_unit_test(test_fifo),	    cmocka_unit_test(test_real),
		cmocka_unit_test(test_not_there),   cmocka_unit_test(test_shared),
		cmocka_unit_test(test_lock),	    cmocka_unit_test(test_locked),
		cmocka_unit_test(test_again),
	};

	return cmocka_run_group_tests(tests, home_group, NULL);
}
