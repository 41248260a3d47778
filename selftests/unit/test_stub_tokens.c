// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub of a task that has the tokens of make's jobserver: what is given is in a pipe or FIFO at home in the end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stub_home.h"
#include "temp.h"

static int tokens_lie(int fd)
{
	int n;

	assert_return_code(ioctl(fd, FIONREAD, &n), errno);
	return n;
}

/* A pipe of tokens, as descriptors 3 and 4 of the task. Returns one to read it. */
static int tokens_give(struct stub_home *h, const char *text)
{
	int tokens[2], keep;

	stub_pipe(tokens);
	keep = fcntl(tokens[0], F_DUPFD_CLOEXEC, 10);
	assert_int_equal(write(tokens[1], text, strlen(text)), strlen(text));
	stub_give(h, 3, tokens[0]);
	stub_give(h, 4, tokens[1]);
	return keep;
}

/* What was given and not read goes back, whatever becomes of the task. */
static void test_tokens(void **state)
{
	for (int how = 0; how < 3; how++) {
		struct job_message closed = { .what = JOB_CLOSED };
		struct stub_home *h = stub_open_null();
		int keep;
		uint32_t channel;

		keep = tokens_give(h, "abcd");
		setenv("MAKEFLAGS", "rR -j4 --jobserver-auth=9,8 --jobserver-auth=3,4", 1);
		stub_run(h, NULL, "7");
		unsetenv("MAKEFLAGS");
		channel = stub_file_channel(h, 3);
		assert_true(stub_file(h, 3)->flags & JOB_OPEN_TOKENS);
		assert_true(stub_file(h, 4)->flags & JOB_OPEN_TOKENS);
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
			stub_say(h, &closed);
		if (how == 1) {
			stub_frame(h, FRAME_GONE, "", 0);
			UNTIL(h, h->ended);
			stub_close(h);
		} else {
			stub_over(h, 0);
		}
		/* Nor was the first put back. */
		assert_string_equal(stub_content(keep), how == 1 ? "dabc" : "dbc");
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

static void tokens_end(struct stub_home *h, const struct holder *k)
{
	const struct job_message over = { .what = JOB_OVER };

	if (k->status < 0) {
		stub_frame(h, FRAME_GONE, "", 0);
	} else {
		stub_exit(h, k->status, k->more);
		if (k->cut)
			stub_frame(h, FRAME_GONE, "", 0);
		else if (k->more)
			stub_say(h, &over);
	}
	UNTIL(h, h->ended);
}

/* What a task that was killed or lost had taken is put back for it; one that ends keeps what it keeps at home, too. */
static void test_tokens_kept(void **state)
{
	for (size_t i = 0; i < sizeof(holders) / sizeof(*holders); i++) {
		const struct holder *k = &holders[i];
		struct stub_home *h = stub_open_null();
		int keep = tokens_give(h, "abc");
		uint32_t in, out;

		setenv("CARGO_MAKEFLAGS", "-j --jobserver-fds=3,4 --jobserver-auth=3,4", 1);
		stub_run(h, NULL, "7");
		unsetenv("CARGO_MAKEFLAGS");
		in = stub_file_channel(h, 3);
		out = stub_file_channel(h, 4);
		for (unsigned int n = 1; n <= 3; n++) {
			UNTIL(h, h->offers[in] == n);
			job_end_grant(&h->far, in, 1);
			UNTIL(h, h->length == n);
		}
		job_end_read(&h->far, in, 3);
		stub_print(h, out, k->puts, strlen(k->puts));
		UNTIL(h, tokens_lie(keep) == (int)strlen(k->puts));
		tokens_end(h, k);
		/* A copy of the stub may put them back. */
		UNTIL(h, tokens_lie(keep) == (int)strlen(k->left));
		stub_close(h);
		assert_string_equal(stub_content(keep), k->left);
		close(keep);
	}
}

/* However many. */
static void test_tokens_many(void **state)
{
	static char many[201];
	struct stub_home *h = stub_open_null();
	int keep;
	uint32_t in;

	memset(many, 'x', sizeof(many) - 1);
	keep = tokens_give(h, many);
	setenv("MAKEFLAGS", " -j201 --jobserver-auth=3,4", 1);
	stub_run(h, NULL, "7");
	unsetenv("MAKEFLAGS");
	in = stub_file_channel(h, 3);
	UNTIL(h, h->offers[in]);
	job_end_grant(&h->far, in, 200);
	UNTIL(h, h->length == 200);
	job_end_read(&h->far, in, 200);
	stub_over(h, SIGKILL);
	assert_string_equal(stub_content(keep), many);
	close(keep);
}

/* What MAKEFLAGS names may be anything in a task that is no make: two pipes stay two. */
static void test_tokens_none(void **state)
{
	struct stub_home *h = stub_open_null();
	int one[2], two[2];

	stub_pipe(one);
	stub_pipe(two);
	stub_give(h, 3, one[0]);
	stub_give(h, 4, two[1]);
	setenv("MAKEFLAGS", " -j4 --jobserver-auth=3,4", 1);
	stub_run(h, NULL, "7");
	unsetenv("MAKEFLAGS");
	assert_false(stub_file(h, 3)->flags & JOB_OPEN_TOKENS);
	assert_false(stub_file(h, 4)->flags & JOB_OPEN_TOKENS);
	stub_over(h, 0);
	close(one[1]);
	close(two[0]);
}

/* The path of a FIFO leads elsewhere on the executor, so it becomes two descriptors. */
static void test_fifo(void **state)
{
	struct stub_home *h = stub_open_null();
	char path[TEMP_PATH], flags[128];
	unsigned int in, out, again;
	uint32_t channel;
	int maker, end = 0;

	unlink(temp_path(path, "stub.fifo"));
	assert_return_code(mkfifo(path, 0600), errno);
	maker = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	assert_int_equal(write(maker, "++", 2), 2);
	snprintf(flags, sizeof(flags), " -j3 --jobserver-auth=fifo:%s -- X=1", path);
	setenv("MAKEFLAGS", flags, 1);
	stub_run(h, NULL, "7");
	unsetenv("MAKEFLAGS");
	assert_int_equal(
		sscanf(h->makeflags,
		       " -j3 --jobserver-auth=%u,%u --jobserver-auth=fifo:/proc/self/fd/%u -- X=1%n",
		       &in, &out, &again, &end),
		3);
	assert_int_equal(h->makeflags[end], '\0');
	assert_int_equal(again, in);
	assert_int_equal(h->nfiles, 2);
	assert_int_equal(stub_file(h, in)->flags, JOB_OPEN_READ | JOB_OPEN_TOKENS);
	assert_int_equal(stub_file(h, out)->flags, JOB_OPEN_WRITE | JOB_OPEN_TOKENS);
	channel = stub_file_channel(h, in);
	UNTIL(h, h->offers[channel]);
	job_end_grant(&h->far, channel, 1);
	UNTIL(h, h->length == 1);
	job_end_read(&h->far, channel, 1);
	stub_print(h, stub_file_channel(h, out), "+", 1);
	stub_over(h, 0);
	assert_string_equal(stub_content(maker), "++");
	close(maker);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),	    cmocka_unit_test(test_tokens_kept),
		cmocka_unit_test(test_tokens_many), cmocka_unit_test(test_tokens_none),
		cmocka_unit_test(test_fifo),
	};

	stub_program();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
