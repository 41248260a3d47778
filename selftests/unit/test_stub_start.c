// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub until its job has started: refused, lost or ended before GO, so that the program runs here. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stub_home.h"
#include "temp.h"

static void test_refused(void **state)
{
	struct stub_home *h = stub_open();
	uint8_t payload[12] = { 5, 0, 0, 0, 0, 0, 0, 0, 'b', 'u', 's', 'y' };
	int in[2], out[2];

	stub_null(h, 3);
	stub_pipe(in);
	stub_pipe(out);
	h->fds[0] = in[0];
	h->fds[1] = out[1];
	assert_int_equal(write(in[1], "a\nb\n", 4), 4);
	close(in[1]);
	stub_start(h, NULL, "7", "/bin/sh", "echo here; cat");
	UNTIL(h, h->job);
	stub_frame(h, FRAME_REFUSED, payload, sizeof(payload));
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 0);
	assert_string_equal(stub_content(out[0]), "here\na\nb\n");
	close(out[0]);
	stub_close(h);
}

static void test_refused_explicit(void **state)
{
	struct stub_home *h = stub_open();
	uint8_t payload[12] = { 5, 0, 0, 0, 0, 0, 0, 0, 'b', 'u', 's', 'y' };
	int err[2];

	stub_null(h, 3);
	stub_pipe(err);
	h->fds[2] = err[1];
	stub_start(h, NULL, "@0.1", "/bin/true", NULL);
	UNTIL(h, h->job);
	assert_true(h->flags & JOB_EXPLICIT);
	stub_frame(h, FRAME_REFUSED, payload, sizeof(payload));
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 1 << 8);
	assert_string_equal(stub_content(err[0]), "ehctl exec: 0.1: busy\n");
	close(err[0]);
	stub_close(h);
}

static const char *script(const char *text)
{
	static char path[TEMP_PATH];
	FILE *f;

	f = fopen(temp_path(path, "stub"), "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, 0755);
	return path;
}

/* The executor says that its execve() failed: what a shell would say, with its status. */
static void test_not_executed(void **state)
{
	static const struct {
		const char *text, *said;
		int error, status;
	} all[] = {
		{ "#!/no/such/sh\n", "/no/such/sh: bad interpreter: No such file or directory",
		  ENOENT, 127 },
		{ "#! /etc/passwd -x\n", "/etc/passwd: bad interpreter: Permission denied", EACCES,
		  126 },
		{ "binary", "cannot execute: required file not found", ENOENT, 127 },
		{ "binary", "Text file busy", ETXTBSY, 126 },
		{ "binary", "Permission denied", EACCES, 126 },
	};
	const struct job_message ready = { .what = JOB_READY };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct job_message no = { .what = JOB_REFUSED,
					  .refused = { 30, all[i].error, "not that", 8 } };
		const char *path = script(all[i].text);
		struct stub_home *h = stub_open();
		char text[256];
		int err[2];

		stub_null(h, 3);
		stub_pipe(err);
		h->fds[2] = err[1];
		stub_start(h, NULL, "@0.1", path, NULL);
		UNTIL(h, h->job);
		stub_attach(h);
		stub_say(h, &ready);
		UNTIL(h, h->far.state == JOB_COMMITTED);
		stub_say(h, &no);
		UNTIL(h, h->ended);
		snprintf(text, sizeof(text), "ehctl exec: 0.1: %s: %s\n", path, all[i].said);
		assert_string_equal(stub_content(err[0]), text);
		assert_int_equal(h->status, all[i].status << 8);
		unlink(path);
		close(err[0]);
		stub_close(h);
	}
}

/* It is not a format that is known there: sh is to run it there. */
static void test_by_shell(void **state)
{
	const struct job_message no = { .what = JOB_REFUSED,
					.refused = { 30, ENOEXEC, "what?", 5 } };
	const struct job_message ready = { .what = JOB_READY };
	struct job_message started = { .what = JOB_STARTED, .pid = 77 };
	const char *path = script("echo hello\n");
	struct stub_home *h = stub_open();
	char line[128];

	stub_null(h, 3);
	stub_start(h, NULL, "@0.1", path, "word");
	UNTIL(h, h->job);
	assert_string_equal(h->path, path);
	stub_attach(h);
	stub_say(h, &ready);
	UNTIL(h, h->far.state == JOB_COMMITTED);
	stub_say(h, &no);
	UNTIL(h, h->agent < 0);
	h->job = false;
	UNTIL(h, h->job);
	assert_string_equal(h->path, "/bin/sh");
	snprintf(line, sizeof(line), "sh %s -c word ", path);
	assert_string_equal(h->line, line);
	assert_true(h->flags & JOB_EXPLICIT);
	stub_attach(h);
	stub_say(h, &ready);
	UNTIL(h, h->far.state == JOB_COMMITTED);
	stub_say(h, &started);
	stub_over(h, 0);
	unlink(path);
}

/* Few descriptors: a soft limit does not matter. What was set is the task's. */
static void test_few_files(void **state)
{
	const uint8_t payload[12] = { 5, 0, 0, 0, 0, 0, 0, 0, 'b', 'u', 's', 'y' };
	static const struct rlimit all[] = { { 4, 1000 }, { 4, 4 } };

	for (int i = 0; i < 2; i++) {
		struct stub_home *h = stub_open();
		int out[2];

		stub_null(h, 3);
		stub_pipe(out);
		h->fds[1] = out[1];
		h->few = &all[i];
		stub_start(h, NULL, "7", "/bin/sh", "ulimit -Sn; ulimit -Hn");
		/* A hard limit can be raised by root only; without that the program runs here. */
		UNTIL(h, h->job || (i && h->ended));
		if (h->job) {
			assert_int_equal(h->nofile, all[i].rlim_max);
			stub_frame(h, FRAME_REFUSED, payload, sizeof(payload));
		}
		UNTIL(h, h->ended);
		assert_int_equal(h->status, 0);
		assert_string_equal(stub_content(out[0]), i ? "4\n4\n" : "4\n1000\n");
		close(out[0]);
		stub_close(h);
	}
}

/* Nothing has started: the agent, or the connection, may end in each state. */
static void test_lost_before(void **state)
{
	for (int when = 0; when < 4; when++) {
		const struct job_message ready = { .what = JOB_READY };
		struct job_message no = { .what = JOB_REFUSED, .refused.reason = 5 };
		struct stub_home *h = stub_open();
		int out[2];

		stub_null(h, 3);
		stub_pipe(out);
		h->fds[1] = out[1];
		stub_start(h, NULL, "7", "/bin/sh", "echo here");
		UNTIL(h, h->job);
		if (when == 1 || when == 3)
			stub_attach(h);
		if (when == 2) {
			stub_attach(h);
			no.refused.text = "no such file";
			no.refused.length = strlen(no.refused.text);
			stub_say(h, &no);
			UNTIL(h, h->notes[NOTE_STAYS]);
		} else if (when == 3) {
			/* After GO it may be refused still. */
			stub_say(h, &ready);
			UNTIL(h, h->far.state == JOB_COMMITTED);
			no.refused.text = "";
			stub_say(h, &no);
		} else {
			stub_cut(h);
		}
		UNTIL(h, h->ended);
		assert_int_equal(h->status, 0);
		assert_string_equal(stub_content(out[0]), "here\n");
		close(out[0]);
		stub_close(h);
	}
}

static void test_no_agent(void **state)
{
	struct stub_home *h = stub_open();
	int out[2];

	close(h->listener);
	h->listener = -1;
	stub_null(h, 3);
	stub_pipe(out);
	h->fds[1] = out[1];
	stub_start(h, NULL, "7", "/bin/sh", "echo here");
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 0);
	assert_string_equal(stub_content(out[0]), "here\n");
	close(out[0]);
	stub_close(h);
}

/* A user's ^C while it is being placed: the program gets it, here. */
static void test_told_to_end_before(void **state)
{
	struct stub_home *h = stub_open();

	stub_null(h, 3);
	stub_start(h, NULL, "7", "/bin/sh", "exit 3");
	UNTIL(h, h->job);
	kill(h->stub, SIGINT);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, SIGINT);
	stub_close(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),	     cmocka_unit_test(test_refused_explicit),
		cmocka_unit_test(test_not_executed), cmocka_unit_test(test_by_shell),
		cmocka_unit_test(test_few_files),    cmocka_unit_test(test_lost_before),
		cmocka_unit_test(test_no_agent),     cmocka_unit_test(test_told_to_end_before),
	};

	stub_program();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
