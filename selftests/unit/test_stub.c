// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub as home's end of a job: descriptors, signals, and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>

#include <sys/stat.h>

#include "stub_home.h"

static void give_null(struct home *h, int n)
{
	for (int i = 0; i < n; i++)
		h->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* ---- before GO ---- */

static void test_refused(void **state)
{
	struct home *h = home_open();
	uint8_t payload[12] = { 5, 0, 0, 0, 0, 0, 0, 0, 'b', 'u', 's', 'y' };
	int in[2], out[2];

	give_null(h, 3);
	home_pipe(in);
	home_pipe(out);
	h->fds[0] = in[0];
	h->fds[1] = out[1];
	assert_int_equal(write(in[1], "a\nb\n", 4), 4);
	close(in[1]);
	home_start(h, NULL, "7", "/bin/sh", "echo here; cat");
	UNTIL(h, h->job);
	home_frame(h, FRAME_REFUSED, payload, sizeof(payload));
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 0);
	assert_string_equal(home_content(out[0]), "here\na\nb\n");
	close(out[0]);
	home_close(h);
}

static void test_refused_explicit(void **state)
{
	struct home *h = home_open();
	uint8_t payload[12] = { 5, 0, 0, 0, 0, 0, 0, 0, 'b', 'u', 's', 'y' };
	int err[2];

	give_null(h, 3);
	home_pipe(err);
	h->fds[2] = err[1];
	home_start(h, NULL, "@0.1", "/bin/true", NULL);
	UNTIL(h, h->job);
	assert_true(h->flags & JOB_EXPLICIT);
	home_frame(h, FRAME_REFUSED, payload, sizeof(payload));
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 1 << 8);
	assert_string_equal(home_content(err[0]), "ehctl exec: 0.1: busy\n");
	close(err[0]);
	home_close(h);
}

static const char *script(const char *text)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/ehs-stub-%d", (int)getpid());
	f = fopen(path, "w");
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
		{ "#!/no/such/sh\n", "/no/such/sh: bad interpreter: No such file or directory", ENOENT, 127 },
		{ "#! /etc/passwd -x\n", "/etc/passwd: bad interpreter: Permission denied", EACCES, 126 },
		{ "binary", "cannot execute: required file not found", ENOENT, 127 },
		{ "binary", "Text file busy", ETXTBSY, 126 },
		{ "binary", "Permission denied", EACCES, 126 },
	};
	const struct job_message ready = { .what = JOB_READY };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct job_message no = { .what = JOB_REFUSED,
					  .refused = { 30, all[i].error, "not that", 8 } };
		const char *path = script(all[i].text);
		struct home *h = home_open();
		char text[256];
		int err[2];

		give_null(h, 3);
		home_pipe(err);
		h->fds[2] = err[1];
		home_start(h, NULL, "@0.1", path, NULL);
		UNTIL(h, h->job);
		home_attach(h);
		home_say(h, &ready);
		UNTIL(h, h->far.state == JOB_COMMITTED);
		home_say(h, &no);
		UNTIL(h, h->ended);
		snprintf(text, sizeof(text), "ehctl exec: 0.1: %s: %s\n", path, all[i].said);
		assert_string_equal(home_content(err[0]), text);
		assert_int_equal(h->status, all[i].status << 8);
		unlink(path);
		close(err[0]);
		home_close(h);
	}
}

/* It is no format that is known there: sh is to run it there. */
static void test_by_shell(void **state)
{
	const struct job_message no = { .what = JOB_REFUSED,
					.refused = { 30, ENOEXEC, "what?", 5 } };
	const struct job_message ready = { .what = JOB_READY };
	struct job_message started = { .what = JOB_STARTED, .pid = 77 };
	const char *path = script("echo hello\n");
	struct home *h = home_open();
	char line[128];

	give_null(h, 3);
	home_start(h, NULL, "@0.1", path, "word");
	UNTIL(h, h->job);
	assert_string_equal(h->path, path);
	home_attach(h);
	home_say(h, &ready);
	UNTIL(h, h->far.state == JOB_COMMITTED);
	home_say(h, &no);
	UNTIL(h, h->agent < 0);
	h->job = false;
	UNTIL(h, h->job);
	assert_string_equal(h->path, "/bin/sh");
	snprintf(line, sizeof(line), "sh %s -c word ", path);
	assert_string_equal(h->line, line);
	assert_true(h->flags & JOB_EXPLICIT);
	home_attach(h);
	home_say(h, &ready);
	UNTIL(h, h->far.state == JOB_COMMITTED);
	home_say(h, &started);
	home_over(h, 0);
	unlink(path);
}

/* Few descriptors: a soft limit does not matter. What was set is the task's. */
static void test_few_files(void **state)
{
	const uint8_t payload[12] = { 5, 0, 0, 0, 0, 0, 0, 0, 'b', 'u', 's', 'y' };
	static const struct rlimit all[] = { { 4, 1000 }, { 4, 4 } };

	for (int i = 0; i < 2; i++) {
		struct home *h = home_open();
		int out[2];

		give_null(h, 3);
		home_pipe(out);
		h->fds[1] = out[1];
		h->few = &all[i];
		home_start(h, NULL, "7", "/bin/sh", "ulimit -Sn; ulimit -Hn");
		/* A hard limit only with the rights of root; who has not runs it here. */
		UNTIL(h, h->job || (i && h->ended));
		if (h->job) {
			assert_int_equal(h->nofile, all[i].rlim_max);
			home_frame(h, FRAME_REFUSED, payload, sizeof(payload));
		}
		UNTIL(h, h->ended);
		assert_int_equal(h->status, 0);
		assert_string_equal(home_content(out[0]), i ? "4\n4\n" : "4\n1000\n");
		close(out[0]);
		home_close(h);
	}
}

/* Nothing has started: the agent, or the connection, may end in each state. */
static void test_lost_before(void **state)
{
	for (int when = 0; when < 4; when++) {
		const struct job_message ready = { .what = JOB_READY };
		struct job_message no = { .what = JOB_REFUSED, .refused.reason = 5 };
		struct home *h = home_open();
		int out[2];

		give_null(h, 3);
		home_pipe(out);
		h->fds[1] = out[1];
		home_start(h, NULL, "7", "/bin/sh", "echo here");
		UNTIL(h, h->job);
		if (when == 1 || when == 3)
			home_attach(h);
		if (when == 2) {
			home_attach(h);
			no.refused.text = "no such file";
			no.refused.length = strlen(no.refused.text);
			home_say(h, &no);
			UNTIL(h, h->notes[NOTE_STAYS]);
		} else if (when == 3) {
			/* After GO it may be refused still. */
			home_say(h, &ready);
			UNTIL(h, h->far.state == JOB_COMMITTED);
			no.refused.text = "";
			home_say(h, &no);
		} else {
			home_cut(h);
		}
		UNTIL(h, h->ended);
		assert_int_equal(h->status, 0);
		assert_string_equal(home_content(out[0]), "here\n");
		close(out[0]);
		home_close(h);
	}
}

static void test_no_agent(void **state)
{
	struct home *h = home_open();
	int out[2];

	close(h->listener);
	h->listener = -1;
	give_null(h, 3);
	home_pipe(out);
	h->fds[1] = out[1];
	home_start(h, NULL, "7", "/bin/sh", "echo here");
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 0);
	assert_string_equal(home_content(out[0]), "here\n");
	close(out[0]);
	home_close(h);
}

/* A user's ^C while it is being placed: the program gets it, here. */
static void test_told_to_end_before(void **state)
{
	struct home *h = home_open();

	give_null(h, 3);
	home_start(h, NULL, "7", "/bin/sh", "exit 3");
	UNTIL(h, h->job);
	kill(h->stub, SIGINT);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, SIGINT);
	home_close(h);
}

/* ---- input ---- */

static void test_flags(void **state)
{
	struct home *h = home_open();
	int out[2];

	home_pipe(out);
	give_null(h, 1);
	h->fds[1] = h->fds[2] = out[1];
	home_run(h, NULL, "7");
	assert_int_equal(h->flags & (JOB_FD(0) | JOB_FD(1) | JOB_FD(2)), 7);
	assert_true(h->flags & JOB_NULL(0));
	assert_false(h->flags & JOB_NULL(1));
	assert_true(h->flags & JOB_MERGED);
	home_over(h, 0);
	close(out[0]);
}

static void test_on_demand(void **state)
{
	struct home *h = home_open();
	int in[2];

	give_null(h, 3);
	home_pipe(in);
	h->fds[0] = dup(in[0]);
	assert_int_equal(write(in[1], "1\n2\n3\n", 6), 6);
	home_run(h, NULL, "7");
	UNTIL(h, h->offers[0]);
	assert_int_equal(h->length, 0);
	job_end_grant(&h->far, 0, 2);
	UNTIL(h, h->length == 2);
	assert_memory_equal(h->data, "1\n", 2);
	UNTIL(h, h->offers[0] == 2);
	home_over(h, 0);
	assert_string_equal(home_content(in[0]), "2\n3\n");
	close(in[0]);
	close(in[1]);
}

static void test_faster_reader(void **state)
{
	struct home *h = home_open();
	int in[2];

	give_null(h, 3);
	home_pipe(in);
	h->fds[0] = dup(in[0]);
	assert_int_equal(write(in[1], "x", 1), 1);
	home_run(h, NULL, "7");
	UNTIL(h, h->offers[0] == 1);
	assert_string_equal(home_content(in[0]), "x");
	job_end_grant(&h->far, 0, 10);
	UNTIL(h, h->nones[0] == 1);
	assert_int_equal(write(in[1], "yz", 2), 2);
	UNTIL(h, h->offers[0] == 2);
	job_end_grant(&h->far, 0, 10);
	UNTIL(h, h->length == 2);
	close(in[1]);
	UNTIL(h, h->offers[0] == 3);
	job_end_grant(&h->far, 0, 10);
	UNTIL(h, h->ends[0] == 1);
	home_over(h, 0);
	close(in[0]);
}

static void test_file_offset(void **state)
{
	const struct job_message stopped = { .what = JOB_STOPPED, .signal = SIGSTOP };
	struct home *h = home_open();
	FILE *f = tmpfile();
	int fd = fileno(f);

	give_null(h, 3);
	assert_int_equal(write(fd, "0123456789abcdef", 16), 16);
	lseek(fd, 2, SEEK_SET);
	h->fds[0] = dup(fd);
	home_run(h, NULL, "7");
	UNTIL(h, h->ends[0]);
	assert_true(h->ahead);
	assert_int_equal(h->length, 14);
	assert_memory_equal(h->data, "23456789abcdef", 14);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 2);
	job_end_read(&h->far, 0, 3);
	home_say(h, &stopped);
	UNTIL(h, h->stopped);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 5);
	kill(h->stub, SIGCONT);
	UNTIL(h, h->signals[SIGCONT]);
	job_end_read(&h->far, 0, 7);
	home_over(h, 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 9);
	fclose(f);
}

static void test_closed_input(void **state)
{
	const struct job_message closed = { .what = JOB_CLOSED, .channel = 0 };
	struct home *h = home_open();
	struct pollfd p = { 0 };
	int in[2];

	give_null(h, 3);
	home_pipe(in);
	h->fds[0] = in[0];
	home_run(h, NULL, "7");
	p.fd = in[1];
	assert_int_equal(poll(&p, 1, 0), 0);
	home_say(h, &closed);
	UNTIL(h, poll(&p, 1, 0) == 1);
	assert_true(p.revents & POLLERR);
	home_over(h, 0);
	close(in[1]);
}

/* ---- output ---- */

/* Without a write of the task: it is to get SIGPIPE at its next one. */
static void test_no_reader(void **state)
{
	struct home *h = home_open();
	int out[2], sockets[2];

	give_null(h, 3);
	home_pipe(out);
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), errno);
	h->fds[1] = out[1];
	h->fds[2] = sockets[1];
	home_run(h, NULL, "7");
	home_step(h);
	assert_int_equal(h->closed[1], 0);
	close(out[0]);
	UNTIL(h, h->closed[1] == 1);
	close(sockets[0]);
	UNTIL(h, h->closed[2] == 1);
	assert_int_equal(h->signals[SIGPIPE], 0);
	home_over(h, SIGPIPE);
}

static void test_closed_output(void **state)
{
	struct job_message end = { .what = JOB_END, .channel = 1 };
	struct home *h = home_open();
	char byte;
	int out[2];

	give_null(h, 3);
	home_pipe(out);
	h->fds[1] = out[1];
	home_run(h, NULL, "7");
	home_print(h, 1, "x", 1);
	home_say(h, &end);
	UNTIL(h, home_poll(out[0], 0) & POLLHUP);
	assert_int_equal(read(out[0], &byte, 1), 1);
	assert_int_equal(read(out[0], &byte, 1), 0);
	home_over(h, 0);
	close(out[0]);
}

/* More than pipe and windows hold, read late: all of it arrives, and before the stub's end. */
static void test_order(void **state)
{
	static uint32_t numbers[100000], back[100000];
	struct home *h = home_open();
	size_t have = 0, sent = 0;
	ssize_t n;
	int out[2];

	for (uint32_t i = 0; i < 100000; i++)
		numbers[i] = i * 2654435761u;
	give_null(h, 3);
	home_pipe(out);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	h->fds[1] = h->fds[2] = out[1];
	home_run(h, NULL, "7");
	while (have < sizeof(back)) {
		size_t room = job_end_room(&h->far, 1);

		if (room > sizeof(numbers) - sent)
			room = sizeof(numbers) - sent;
		if (room)
			job_end_send(&h->far, 1, (uint8_t *)numbers + sent, room, false);
		sent += room;
		if (sent == sizeof(numbers) && h->far.state == JOB_RUNNING)
			home_exit(h, 3 << 8, false);
		home_step(h);
		assert_false(h->ended && have + 65536 < sizeof(back));
		n = read(out[0], (uint8_t *)back + have, 3000);
		if (n > 0)
			have += n;
	}
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 3 << 8);
	assert_memory_equal(numbers, back, sizeof(back));
	close(out[0]);
	home_close(h);
}

/* Nobody reads, all is full: signals and the other descriptor go on. */
static void test_slow_reader(void **state)
{
	static uint8_t much[65536 + JOB_WINDOW];
	struct home *h = home_open();
	int out[2], err[2], full;

	give_null(h, 3);
	home_pipe(out);
	home_pipe(err);
	h->fds[1] = out[1];
	h->fds[2] = err[1];
	home_run(h, NULL, "7");
	/* The pipe and a window. */
	home_print(h, 1, much, sizeof(much));
	kill(h->stub, SIGUSR1);
	UNTIL(h, h->signals[SIGUSR1] == 1);
	assert_int_equal(job_end_room(&h->far, 1), 0);
	assert_return_code(ioctl(out[0], FIONREAD, &full), errno);
	assert_int_equal(full, 65536);
	home_print(h, 2, "still\n", 6);
	UNTIL(h, home_poll(err[0], POLLIN));
	assert_string_equal(home_content(err[0]), "still\n");
	/* A user who ends it does not wait for the reader. */
	home_exit(h, 0, false);
	UNTIL(h, h->far.link.tail == h->far.link.head);
	assert_false(h->ended);
	kill(h->stub, SIGINT);
	UNTIL(h, h->ended);
	close(out[0]);
	close(err[0]);
	home_close(h);
}

/* ---- the end ---- */

static void test_exits(void **state)
{
	static const int all[] = { 0, 1 << 8, 255 << 8, SIGTERM, SIGKILL, SIGSEGV, SIGINT, 34 };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct home *h = home_open();

		give_null(h, 3);
		home_run(h, NULL, "7");
		home_over(h, all[i]);
	}
}

static void test_stops(void **state)
{
	static const int all[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };
	struct home *h = home_open();

	give_null(h, 3);
	home_run(h, NULL, "7");
	for (unsigned int i = 0; i < 4; i++) {
		struct job_message m = { .what = JOB_STOPPED, .signal = all[i] };

		home_say(h, &m);
		UNTIL(h, h->stopped);
		assert_int_equal(WSTOPSIG(h->status), all[i]);
		UNTIL(h, h->notes[NOTE_STOPPED] == i + 1);
		kill(h->stub, SIGCONT);
		UNTIL(h, h->signals[SIGCONT] == i + 1 && !h->stopped);
		m.what = JOB_CONTINUED;
		home_say(h, &m);
		UNTIL(h, h->notes[NOTE_CONTINUED] == i + 1);
	}
	kill(h->stub, SIGTERM);
	UNTIL(h, h->signals[SIGTERM] == 1);
	home_over(h, SIGTERM);
}

/* Children of the task write on: the stub has ended, a copy of it relays. */
static void test_children(void **state)
{
	const struct job_message over = { .what = JOB_OVER };
	struct home *h = home_open();
	int in[2], out[2];
	struct pollfd p = { 0 };

	give_null(h, 3);
	home_pipe(in);
	home_pipe(out);
	h->fds[0] = in[0];
	h->fds[1] = out[1];
	home_run(h, NULL, "7");
	home_print(h, 1, "task\n", 5);
	home_exit(h, 4 << 8, true);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 4 << 8);
	assert_string_equal(home_content(out[0]), "task\n");
	p.fd = in[1];
	UNTIL(h, poll(&p, 1, 0) && p.revents & POLLERR);
	home_print(h, 1, "child\n", 6);
	p.fd = out[0];
	p.events = POLLIN;
	UNTIL(h, poll(&p, 1, 0));
	assert_string_equal(home_content(out[0]), "child\n");
	home_say(h, &over);
	UNTIL(h, h->agent < 0);
	assert_true(job_end_done(&h->far));
	UNTIL(h, poll(&p, 1, 0) && p.revents & POLLHUP);
	close(in[1]);
	close(out[0]);
	home_close(h);
}

/* ---- its process group ---- */

/* Nobody is left in it. */
static void no_group(struct home *h)
{
	assert_int_equal(kill(-h->stub, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void sent_to(struct home *h, pid_t whom, int sig, enum job_reach reach)
{
	unsigned int before = h->signals[sig];

	assert_return_code(kill(whom, sig), errno);
	UNTIL(h, h->signals[sig] > before);
	assert_int_equal(h->sent.sent.reach, reach);
	assert_false(h->sent.sent.queued);
}

/* Who was meant: the task, or its group. */
static void test_group(void **state)
{
	static const int all[] = { SIGTERM, SIGUSR1, SIGTERM, SIGHUP, 34, 64, 34, SIGTSTP };
	struct home *h = home_open();

	give_null(h, 3);
	home_run(h, NULL, "7");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		sent_to(h, h->stub, all[i], JOB_TO_TASK);
		sent_to(h, -h->stub, all[i], JOB_TO_GROUP);
		sent_to(h, -h->stub, all[i], JOB_TO_GROUP);
		sent_to(h, h->stub, all[i], JOB_TO_TASK);
	}
	sent_to(h, h->stub, SIGCONT, JOB_TO_GROUP);
	/* Several that are pending at once, of a kind that is not queued: one. */
	kill(h->stub, SIGSTOP);
	UNTIL(h, h->stopped);
	kill(-h->stub, SIGUSR2);
	kill(-h->stub, SIGUSR2);
	kill(-h->stub, SIGCONT);
	UNTIL(h, h->signals[SIGUSR2] == 1 && h->signals[SIGCONT] == 2);
	sent_to(h, h->stub, SIGUSR2, JOB_TO_TASK);
	home_exit(h, 0, false);
	UNTIL(h, h->ended);
	no_group(h);
	home_close(h);
}

/* Only the stub of the stopped group goes on. */
static void test_group_stopped(void **state)
{
	struct home *h = home_open();

	give_null(h, 3);
	home_run(h, NULL, "7");
	kill(-h->stub, SIGSTOP);
	UNTIL(h, h->stopped);
	kill(h->stub, SIGCONT);
	UNTIL(h, h->signals[SIGCONT] == 1);
	assert_return_code(kill(h->stub, SIGTERM), errno);
	UNTIL(h, h->signals[SIGTERM] == 1);
	sent_to(h, -h->stub, SIGUSR1, JOB_TO_GROUP);
	home_exit(h, SIGTERM, false);
	UNTIL(h, h->ended);
	no_group(h);
	home_close(h);
}

/* Values come in order, and each comes. */
static void test_queued(void **state)
{
	struct home *h = home_open();

	give_null(h, 3);
	home_run(h, NULL, "7");
	for (int i = 1; i <= 3; i++) {
		unsigned int before = h->signals[40];

		assert_return_code(sigqueue(h->stub, 40, (union sigval){ .sival_int = 4710 + i }),
				   errno);
		UNTIL(h, h->signals[40] == before + 1);
		assert_int_equal(h->sent.sent.reach, JOB_TO_TASK);
		assert_true(h->sent.sent.queued);
		assert_int_equal((int)h->sent.sent.value, 4710 + i);
		assert_int_equal(h->sent.sent.pid, getpid());
		assert_int_equal(h->sent.sent.uid, getuid());
	}
	home_over(h, 0);
}

/* The task has ended, its children write on: they are told what the group is, and only that. */
static void test_group_of_children(void **state)
{
	const struct job_message over = { .what = JOB_OVER };
	struct home *h = home_open();
	int out[2];

	give_null(h, 3);
	home_pipe(out);
	h->fds[1] = out[1];
	home_run(h, NULL, "7");
	home_exit(h, 4 << 8, true);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, 4 << 8);
	for (int i = 0; i < 3; i++) {
		const int sig = i ? SIGTERM : SIGUSR1;

		assert_return_code(kill(-h->stub, sig), errno);
		UNTIL(h, h->signals[sig] == (i > 1 ? 2u : 1u));
		assert_int_equal(h->sent.sent.reach, JOB_TO_GROUP);
	}
	home_say(h, &over);
	UNTIL(h, h->agent < 0);
	UNTIL(h, kill(-h->stub, 0));
	close(out[0]);
	home_close(h);
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
	struct home *h = home_open();
	unsigned int before, after;
	size_t got = 0;
	ssize_t n;
	int in[2], out[2];

	give_null(h, 3);
	home_pipe(in);
	home_pipe(out);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	h->fds[0] = in[0];
	h->fds[1] = out[1];
	home_run(h, NULL, "7");
	before = private_kib(h->stub);
	for (int i = 0; i < 40; i++) {
		size_t want = h->length + 8192;

		assert_int_equal(write(in[1], much, 8192), 8192);
		while (h->length < want) {
			if (!job_end_granted(&h->far, 0))
				job_end_grant(&h->far, 0, 2048);
			home_step(h);
		}
		home_print(h, 1, much, sizeof(much));
		got += sizeof(much);
		UNTIL(h, (n = read(out[0], much, sizeof(much))) > 0 ? !(got -= n) : !got);
	}
	after = private_kib(h->stub);
	printf("# private memory: %u KiB idle, %u KiB after 1.6 MiB\n", before, after);
	assert_true(before <= 150);
	assert_true(after <= 150);
	home_over(h, 0);
	close(in[1]);
	close(out[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_explicit),
		cmocka_unit_test(test_not_executed),
		cmocka_unit_test(test_by_shell),
		cmocka_unit_test(test_few_files),
		cmocka_unit_test(test_lost_before),
		cmocka_unit_test(test_no_agent),
		cmocka_unit_test(test_told_to_end_before),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_on_demand),
		cmocka_unit_test(test_faster_reader),
		cmocka_unit_test(test_file_offset),
		cmocka_unit_test(test_closed_input),
		cmocka_unit_test(test_no_reader),
		cmocka_unit_test(test_closed_output),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_group_stopped),
		cmocka_unit_test(test_queued),
		cmocka_unit_test(test_group_of_children),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, home_group, NULL);
}
