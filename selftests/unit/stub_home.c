// SPDX-License-Identifier: GPL-2.0-or-later
#include "stub_home.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent_socket.h"
#include "built.h"
#include "frames.h"

#define STUB_CAP_RESOURCE 24 /* of linux/capability.h */
#define STUB_NOROOT 1 /* SECBIT_NOROOT of linux/securebits.h */

static int stub_on_message(void *ctx, const struct job_message *m)
{
	struct stub_home *h = ctx;

	switch (m->what) {
	case JOB_SIGNAL:
		h->signals[m->sent.signal]++;
		h->sent = *m;
		break;
	case JOB_FOREGROUND:
		h->foreground = m->foreground;
		break;
	case JOB_DATA:
		assert_true(h->length + m->data.length <= sizeof(h->data));
		memcpy(h->data + h->length, m->data.bytes, m->data.length);
		h->length += m->data.length;
		h->typed += m->channel == JOB_CHANNEL_TERMINAL;
		break;
	case JOB_OFFER:
		h->offers[m->channel]++;
		if (m->ahead && !h->ahead)
			h->answered = h->length;
		h->ahead = m->ahead;
		break;
	case JOB_NONE:
		h->nones[m->channel]++;
		break;
	case JOB_END:
		h->ends[m->channel]++;
		break;
	case JOB_CLOSED:
		h->closed[m->channel]++;
		break;
	case JOB_TERMINAL:
		h->terminals++;
		h->modes = m->terminal.modes;
		h->flush |= m->terminal.flush;
		break;
	default:
		break;
	}
	return 0;
}

static void stub_on_lost(void *ctx, enum job_state before)
{
	((struct stub_home *)ctx)->lost = true;
}

static const struct job_end_ops stub_ops = { stub_on_message, stub_on_lost };

int stub_listen(void)
{
	int fd = agent_socket_listen(SOCK_NONBLOCK);

	assert_return_code(fd, errno);
	return fd;
}

struct stub_home *stub_open(void)
{
	struct stub_home *h = calloc(1, sizeof(*h));

	/* Another one each time, so that a test that fails leaves nothing to the next. */
	assert_return_code(unshare(CLONE_NEWNET), errno);
	assert_non_null(h);
	h->listener = stub_listen();
	h->agent = h->tty = h->foreground = -1;
	h->fds[0] = h->fds[1] = h->fds[2] = -1;
	h->attached = (struct attached){ .limit_ms = STUB_LIMIT_MS,
					 .started_ms = 1,
					 .token = "TOKEN",
					 .id = "0.0-1",
					 .other = "0.1",
					 .host = "there",
					 .wait = true };
	return h;
}

static void stub_write(struct stub_home *h);

void stub_frame(struct stub_home *h, enum frame_type type, const void *payload, size_t length)
{
	uint8_t frame[FRAME_HEADER + ATTACH_SIZE];

	/* Whole frames: what is under way goes first. */
	while (h->from != h->to)
		stub_write(h);
	frame_header(frame, type, length);
	if (length)
		memcpy(frame + FRAME_HEADER, payload, length);
	assert_int_equal(send(h->agent, frame, FRAME_HEADER + length, MSG_NOSIGNAL),
			 FRAME_HEADER + length);
}

void stub_attach(struct stub_home *h)
{
	uint8_t payload[ATTACH_SIZE];

	stub_frame(h, FRAME_ATTACHED, payload, attached_encode(&h->attached, payload));
	job_end_attach(&h->far);
}

void stub_cut(struct stub_home *h)
{
	if (h->agent >= 0)
		close(h->agent);
	h->agent = -1;
	h->have = h->from = h->to = 0;
	job_end_detach(&h->far, clock_ms());
}

static void stub_on_frame(struct stub_home *h, enum frame_type type, uint8_t *payload,
			  uint32_t length)
{
	struct job_spec spec;

	switch (type) {
	case FRAME_NAMED:
	case FRAME_SEEN:
		break;
	case FRAME_JOB:
		assert_false(h->job);
		assert_int_equal(job_decode(&spec, payload, length), 0);
		h->job = true;
		h->flags = spec.flags;
		h->first = spec.terminal;
		h->nofile = spec.rlimit[RLIMIT_NOFILE][1];
		snprintf(h->path, sizeof(h->path), "%s", spec.path);
		h->line[0] = '\0';
		for (uint32_t i = 0; i < spec.argc; i++) {
			size_t n = strlen(h->line);

			snprintf(h->line + n, sizeof(h->line) - n, "%s ", spec.argv[i]);
		}
		h->nfiles = spec.nfiles;
		h->ndescriptors = spec.ndescriptors;
		for (uint32_t i = 0; i < spec.nfiles; i++)
			h->files[i] = spec.files[i];
		for (uint32_t i = 0; i < spec.ndescriptors; i++)
			h->descriptors[i] = spec.descriptors[i];
		for (uint32_t i = 0; i < spec.envc; i++)
			if (!strncmp(spec.envp[i], "MAKEFLAGS=", 10))
				snprintf(h->makeflags, sizeof(h->makeflags), "%s",
					 spec.envp[i] + 10);
		job_free(&spec);
		job_end_init(&h->far, JOB_EXECUTOR, h->memory, clock_ms(), STUB_LIMIT_MS,
			     STUB_LIMIT_MS, &stub_ops, h);
		job_end_channels(&h->far, JOB_CHANNEL_FILES + h->nfiles);
		break;
	case FRAME_LINK:
		assert_int_equal(job_end_take(&h->far, payload, length), 0);
		break;
	case FRAME_ATTACH:
		assert_int_equal(attach_decode(&h->attach, payload, length), 0);
		h->attaches++;
		stub_attach(h);
		break;
	case FRAME_NOTE:
		assert_int_equal(note_decode(&h->note, payload, length), 0);
		h->notes[h->note.what]++;
		if (h->note.what == NOTE_ENDED)
			stub_frame(h, FRAME_NOTED, NULL, 0);
		break;
	default:
		fail_msg("frame %d of the stub", type);
	}
}

static void stub_read(struct stub_home *h)
{
	enum frame_type type;
	uint32_t length;
	int ret;

	while (h->agent >= 0) {
		ret = frames_read(h->agent, h->in, sizeof(h->in), &h->have, &type, &length);
		if (!ret)
			return;
		if (ret < 0)
			stub_cut(h);
		else
			stub_on_frame(h, type, h->in + FRAME_HEADER, length);
	}
}

static void stub_write(struct stub_home *h)
{
	ssize_t n;

	for (;;) {
		if (h->from == h->to) {
			h->from = 0;
			h->to = h->job ? job_end_next(&h->far, h->out, sizeof(h->out)) : 0;
		}
		if (!h->to || h->agent < 0)
			return;
		n = send(h->agent, h->out + h->from, h->to - h->from, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return;
		h->from += n;
	}
}

static void stub_wait(struct stub_home *h)
{
	int status;

	if (h->ended)
		return;
	if (h->shell[0]) {
		if (read(h->shell[0], &status, sizeof(status)) != sizeof(status))
			return;
	} else if (!h->stub ||
		   waitpid(h->stub, &status, WNOHANG | WUNTRACED | WCONTINUED) != h->stub) {
		return;
	}
	if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
		h->stopped = WIFSTOPPED(status);
		h->status = status;
		return;
	}
	h->ended = true;
	h->status = status;
}

void stub_step(struct stub_home *h)
{
	struct pollfd fds[2] = { { .fd = h->agent, .events = POLLIN },
				 { .fd = h->agent < 0 ? h->listener : -1, .events = POLLIN } };

	if (h->agent >= 0)
		stub_write(h);
	if (h->from != h->to)
		fds[0].events |= POLLOUT;
	poll(fds, 2, 20);
	if (fds[1].revents)
		h->agent = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);
	stub_read(h);
	stub_wait(h);
}

void stub_child(struct stub_home *h, char **argv)
{
	sigset_t none;
	char byte;
	int stub;

	setpgid(0, 0);
	if (h->hold[0]) {
		close(h->hold[1]);
		if (read(h->hold[0], &byte, 1))
			_exit(98);
		close(h->hold[0]);
	}
	/* Not among 0 to 2 themselves. */
	for (int i = 0; i < 3; i++)
		if (h->fds[i] >= 0)
			dup2(fcntl(h->fds[i], F_DUPFD_CLOEXEC, 10), i);
	for (int i = 0; i < 3; i++)
		if (h->fds[i] < 0)
			close(i);
	/* What this test was started with is none of the task. */
	syscall(SYS_close_range, 3u, ~0u, 4u);
	for (int i = 0; i < h->nmore; i++)
		h->more[i].fd = fcntl(h->more[i].fd, F_DUPFD_CLOEXEC, 500);
	for (int i = 0; i < h->nmore; i++)
		dup2(h->more[i].fd, h->more[i].number);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (h->no_more)
		prctl(PR_CAPBSET_DROP, STUB_CAP_RESOURCE, 0, 0, 0);
	if (h->few)
		setrlimit(RLIMIT_NOFILE, h->few);
	if (h->weak && (prctl(PR_SET_SECUREBITS, STUB_NOROOT, 0, 0, 0) ||
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)))
		_exit(96);
	/* Another user may be kept out of the directory that all this was built in. */
	stub = h->user ? open(built("ehstub"), O_PATH | O_CLOEXEC) : -1;
	if (h->user && (setgroups(0, NULL) || setgid(h->user) || setuid(h->user)))
		_exit(97);
	if (h->user)
		execveat(stub, "", argv, environ, AT_EMPTY_PATH);
	else
		execv(built("ehstub"), argv);
	_exit(99);
}

void stub_hold(struct stub_home *h)
{
	assert_return_code(pipe2(h->hold, O_CLOEXEC), errno);
}

void stub_let(struct stub_home *h)
{
	close(h->hold[0]);
	close(h->hold[1]);
	h->hold[0] = 0;
}

void stub_start(struct stub_home *h, const char *option, const char *token, const char *path,
		const char *argument)
{
	char *argv[8];
	int n = 0;

	argv[n++] = (char *)"ehstub";
	if (option)
		argv[n++] = (char *)option;
	argv[n++] = (char *)token;
	argv[n++] = (char *)path;
	argv[n++] = (char *)path;
	if (argument) {
		argv[n++] = (char *)"-c";
		argv[n++] = (char *)argument;
	}
	argv[n] = NULL;
	h->stub = fork();
	assert_return_code(h->stub, errno);
	if (!h->stub)
		stub_child(h, argv);
	for (int i = 0; i < h->nmore; i++) {
		bool again = false;

		for (int j = 0; j < i; j++)
			again |= h->more[j].fd == h->more[i].fd;
		for (int j = 0; j < 3; j++)
			again |= h->fds[j] == h->more[i].fd;
		if (!again)
			close(h->more[i].fd);
	}
	for (int i = 0; i < 3; i++) {
		bool again = false;

		for (int j = 0; j < i; j++)
			again |= h->fds[j] == h->fds[i];
		if (h->fds[i] >= 0 && !again && h->fds[i] != h->tty)
			close(h->fds[i]);
	}
}

void stub_say(struct stub_home *h, const struct job_message *m)
{
	int err;

	UNTIL(h, (err = job_end_say(&h->far, m)) != -EAGAIN);
	assert_int_equal(err, 0);
}

void stub_begin(struct stub_home *h)
{
	struct job_message ready = { .what = JOB_READY };
	struct job_message started = { .what = JOB_STARTED, .pid = 77 };

	UNTIL(h, h->job);
	stub_attach(h);
	for (uint32_t i = 0; h->opens && i < h->nfiles; i++) {
		const struct job_message m = { .what = JOB_OPENED,
					       .channel = JOB_CHANNEL_FILES + i };

		if (h->files[i].kind == JOB_REAL)
			stub_say(h, &m);
	}
	stub_say(h, &ready);
	UNTIL(h, h->far.state == JOB_COMMITTED);
	stub_say(h, &started);
	UNTIL(h, h->notes[NOTE_STARTED]);
	assert_int_equal(h->note.pid, 77);
}

void stub_run(struct stub_home *h, const char *option, const char *token)
{
	stub_start(h, option, token, "/bin/sh", "echo here; cat");
	stub_begin(h);
}

void stub_print(struct stub_home *h, uint32_t channel, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n) {
		size_t room;

		UNTIL(h, (room = job_end_room(&h->far, channel)));
		if (room > n)
			room = n;
		job_end_send(&h->far, channel, at, room, false);
		at += room;
		n -= room;
	}
}

void stub_exit(struct stub_home *h, int status, bool more)
{
	struct job_message m = { .what = JOB_EXIT,
				 .exit = { .use = { .status = status, .user_us = 5 },
					   .more = more } };

	stub_say(h, &m);
}

void stub_close(struct stub_home *h)
{
	if (!h->ended && h->stub > 0) {
		kill(h->stub, SIGKILL);
		waitpid(h->stub, NULL, 0);
	}
	if (h->agent >= 0)
		close(h->agent);
	if (h->shell[0]) {
		close(h->shell[0]);
		close(h->shell[1]);
	}
	close(h->listener);
	free(h);
}

void stub_ends(struct stub_home *h, int status)
{
	stub_exit(h, status, false);
	/* It has ended when what it said last is still to be read. */
	UNTIL(h, h->ended && h->notes[NOTE_ENDED]);
	assert_int_equal(h->status, status);
	assert_int_equal(h->notes[NOTE_ENDED], 1);
	assert_int_equal(h->note.use.user_us, 5);
	UNTIL(h, job_end_done(&h->far));
}

void stub_over(struct stub_home *h, int status)
{
	stub_ends(h, status);
	stub_close(h);
}

uint32_t stub_channel(const struct stub_home *h, uint32_t number)
{
	for (uint32_t i = 0; i < h->ndescriptors; i++)
		if (h->descriptors[i].number == number)
			return h->descriptors[i].channel;
	return number;
}

void stub_null(struct stub_home *h, int n)
{
	for (int i = 0; i < n; i++)
		h->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
}

void stub_pipe(int fds[2])
{
	assert_return_code(pipe2(fds, O_CLOEXEC), errno);
}

short stub_poll(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

const char *stub_content(int fd)
{
	static char text[1 << 17];
	ssize_t n;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

void stub_program(void)
{
	signal(SIGPIPE, SIG_IGN);
	agent_socket_program();
}

struct stub_home *stub_open_null(void)
{
	struct stub_home *h = stub_open();

	stub_null(h, 3);
	return h;
}

void stub_give(struct stub_home *h, int number, int fd)
{
	h->more[h->nmore].fd = fd;
	h->more[h->nmore++].number = number;
}

uint32_t stub_file_channel(const struct stub_home *h, uint32_t number)
{
	for (uint32_t i = 0; i < h->ndescriptors; i++)
		if (h->descriptors[i].number == number)
			return h->descriptors[i].channel;
	return 0;
}

const struct job_file *stub_file(const struct stub_home *h, uint32_t number)
{
	uint32_t channel = stub_file_channel(h, number);

	assert_true(channel >= JOB_CHANNEL_FILES);
	return &h->files[channel - JOB_CHANNEL_FILES];
}
