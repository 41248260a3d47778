// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub: connections that break, agents that go and come, losses, second runs, and copies ahead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>

#include "random.h"
#include "stub_home.h"

static void give_null(struct home *h, int n)
{
	for (int i = 0; i < n; i++)
		h->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* ---- breaks ---- */

/* The agents lose the way to each other, and find it again. */
static void detach(struct home *h)
{
	home_frame(h, FRAME_DETACHED, NULL, 0);
	job_end_detach(&h->far, home_now());
}

/* Bulk data both ways, with a break of the connection or of the way at random moments. */
static void test_breaks(void **state)
{
	static uint8_t there[300000], back[300000], typed[300000];
	struct home *h = home_open();
	size_t sent = 0, have = 0, fed = 0, taken = 0;
	const int64_t end = home_now() + HOME_LIMIT_MS;
	unsigned int cuts = 0, ways = 0;
	int in[2], out[2];
	ssize_t n;

	for (size_t i = 0; i < sizeof(there); i++) {
		there[i] = random_64();
		typed[i] = random_64();
	}
	give_null(h, 3);
	home_pipe(in);
	home_pipe(out);
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	h->fds[0] = in[0];
	h->fds[1] = out[1];
	home_run(h, NULL, "7");
	while (have < sizeof(back) || h->length < sizeof(typed)) {
		if (home_now() > end)
			fail_msg("stands at %zu of %zu out, %zu of %zu in, %llu granted, ahead %d",
				 have, sent, h->length, fed,
				 (unsigned long long)job_end_granted(&h->far, 0), h->ahead);
		size_t room = job_end_room(&h->far, 1);

		if (room > sizeof(there) - sent)
			room = sizeof(there) - sent;
		if (room)
			job_end_send(&h->far, 1, there + sent, room, false);
		sent += room;
		n = fed < sizeof(typed) ? write(in[1], typed + fed, sizeof(typed) - fed) : 0;
		fed += n > 0 ? n : 0;
		/* The program reads all that comes, whether it is copied ahead or not. */
		job_end_read(&h->far, 0, h->length);
		if (h->ahead && taken < h->answered)
			taken = h->answered;
		if (h->ahead && h->length > taken)
			job_end_grant(&h->far, 0, h->length - taken);
		else if (!job_end_granted(&h->far, 0))
			job_end_grant(&h->far, 0, 8192);
		taken = h->length;
		home_step(h);
		n = read(out[0], back + have,
			 have + 3000 < sizeof(back) ? 3000 : sizeof(back) - have);
		have += n > 0 ? n : 0;
		if (h->agent < 0 || random_below(8))
			continue;
		if (random_below(2)) {
			home_cut(h);
			cuts++;
		} else {
			detach(h);
			for (uint64_t i = random_below(4); i && h->agent >= 0; i--)
				home_step(h);
			if (h->agent >= 0)
				home_attach(h);
			ways++;
		}
	}
	printf("# %u connections and %u ways broke\n", cuts, ways);
	assert_memory_equal(there, back, sizeof(back));
	assert_memory_equal(typed, h->data, sizeof(typed));
	UNTIL(h, h->agent >= 0);
	home_over(h, 0);
	close(in[1]);
	close(out[0]);
}

static void test_agent_back(void **state)
{
	struct home *h = home_open();
	int out[2];

	give_null(h, 3);
	home_pipe(out);
	h->fds[1] = out[1];
	home_run(h, NULL, "7");
	close(h->listener);
	home_cut(h);
	kill(h->stub, SIGUSR1);
	home_print(h, 1, "while it was away\n", 18);
	for (int i = 0; i < 10; i++)
		home_step(h);
	assert_false(h->ended);
	h->listener = home_listen();
	UNTIL(h, h->attaches == 1);
	assert_string_equal(h->attach.token, "TOKEN");
	assert_string_equal(h->attach.id, "0.0-1");
	assert_string_equal(h->attach.other, "0.1");
	assert_string_equal(h->attach.command, "sh");
	assert_int_equal(h->attach.pid, 77);
	assert_int_equal(h->attach.started_ms, 1);
	assert_false(h->attach.executor);
	UNTIL(h, h->signals[SIGUSR1] == 1);
	UNTIL(h, home_poll(out[0], POLLIN));
	assert_string_equal(home_content(out[0]), "while it was away\n");
	home_over(h, 0);
	close(out[0]);
}

/* ---- losses ---- */

enum how { GONE, LIMIT, AWAY };

static void lose(struct home *h, enum how how)
{
	switch (how) {
	case GONE:
		home_frame(h, FRAME_GONE, "ended", 5);
		break;
	case LIMIT:
		detach(h);
		break;
	case AWAY:
		close(h->listener);
		h->listener = -1;
		home_cut(h);
		break;
	}
}

static void test_lost(void **state)
{
	static const char *const texts[] = {
		[GONE] = "ehsched: lost there while it ran this task (0.0-1); it is reported as "
			 "killed\n",
		[LIMIT] =
			"ehsched: no connection to there in the time limit while it ran this task "
			"(0.0-1); it is reported as killed\n",
		[AWAY] =
			"ehsched: no agent on this node in the time limit while there ran this task "
			"(0.0-1); it is reported as killed\n",
	};

	for (enum how how = GONE; how <= AWAY; how++) {
		struct home *h = home_open();
		int out[2], err[2];

		give_null(h, 3);
		home_pipe(out);
		home_pipe(err);
		h->fds[1] = out[1];
		h->fds[2] = err[1];
		h->attached.limit_ms = 300;
		home_run(h, NULL, "7");
		home_print(h, 1, "before\n", 7);
		UNTIL(h, home_poll(out[0], POLLIN));
		lose(h, how);
		UNTIL(h, h->ended);
		assert_int_equal(h->status, SIGKILL);
		assert_string_equal(home_content(out[0]), "before\n");
		assert_string_equal(home_content(err[0]), texts[how]);
		while (h->agent >= 0)
			home_step(h);
		assert_int_equal(h->notes[NOTE_LOST], how != AWAY);
		close(out[0]);
		close(err[0]);
		home_close(h);
	}
}

/* The task itself has ended: that its children are lost does not change how. */
static void test_lost_children(void **state)
{
	struct home *h = home_open();
	int out[2];

	give_null(h, 3);
	home_pipe(out);
	h->fds[1] = out[1];
	h->attached.limit_ms = 100;
	home_run(h, NULL, "7");
	home_exit(h, 0, true);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 0);
	detach(h);
	UNTIL(h, home_poll(out[0], 0) & POLLHUP);
	assert_string_equal(home_content(out[0]), "");
	close(out[0]);
	home_close(h);
}

/* ---- second runs ---- */

/* What it wrote in both runs together, after the loss. */
static const char *run_again(struct home *h, int out, int *status)
{
	home_frame(h, FRAME_GONE, "", 0);
	UNTIL(h, h->ended);
	while (h->agent >= 0)
		home_step(h);
	*status = h->status;
	return home_content(out);
}

static void test_rerun_file(void **state)
{
	const struct job_message stopped = { .what = JOB_STOPPED, .signal = SIGSTOP };
	struct home *h = home_open();
	FILE *f = tmpfile();
	int out[2], status;

	give_null(h, 3);
	home_pipe(out);
	assert_int_equal(write(fileno(f), "0123456789", 10), 10);
	lseek(fileno(f), 4, SEEK_SET);
	h->fds[0] = dup(fileno(f));
	h->fds[1] = h->fds[2] = out[1];
	home_run(h, "--retry", "@auto");
	UNTIL(h, h->ends[0]);
	job_end_read(&h->far, 0, 5);
	home_say(h, &stopped);
	UNTIL(h, h->stopped);
	assert_int_equal(lseek(fileno(f), 0, SEEK_CUR), 9);
	kill(h->stub, SIGCONT);
	UNTIL(h, !h->stopped);
	home_print(h, 1, "there\n", 6);
	UNTIL(h, home_poll(out[0], POLLIN));
	assert_string_equal(run_again(h, out[0], &status),
			    "there\nehsched: lost there while it ran this task (0.0-1); it is run "
			    "again here\nhere\n456789");
	assert_int_equal(status, 0);
	assert_int_equal(h->notes[NOTE_RERUN], 1);
	fclose(f);
	close(out[0]);
	home_close(h);
}

static void test_rerun_pipe(void **state)
{
	for (int used = 0; used < 2; used++) {
		struct home *h = home_open();
		int in[2], out[2], status;
		const char *text;

		give_null(h, 3);
		home_pipe(in);
		home_pipe(out);
		h->fds[0] = in[0];
		h->fds[1] = h->fds[2] = out[1];
		assert_int_equal(write(in[1], "abc\n", 4), 4);
		close(in[1]);
		h->attached.retry = true;
		home_run(h, NULL, "7");
		UNTIL(h, h->offers[0]);
		if (used) {
			job_end_grant(&h->far, 0, 1);
			UNTIL(h, h->length == 1);
		}
		text = run_again(h, out[0], &status);
		assert_int_equal(status, used ? SIGKILL : 0);
		if (used)
			assert_non_null(strstr(text, "not run again: its standard input cannot be "
						     "rewound\n"));
		else
			assert_non_null(strstr(text, "run again here\nhere\nabc\n"));
		close(out[0]);
		home_close(h);
	}
}

static void test_rerun_told_to_end(void **state)
{
	struct home *h = home_open();
	int out[2], status;

	give_null(h, 3);
	home_pipe(out);
	h->fds[1] = h->fds[2] = out[1];
	home_run(h, "--retry", "@auto");
	kill(h->stub, SIGTERM);
	UNTIL(h, h->signals[SIGTERM]);
	assert_non_null(
		strstr(run_again(h, out[0], &status), "not run again: it was told to end\n"));
	assert_int_equal(status, SIGKILL);
	assert_int_equal(h->notes[NOTE_LOST], 1);
	close(out[0]);
	home_close(h);
}

/* ---- copies ahead ---- */

/* Asks for 64 KiB in large answers. */
static void ask_much(struct home *h, int in, const uint8_t *bytes)
{
	for (size_t at = 0; at < 65536; at += 16384) {
		assert_int_equal(write(in, bytes + at, 16384), 16384);
		while (h->length < at + 16384) {
			if (!job_end_granted(&h->far, 0))
				job_end_grant(&h->far, 0, 8192);
			home_step(h);
		}
	}
}

static void copies(int in[2], bool other)
{
	static uint8_t much[65536 + 100];
	struct home *h = home_open();
	char byte[4] = "";
	pid_t reader = 0;
	int queued;

	for (size_t i = 0; i < sizeof(much); i++)
		much[i] = random_64();
	give_null(h, 3);
	h->fds[0] = dup(in[0]);
	if (other) {
		reader = fork();
		if (!reader) {
			pause();
			_exit(0);
		}
	}
	home_run(h, NULL, "7");
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
	home_exit(h, 0, false);
	UNTIL(h, h->ended);
	if (!other) {
		assert_int_equal(read(in[0], byte, 3), 1);
		assert_string_equal(byte, "y");
	}
	close(in[0]);
	close(in[1]);
	home_close(h);
}

static void test_copies_pipe(void **state)
{
	int in[2];

	home_pipe(in);
	copies(in, false);
}

static void test_copies_socket(void **state)
{
	int in[2];

	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), errno);
	copies(in, false);
}

static void test_copies_two_readers(void **state)
{
	int in[2];

	home_pipe(in);
	copies(in, true);
}

/* All that is copied is read, but less than half a window: the writer is not held up. */
static void test_copies_full(void **state)
{
	static uint8_t much[65536];
	struct home *h = home_open();
	int in[2], small = 0, sent = 0;
	size_t taken;

	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), errno);
	give_null(h, 3);
	h->fds[0] = in[0];
	home_run(h, NULL, "7");
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
		job_end_read(&h->far, 0, h->length);
		job_end_grant(&h->far, 0, h->length - taken);
		taken = h->length;
		UNTIL(h, write(in[1], "x", 1) == 1);
		small++;
	}
	home_exit(h, 0, false);
	UNTIL(h, h->ended);
	close(in[1]);
	home_close(h);
}

/* One long write, which goes on whenever something is taken out. */
static void test_copies_long_write(void **state)
{
	static uint8_t much[900000];
	struct home *h = home_open();
	size_t taken, before = 0;
	unsigned int quiet = 0;
	pid_t writer;
	int in[2];

	for (size_t i = 0; i < sizeof(much); i++)
		much[i] = random_64();
	home_pipe(in);
	give_null(h, 3);
	h->fds[0] = in[0];
	writer = fork();
	assert_return_code(writer, errno);
	if (!writer) {
		close(in[0]);
		_exit(write(in[1], much, sizeof(much)) != sizeof(much));
	}
	close(in[1]);
	/* Now it cannot read it any more. */
	UNTIL(h, home_poll(in[0], POLLIN));
	home_run(h, NULL, "7");
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
	home_over(h, 0);
	waitpid(writer, NULL, 0);
}

/* A shell reads a byte at a time: after some of these answers copies follow, too. */
static void test_copies_bytes(void **state)
{
	struct home *h = home_open();
	char text[100];
	int in[2];

	memset(text, 'x', sizeof(text));
	home_pipe(in);
	give_null(h, 3);
	h->fds[0] = in[0];
	assert_int_equal(write(in[1], text, sizeof(text)), sizeof(text));
	home_run(h, NULL, "7");
	UNTIL(h, ({
		      if (!h->ahead && !job_end_granted(&h->far, 0))
			      job_end_grant(&h->far, 0, 1);
		      h->length == sizeof(text);
	      }));
	assert_true(h->ahead);
	home_over(h, 0);
	close(in[1]);
}

/* A program that is never seen to wait may look from time to time: it gets copies. */
static void test_copies_unseen(void **state)
{
	struct home *h = home_open();
	int in[2], queued;

	home_pipe(in);
	give_null(h, 3);
	h->fds[0] = dup(in[0]);
	assert_int_equal(write(in[1], "text", 4), 4);
	home_run(h, NULL, "7");
	UNTIL(h, h->length == 4);
	assert_true(h->ahead);
	assert_return_code(ioctl(in[0], FIONREAD, &queued), errno);
	assert_int_equal(queued, 4);
	home_over(h, 0);
	assert_string_equal(home_content(in[0]), "text");
	close(in[0]);
	close(in[1]);
}

/* The end of a pipe is told when all of it was copied. */
static void test_copies_end(void **state)
{
	static uint8_t much[65536];
	struct home *h = home_open();
	int in[2];

	home_pipe(in);
	give_null(h, 3);
	h->fds[0] = in[0];
	home_run(h, NULL, "7");
	ask_much(h, in[1], much);
	assert_int_equal(write(in[1], "end", 3), 3);
	UNTIL(h, h->length == sizeof(much) + 3);
	assert_int_equal(h->ends[0], 0);
	close(in[1]);
	UNTIL(h, h->ends[0] == 1);
	home_over(h, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_breaks),
		cmocka_unit_test(test_agent_back),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_children),
		cmocka_unit_test(test_rerun_file),
		cmocka_unit_test(test_rerun_pipe),
		cmocka_unit_test(test_rerun_told_to_end),
		cmocka_unit_test(test_copies_pipe),
		cmocka_unit_test(test_copies_socket),
		cmocka_unit_test(test_copies_two_readers),
		cmocka_unit_test(test_copies_full),
		cmocka_unit_test(test_copies_bytes),
		cmocka_unit_test(test_copies_unseen),
		cmocka_unit_test(test_copies_end),
		cmocka_unit_test(test_copies_long_write),
	};

	random_begin();
	return cmocka_run_group_tests(tests, home_group, NULL);
}
