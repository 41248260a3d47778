// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The executor's end of a job. ehlaunch has made this process the user's, with the socket of its
 * agent as descriptor 3; perhaps FRAME_NAMED, then FRAME_JOB and FRAME_ATTACHED come first.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/ehsched.h>

#include "guest.h"
#include "helpers/end/look.h"
#include "helpers/end/names.h"
#include "wire/launch.h"

#define MAIN_SOCKET 3

/*
 * A stopped task has a stopped stub, which can connect to a new agent only when it goes on. Once
 * all is said, that stub may have gone on and ended, and its acknowledgement may be lost.
 */
bool guest_stands(const struct guest *g)
{
	return g->session.end.state != JOB_FINISHED && (g->program.stopped || g->program.pause);
}

void guest_refuse(struct guest *g, int error, const char *what, bool exec)
{
	struct job_message m = { .what = JOB_REFUSED };
	char text[JOB_TEXT_MAX];
	int n;

	n = snprintf(text, sizeof(text), error ? "%s: %s" : "%s", what, strerror(error));
	m.refused.reason = g->program.reason ? g->program.reason : EHS_REASON_START_FAILED;
	m.refused.error = exec ? error : 0;
	m.refused.text = text;
	m.refused.length = n < JOB_TEXT_MAX ? n : JOB_TEXT_MAX - 1;
	job_end_say(&g->session.end, &m);
}

/* ---- the start ---- */

/* Descriptors 0-2 may be closed: what we open must not be found there. */
static int main_keep_low(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd < MAIN_SOCKET);
	return fd < 0 ? -errno : close(fd);
}

pid_t guest_outside;

pid_t guest_shown(const struct guest *g)
{
	return g->program.pid > 0 && guest_outside ? guest_outside : g->program.pid;
}

static int main_receive(void *to, size_t length)
{
	for (size_t have = 0; have < length;) {
		ssize_t n = recv(MAIN_SOCKET, (char *)to + have, length - have, MSG_WAITALL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		have += n;
	}
	return 0;
}

/* A frame, which is larger than all that comes later; the caller unmaps it. */
static uint8_t *main_receive_frame(enum frame_type *type, uint32_t *length)
{
	uint8_t head[FRAME_HEADER], *frame;

	if (main_receive(head, sizeof(head)) || frame_parse(head, type, length) || !*length)
		return NULL;
	frame = mmap(NULL, *length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (frame == MAP_FAILED)
		return NULL;
	if (!main_receive(frame, *length))
		return frame;
	munmap(frame, *length);
	return NULL;
}

/* Tells the agent whether the files are those of home. 0, or -errno: it is not to go on. */
static int main_compare(const uint8_t *list, uint32_t length, bool tells)
{
	uint8_t frame[FRAME_HEADER + ATTACH_SIZE];
	struct note n = { .what = NOTE_SAME, .timed = tells };
	const char *path = "";
	int err = names_compare(list, length, &path);
	size_t size;

	if (err && err != -EXDEV)
		return err;
	if (err) {
		n.what = NOTE_DIFFERS;
		snprintf(n.text, sizeof(n.text), "%s", path);
	}
	n.ended_us = calls_us();
	size = note_encode(&n, frame + FRAME_HEADER);
	frame_header(frame, FRAME_NOTE, size);
	size += FRAME_HEADER;
	if (send(MAIN_SOCKET, frame, size, MSG_NOSIGNAL) != (ssize_t)size)
		return -EPIPE;
	return err;
}

/* The job, and before it the files that its arguments name, if there are any to compare. */
static uint8_t *main_receive_job(uint32_t *length, bool tells)
{
	enum frame_type type;
	uint8_t *frame = main_receive_frame(&type, length);
	int err;

	if (frame && type == FRAME_NAMED) {
		err = main_compare(frame, *length, tells);
		munmap(frame, *length);
		frame = err ? NULL : main_receive_frame(&type, length);
	}
	if (!frame || type == FRAME_JOB)
		return frame;
	munmap(frame, *length);
	return NULL;
}

void start_over(struct start *s)
{
	flow_close(&s->its);
	if (!s->job)
		return;
	job_free(&s->spec);
	munmap(s->job, s->length);
	s->job = NULL;
}

static uint64_t main_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Its process may say what it likes: the kernel has told home's agent. */
static void main_correct(struct job_spec *spec, const struct launch_start *asked)
{
	for (int i = 0; i < JOB_RLIMITS; i++)
		for (int j = 0; j < 2; j++)
			spec->rlimit[i][j] = main_least(spec->rlimit[i][j], asked->rlimit[i][1]);
	memcpy(spec->traits, asked->traits, sizeof(spec->traits));
}

/* Its agent decides whether they are those of home. 0 or -EPIPE. */
static int main_look(const struct job_spec *spec)
{
	uint8_t frame[LOOK_FRAME];

	look_make(spec->cwd, spec->path, frame);
	return send(MAIN_SOCKET, frame, sizeof(frame), MSG_NOSIGNAL) == sizeof(frame) ? 0 : -EPIPE;
}

/* Makes what the job says. */
static void main_prepare(struct guest *g)
{
	struct start *s = &g->start;
	int err;

	session_name(&g->session, s->spec.path);
	g->flags = s->spec.flags;
	err = pty_open(g, &s->spec);
	if (!err)
		err = flow_open(g, &s->spec, &s->its);
	job_end_channels(&g->session.end, g->channels);
	if (!err)
		err = program_prepare(g);
	if (!err)
		return;
	start_over(s);
	if (g->program.trouble)
		return;
	g->program.trouble = "cannot start a process for it";
	g->program.error = -err;
}

static int main_begin(struct guest *g, const struct launch_start *asked)
{
	struct start *s = &g->start;
	struct timespec t;
	int err;

	calls_mask(~0ull);
	/* Ignored, it would not be told. */
	signal(SIGCHLD, SIG_DFL);
	if (main_keep_low() || fcntl(MAIN_SOCKET, F_SETFD, FD_CLOEXEC))
		return -errno;
	g->signals = calls_signalfd(1ull << (SIGCHLD - 1));
	if (g->signals < 0)
		return -errno;
	clock_gettime(CLOCK_REALTIME, &t);
	connection_init(g);
	g->program.resume_at = SESSION_NEVER;
	g->session.note.begun_us = calls_us();
	g->session.who.started_ms = t.tv_sec * 1000ull + t.tv_nsec / 1000000;
	flow_init(g);
	pty_init(g);
	g->session.tells = asked && asked->flags & LAUNCH_TELLS;
	s->job = main_receive_job(&s->length, g->session.tells);
	if (!s->job)
		return -EPIPE;
	err = job_decode(&s->spec, s->job, s->length);
	if (!err && asked)
		main_correct(&s->spec, asked);
	if (!err && g->session.tells)
		err = main_look(&s->spec);
	if (!err)
		main_prepare(g);
	session_open(&g->session, MAIN_SOCKET);
	return err;
}

/* ---- the loop ---- */

static bool main_done(const struct guest *g)
{
	if (!g->session.known)
		return g->session.hop.socket < 0;
	if (g->session.end.state == JOB_LOST)
		return true;
	return job_end_done(&g->session.end) &&
	       (g->session.hop.socket < 0 || g->session.hop.from == g->session.hop.to);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int main_wait_ms(const struct guest *g)
{
	int64_t at = earlier(session_deadline(&g->session), g->pty.look_at);

	for (unsigned int i = 0; i < g->nins; i++)
		at = earlier(at, g->in[i].look_at);
	for (unsigned int i = 0; i < g->nouts; i++)
		at = earlier(at, outlet_end_at(g, &g->out[i]));
	at = earlier(at, tokens_look_at(g));
	at = earlier(at, g->program.resume_at);
	if (g->pty.held_until)
		at = earlier(at, g->pty.held_until);
	if (g->ended && !g->noted && g->session.end.state == JOB_RUNNING &&
	    g->noted_by > g->session.now)
		at = earlier(at, g->noted_by);
	if (at == SESSION_NEVER)
		return -1;
	at -= calls_now();
	return at < 0 ? 0 : earlier(at, 1000000);
}

static void main_spare(struct guest *g)
{
	if (!session_spare(&g->session))
		return;
	for (unsigned int i = 0; i < g->nins; i++)
		intake_spare(&g->in[i]);
}

static void main_poll(struct guest *g)
{
	enum { SOCKET, SIGNALS, PTY, TOKENS, FLOWS };
	struct pollfd fds[FLOWS + GUEST_INS + GUEST_OUTS] = {
		[SOCKET] = { .fd = g->session.hop.socket,
			     .events = POLLIN | (g->session.blocked ? POLLOUT : 0) },
		[SIGNALS] = { .fd = g->signals, .events = POLLIN },
		[PTY] = pty_poll(g),
		[TOKENS] = tokens_poll(g),
	};
	struct pollfd *in = fds + FLOWS, *out = in + g->nins;
	struct signalfd_siginfo info;
	int n;

	for (unsigned int i = 0; i < g->nins; i++)
		in[i] = intake_poll(g, &g->in[i]);
	for (unsigned int i = 0; i < g->nouts; i++)
		out[i] = outlet_poll(g, &g->out[i]);
	n = poll(fds, FLOWS + g->nins + g->nouts, main_wait_ms(g));
	g->session.now = calls_now();
	if (n <= 0)
		return;
	while (fds[SIGNALS].revents && read(g->signals, &info, sizeof(info)) > 0)
		g->program.reap = true;
	for (unsigned int i = 0; i < g->nins; i++)
		g->in[i].ready |= in[i].revents;
	for (unsigned int i = 0; i < g->nouts; i++)
		g->out[i].ready |= out[i].revents;
	g->pty.ready |= fds[PTY].revents;
	g->tokens.ready |= fds[TOKENS].revents;
	if (fds[SOCKET].revents)
		session_read(&g->session);
}

static void main_set_limit(struct guest *g)
{
	const int64_t limit = guest_stands(g) ? ATTACH_STOPPED_MS : g->session.attached.limit_ms;

	if (g->session.end.limit_ms != limit)
		job_end_set_limit(&g->session.end, g->session.now, limit);
}

static void main_step(struct guest *g)
{
	program_step(g);
	program_reap(g);
	program_tick(g);
	for (unsigned int i = 0; i < g->nins; i++)
		intake_step(g, &g->in[i]);
	for (unsigned int i = 0; i < g->nouts; i++)
		outlet_step(g, &g->out[i]);
	tokens_step(g);
	pty_step(g);
	ending_step(g);
	main_spare(g);
	if (g->session.known)
		main_set_limit(g);
	job_end_tick(&g->session.end, g->session.now);
	connection_again(g);
	session_write(&g->session);
}

int guest_main(const struct launch_start *asked)
{
	static struct guest g;

	g.session.now = calls_now();
	if (main_begin(&g, asked))
		return 1;
	while (!main_done(&g)) {
		main_poll(&g);
		main_step(&g);
	}
	kill_all(&g);
	return g.session.known && g.session.end.state != JOB_LOST ? 0 : 1;
}
