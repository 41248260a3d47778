/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stub in a network namespace of its own, with this process as its agent and as the executor's end of
 * its job at once. Include it after cmocka.h.
 */
#ifndef UNIT_STUB_HOME_H
#define UNIT_STUB_HOME_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent_socket.h"
#include "frames.h"
#include "job/end.h"
#include "wire/attach.h"
#include "wire/frame.h"
#include "wire/job.h"

#define HOME_LIMIT_MS 60000 /* a loaded machine is slow, and nothing here waits for it */
#define HOME_CAP_RESOURCE 24 /* of linux/capability.h */
#define HOME_NOROOT 1 /* SECBIT_NOROOT of linux/securebits.h */
#define HOME_FRAME (FRAME_HEADER + (256 << 10))

struct home {
	int listener, agent; /* agent: the stub's connection; -1: none */
	pid_t stub;
	int status; /* as from waitpid(), when it has ended */
	bool ended, stopped;
	int fds[3]; /* given to the stub; -1: closed there */
	struct {
		int fd, number;
	} more[12]; /* the same above 2 */
	int nmore, hold[2]; /* hold: the child waits for its end; 0: not */
	bool opens; /* the executor opens files itself */
	int tty; /* slave of its terminal; -1: none */
	int shell[2]; /* its parent tells here what waitpid() says; 0: we are the parent */
	uint8_t in[HOME_FRAME], out[FRAME_HEADER + FRAME_LINK_MAX];
	size_t have, from, to;
	struct job_end far;
	uint8_t memory[JOB_MEMORY];
	struct attached attached;

	/* what it has said */
	bool job, attach_known, cut_at_attach;
	uint32_t flags;
	struct job_file files[JOB_FILES_MAX]; /* their texts are gone */
	struct job_descriptor descriptors[JOB_DESCRIPTORS_MAX];
	uint32_t nfiles, ndescriptors;
	char makeflags[256];
	struct terminal first;
	struct attach attach;
	unsigned int attaches, notes[NOTE_WHATS];
	struct note note; /* the last */
	bool lost;
	unsigned int offers[JOB_CHANNELS], nones[JOB_CHANNELS], ends[JOB_CHANNELS],
		closed[JOB_CHANNELS], terminals;
	bool ahead;
	size_t answered; /* bytes before the copies */
	uint8_t data[1 << 20]; /* of channel 0 and the terminal */
	size_t length;
	unsigned int typed; /* JOB_DATA of the terminal */
	unsigned int signals[65];
	struct job_message sent; /* the last JOB_SIGNAL */
	char path[256], line[512]; /* of the program; its arguments, a blank behind each */
	const struct rlimit *few; /* descriptors that the stub may have; NULL: as many as we */
	bool no_more; /* and it may not raise that */
	uid_t user; /* that it is; 0: as we are */
	bool weak; /* with none of our capabilities, so it cannot look at us */
	uint64_t nofile; /* RLIMIT_NOFILE, the hard one */
	int foreground; /* -1: not said */
	struct terminal modes;
	bool flush;
};

static inline int64_t home_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static inline int home_on_message(void *ctx, const struct job_message *m)
{
	struct home *h = ctx;

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

static inline void home_on_lost(void *ctx, enum job_state before)
{
	((struct home *)ctx)->lost = true;
}

static const struct job_end_ops home_ops = { home_on_message, home_on_lost };

static inline int home_listen(void)
{
	int fd = agent_socket_listen(SOCK_NONBLOCK);

	assert_return_code(fd, errno);
	return fd;
}

static inline struct home *home_open(void)
{
	struct home *h = calloc(1, sizeof(*h));

	/* Another one each time, so that a test that fails leaves nothing to the next. */
	assert_return_code(unshare(CLONE_NEWNET), errno);
	assert_non_null(h);
	h->listener = home_listen();
	h->agent = h->tty = h->foreground = -1;
	h->fds[0] = h->fds[1] = h->fds[2] = -1;
	h->attached = (struct attached){ .limit_ms = HOME_LIMIT_MS,
					 .started_ms = 1,
					 .token = "TOKEN",
					 .id = "0.0-1",
					 .other = "0.1",
					 .host = "there",
					 .wait = true };
	return h;
}

static inline void home_write(struct home *h);

static inline void home_frame(struct home *h, enum frame_type type, const void *payload,
			      size_t length)
{
	uint8_t frame[FRAME_HEADER + ATTACH_SIZE];

	/* Whole frames: what is under way goes first. */
	while (h->from != h->to)
		home_write(h);
	frame_header(frame, type, length);
	if (length)
		memcpy(frame + FRAME_HEADER, payload, length);
	assert_int_equal(send(h->agent, frame, FRAME_HEADER + length, MSG_NOSIGNAL),
			 FRAME_HEADER + length);
}

static inline void home_attach(struct home *h)
{
	uint8_t payload[ATTACH_SIZE];

	home_frame(h, FRAME_ATTACHED, payload, attached_encode(&h->attached, payload));
	job_end_attach(&h->far);
}

static inline void home_cut(struct home *h)
{
	if (h->agent >= 0)
		close(h->agent);
	h->agent = -1;
	h->have = h->from = h->to = 0;
	job_end_detach(&h->far, home_now());
}

static inline void home_on_frame(struct home *h, enum frame_type type, uint8_t *payload,
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
		job_end_init(&h->far, JOB_EXECUTOR, h->memory, home_now(), HOME_LIMIT_MS,
			     HOME_LIMIT_MS, &home_ops, h);
		job_end_channels(&h->far, JOB_CHANNEL_FILES + h->nfiles);
		break;
	case FRAME_LINK:
		assert_int_equal(job_end_take(&h->far, payload, length), 0);
		break;
	case FRAME_ATTACH:
		assert_int_equal(attach_decode(&h->attach, payload, length), 0);
		h->attaches++;
		home_attach(h);
		break;
	case FRAME_NOTE:
		assert_int_equal(note_decode(&h->note, payload, length), 0);
		h->notes[h->note.what]++;
		if (h->note.what == NOTE_ENDED)
			home_frame(h, FRAME_NOTED, NULL, 0);
		break;
	default:
		fail_msg("frame %d of the stub", type);
	}
}

static inline void home_read(struct home *h)
{
	enum frame_type type;
	uint32_t length;
	int ret;

	while (h->agent >= 0) {
		ret = frames_read(h->agent, h->in, sizeof(h->in), &h->have, &type, &length);
		if (!ret)
			return;
		if (ret < 0)
			home_cut(h);
		else
			home_on_frame(h, type, h->in + FRAME_HEADER, length);
	}
}

static inline void home_write(struct home *h)
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

static inline void home_wait(struct home *h)
{
	int status;

	if (h->ended)
		return;
	if (h->shell[0]) {
		if (read(h->shell[0], &status, sizeof(status)) != sizeof(status))
			return;
	} else if (waitpid(h->stub, &status, WNOHANG | WUNTRACED | WCONTINUED) != h->stub) {
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

/* One round; waits for an event, at most 20 ms. */
static inline void home_step(struct home *h)
{
	struct pollfd fds[2] = { { .fd = h->agent, .events = POLLIN },
				 { .fd = h->agent < 0 ? h->listener : -1, .events = POLLIN } };

	if (h->agent >= 0)
		home_write(h);
	if (h->from != h->to)
		fds[0].events |= POLLOUT;
	poll(fds, 2, 20);
	if (fds[1].revents)
		h->agent = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);
	home_read(h);
	home_wait(h);
}

#define UNTIL(h, what)                                              \
	do {                                                        \
		int64_t end_ = home_now() + HOME_LIMIT_MS;          \
		while (!(what)) {                                   \
			if (home_now() > end_)                      \
				fail_msg("not in time: %s", #what); \
			home_step(h);                               \
		}                                                   \
	} while (0)

static inline const char *home_stub(void)
{
	static char path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);

	/* build/selftests/unit/test_… */
	assert_true(n > 0);
	path[n] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(path, '/') = '\0';
	return strcat(path, "/bin/ehstub");
}

static inline void home_child(struct home *h, char **argv)
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
		prctl(PR_CAPBSET_DROP, HOME_CAP_RESOURCE, 0, 0, 0);
	if (h->few)
		setrlimit(RLIMIT_NOFILE, h->few);
	if (h->weak && (prctl(PR_SET_SECUREBITS, HOME_NOROOT, 0, 0, 0) ||
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)))
		_exit(96);
	/* Another user may be kept out of the directory that all this was built in. */
	stub = h->user ? open(home_stub(), O_PATH | O_CLOEXEC) : -1;
	if (h->user && (setgroups(0, NULL) || setgid(h->user) || setuid(h->user)))
		_exit(97);
	if (h->user)
		execveat(stub, "", argv, environ, AT_EMPTY_PATH);
	else
		execv(home_stub(), argv);
	_exit(99);
}

/* The next home_start() starts nothing before home_let(), when this process has closed its files. */
static inline void home_hold(struct home *h)
{
	assert_return_code(pipe2(h->hold, O_CLOEXEC), errno);
}

static inline void home_let(struct home *h)
{
	close(h->hold[0]);
	close(h->hold[1]);
	h->hold[0] = 0;
}

/* With descriptors h->fds, which are closed here. */
static inline void home_start(struct home *h, const char *option, const char *token,
			      const char *path, const char *argument)
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
		home_child(h, argv);
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

static inline void home_say(struct home *h, const struct job_message *m)
{
	int err;

	UNTIL(h, (err = job_end_say(&h->far, m)) != -EAGAIN);
	assert_int_equal(err, 0);
}

/* The stub sends its task, which starts "there". */
static inline void home_begin(struct home *h)
{
	struct job_message ready = { .what = JOB_READY };
	struct job_message started = { .what = JOB_STARTED, .pid = 77 };

	UNTIL(h, h->job);
	home_attach(h);
	for (uint32_t i = 0; h->opens && i < h->nfiles; i++) {
		const struct job_message m = { .what = JOB_OPENED,
					       .channel = JOB_CHANNEL_FILES + i };

		if (h->files[i].kind == JOB_REAL)
			home_say(h, &m);
	}
	home_say(h, &ready);
	UNTIL(h, h->far.state == JOB_COMMITTED);
	home_say(h, &started);
	UNTIL(h, h->notes[NOTE_STARTED]);
	assert_int_equal(h->note.pid, 77);
}

/* Starts a task and runs it "there". */
static inline void home_run(struct home *h, const char *option, const char *token)
{
	home_start(h, option, token, "/bin/sh", "echo here; cat");
	home_begin(h);
}

static inline void home_print(struct home *h, uint32_t channel, const void *bytes, size_t n)
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

static inline void home_exit(struct home *h, int status, bool more)
{
	struct job_message m = { .what = JOB_EXIT,
				 .exit = { .use = { .status = status, .user_us = 5 },
					   .more = more } };

	home_say(h, &m);
}

static inline void home_close(struct home *h)
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

/* A task ends as it did there, and both ends know it; home_close() follows. */
static inline void home_ends(struct home *h, int status)
{
	home_exit(h, status, false);
	/* It has ended when what it said last is still to be read. */
	UNTIL(h, h->ended && h->notes[NOTE_ENDED]);
	assert_int_equal(h->status, status);
	assert_int_equal(h->notes[NOTE_ENDED], 1);
	assert_int_equal(h->note.use.user_us, 5);
	UNTIL(h, job_end_done(&h->far));
}

static inline void home_over(struct home *h, int status)
{
	home_ends(h, status);
	home_close(h);
}

/* Of this descriptor of the task: its number, if it is one of 0-2 as they usually are. */
static inline uint32_t home_channel(const struct home *h, uint32_t number)
{
	for (uint32_t i = 0; i < h->ndescriptors; i++)
		if (h->descriptors[i].number == number)
			return h->descriptors[i].channel;
	return number;
}

/* Its first descriptors are /dev/null. */
static inline void home_null(struct home *h, int n)
{
	for (int i = 0; i < n; i++)
		h->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
}

static inline void home_pipe(int fds[2])
{
	assert_return_code(pipe2(fds, O_CLOEXEC), errno);
}

static inline short home_poll(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

/* What is in it now, as a string. */
static inline const char *home_content(int fd)
{
	static char text[1 << 17];
	ssize_t n;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Alone with its socket's name. */
static inline void home_program(void)
{
	signal(SIGPIPE, SIG_IGN);
	agent_socket_program();
}

#endif
