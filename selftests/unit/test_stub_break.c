// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub: connections that break, agents that go and come, losses and second runs. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "random.h"
#include "stub_home.h"
#include "temp.h"

/* ---- breaks ---- */

/* The agents lose the way to each other, and find it again. */
static void detach(struct stub_home *h)
{
	stub_frame(h, FRAME_DETACHED, NULL, 0);
	job_end_detach(&h->far, clock_ms());
}

/* Bulk data both ways, with a break of the connection or of the way at random moments. */
static void test_breaks(void **state)
{
	static uint8_t there[300000], back[300000], typed[300000];
	struct stub_home *h = stub_open();
	size_t sent = 0, have = 0, fed = 0, taken = 0;
	const uint64_t end = clock_ms() + STUB_LIMIT_MS;
	unsigned int cuts = 0, ways = 0;
	int in[2], out[2];
	ssize_t n;

	for (size_t i = 0; i < sizeof(there); i++) {
		there[i] = random_64();
		typed[i] = random_64();
	}
	stub_null(h, 3);
	stub_pipe(in);
	stub_pipe(out);
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	h->fds[0] = in[0];
	h->fds[1] = out[1];
	stub_run(h, NULL, "7");
	while (have < sizeof(back) || h->length < sizeof(typed)) {
		if (clock_ms() > end)
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
		stub_step(h);
		n = read(out[0], back + have,
			 have + 3000 < sizeof(back) ? 3000 : sizeof(back) - have);
		have += n > 0 ? n : 0;
		if (h->agent < 0 || random_below(8))
			continue;
		if (random_below(2)) {
			stub_cut(h);
			cuts++;
		} else {
			detach(h);
			for (uint64_t i = random_below(4); i && h->agent >= 0; i--)
				stub_step(h);
			if (h->agent >= 0)
				stub_attach(h);
			ways++;
		}
	}
	printf("# %u connections and %u ways broke\n", cuts, ways);
	assert_memory_equal(there, back, sizeof(back));
	assert_memory_equal(typed, h->data, sizeof(typed));
	UNTIL(h, h->agent >= 0);
	stub_over(h, 0);
	close(in[1]);
	close(out[0]);
}

static void test_agent_back(void **state)
{
	struct stub_home *h = stub_open();
	int out[2];

	stub_null(h, 3);
	stub_pipe(out);
	h->fds[1] = out[1];
	stub_run(h, NULL, "7");
	close(h->listener);
	stub_cut(h);
	kill(h->stub, SIGUSR1);
	stub_print(h, 1, "while it was away\n", 18);
	for (int i = 0; i < 10; i++)
		stub_step(h);
	assert_false(h->ended);
	h->listener = stub_listen();
	UNTIL(h, h->attaches == 1);
	assert_string_equal(h->attach.token, "TOKEN");
	assert_string_equal(h->attach.id, "0.0-1");
	assert_string_equal(h->attach.other, "0.1");
	assert_string_equal(h->attach.command, "sh");
	assert_int_equal(h->attach.pid, 77);
	assert_int_equal(h->attach.started_ms, 1);
	assert_false(h->attach.executor);
	UNTIL(h, h->signals[SIGUSR1] == 1);
	UNTIL(h, stub_poll(out[0], POLLIN));
	assert_string_equal(stub_content(out[0]), "while it was away\n");
	stub_over(h, 0);
	close(out[0]);
}

/* ---- losses ---- */

enum how { GONE, LIMIT, AWAY };

static void lose(struct stub_home *h, enum how how)
{
	switch (how) {
	case GONE:
		stub_frame(h, FRAME_GONE, "ended", 5);
		break;
	case LIMIT:
		detach(h);
		break;
	case AWAY:
		close(h->listener);
		h->listener = -1;
		stub_cut(h);
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
		struct stub_home *h = stub_open();
		int out[2], err[2];

		stub_null(h, 3);
		stub_pipe(out);
		stub_pipe(err);
		h->fds[1] = out[1];
		h->fds[2] = err[1];
		h->attached.limit_ms = 300;
		stub_run(h, NULL, "7");
		stub_print(h, 1, "before\n", 7);
		UNTIL(h, stub_poll(out[0], POLLIN));
		lose(h, how);
		UNTIL(h, h->ended);
		assert_int_equal(h->status, SIGKILL);
		assert_string_equal(stub_content(out[0]), "before\n");
		assert_string_equal(stub_content(err[0]), texts[how]);
		while (h->agent >= 0)
			stub_step(h);
		assert_int_equal(h->notes[NOTE_LOST], how != AWAY);
		close(out[0]);
		close(err[0]);
		stub_close(h);
	}
}

/* The task itself has ended: that its children are lost does not change how. */
static void test_lost_children(void **state)
{
	struct stub_home *h = stub_open();
	int out[2];

	stub_null(h, 3);
	stub_pipe(out);
	h->fds[1] = out[1];
	h->attached.limit_ms = 100;
	stub_run(h, NULL, "7");
	stub_exit(h, 0, true);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 0);
	detach(h);
	UNTIL(h, stub_poll(out[0], 0) & POLLHUP);
	assert_string_equal(stub_content(out[0]), "");
	close(out[0]);
	stub_close(h);
}

/* ---- second runs ---- */

/* What it wrote in both runs together, after the loss. */
static const char *run_again(struct stub_home *h, int out, int *status)
{
	stub_frame(h, FRAME_GONE, "", 0);
	UNTIL(h, h->ended);
	while (h->agent >= 0)
		stub_step(h);
	*status = h->status;
	return stub_content(out);
}

static void test_rerun_file(void **state)
{
	const struct job_message stopped = { .what = JOB_STOPPED, .signal = SIGSTOP };
	struct stub_home *h = stub_open();
	FILE *f = tmpfile();
	int out[2], status;

	stub_null(h, 3);
	stub_pipe(out);
	assert_int_equal(write(fileno(f), "0123456789", 10), 10);
	lseek(fileno(f), 4, SEEK_SET);
	h->fds[0] = dup(fileno(f));
	h->fds[1] = h->fds[2] = out[1];
	stub_run(h, "--retry", "@auto");
	UNTIL(h, h->ends[0]);
	job_end_read(&h->far, 0, 5);
	stub_say(h, &stopped);
	UNTIL(h, h->stopped);
	assert_int_equal(lseek(fileno(f), 0, SEEK_CUR), 9);
	kill(h->stub, SIGCONT);
	UNTIL(h, !h->stopped);
	stub_print(h, 1, "there\n", 6);
	UNTIL(h, stub_poll(out[0], POLLIN));
	assert_string_equal(run_again(h, out[0], &status),
			    "there\nehsched: lost there while it ran this task (0.0-1); it is run "
			    "again here\nhere\n456789");
	assert_int_equal(status, 0);
	assert_int_equal(h->notes[NOTE_RERUN], 1);
	fclose(f);
	close(out[0]);
	stub_close(h);
}

static void test_rerun_pipe(void **state)
{
	for (int used = 0; used < 2; used++) {
		struct stub_home *h = stub_open();
		int in[2], out[2], status;
		const char *text;

		stub_null(h, 3);
		stub_pipe(in);
		stub_pipe(out);
		h->fds[0] = in[0];
		h->fds[1] = h->fds[2] = out[1];
		assert_int_equal(write(in[1], "abc\n", 4), 4);
		close(in[1]);
		h->attached.retry = true;
		stub_run(h, NULL, "7");
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
		stub_close(h);
	}
}

static void test_rerun_told_to_end(void **state)
{
	struct stub_home *h = stub_open();
	int out[2], status;

	stub_null(h, 3);
	stub_pipe(out);
	h->fds[1] = h->fds[2] = out[1];
	stub_run(h, "--retry", "@auto");
	kill(h->stub, SIGTERM);
	UNTIL(h, h->signals[SIGTERM]);
	assert_non_null(
		strstr(run_again(h, out[0], &status), "not run again: it was told to end\n"));
	assert_int_equal(status, SIGKILL);
	assert_int_equal(h->notes[NOTE_LOST], 1);
	close(out[0]);
	stub_close(h);
}

/* ---- what the task has left ---- */

/* Another process has locked the file in between, and keeps it. The task has ended: it does not run again. */
static void test_lock_kept(void **state)
{
	struct job_message m = { .what = JOB_LOCK, .exclusive = true };

	for (int retry = 0; retry < 2; retry++) {
		char path[TEMP_PATH];
		struct stub_home *h = stub_open();
		int out[2], fd = mkstemp(temp_path(path, "stub.XXXXXX")), other;
		const uint64_t began = clock_ms();

		assert_return_code(fd, errno);
		other = open(path, O_RDONLY | O_CLOEXEC);
		assert_return_code(flock(other, LOCK_EX), errno);
		close(fd);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		stub_null(h, 3);
		stub_pipe(out);
		h->fds[1] = h->fds[2] = out[1];
		h->more[h->nmore].fd = fd;
		h->more[h->nmore++].number = 9;
		h->opens = true;
		h->attached.limit_ms = 200;
		h->attached.retry = retry;
		stub_run(h, NULL, "7");
		m.channel = stub_channel(h, 9);
		stub_say(h, &m);
		stub_exit(h, 0, false);
		UNTIL(h, h->ended && (h->notes[NOTE_LOST] || h->notes[NOTE_RERUN]));
		/* It must not say that the lock is its parent's. */
		assert_int_equal(h->notes[NOTE_RERUN], 0);
		assert_int_equal(h->status, SIGKILL);
		assert_true(clock_ms() - began >= 200);
		assert_int_equal(h->notes[NOTE_ENDED], 0);
		assert_string_equal(
			stub_content(out[0]),
			"ehsched: another process here has the lock that there had for this "
			"task (0.0-1); it is reported as killed\n");
		stub_close(h);
		close(out[0]);
		close(other);
		unlink(path);
	}
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
		cmocka_unit_test(test_lock_kept),
	};

	random_begin();
	stub_program();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
