// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest_home.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "built.h"
#include "frames.h"

#define HOME_OUT (4u << 20)

static void home_event(struct home *h, const char *word)
{
	size_t n = strlen(h->events);

	snprintf(h->events + n, sizeof(h->events) - n, "%s%s", n ? " " : "", word);
}

void home_say(struct home *h, struct job_message m)
{
	assert_int_equal(job_end_say(&h->end, &m), 0);
}

void home_offer(struct home *h, uint32_t channel, bool ahead)
{
	struct job_message m = { .what = JOB_OFFER, .channel = channel };

	m.ahead = ahead;
	home_say(h, m);
}

/* Copies, as many as there is room for; then the end. */
static void home_copy(struct home *h)
{
	size_t room;

	while (h->at < h->ninput && (room = job_end_room(&h->end, 0))) {
		size_t n = h->ninput - h->at < room ? h->ninput - h->at : room;

		job_end_send(&h->end, 0, (const uint8_t *)h->input + h->at, n, true);
		h->at += n;
	}
	if (h->at == h->ninput && !h->end.channels[0].ended)
		home_say(h, (struct job_message){ .what = JOB_END, .channel = 0 });
}

void home_answer(struct home *h)
{
	uint64_t wish = h->end.channels[0].may - h->end.channels[0].sent;
	size_t n = h->ninput - h->at;

	if (n > wish)
		n = wish;
	if (n > JOB_DATA_MAX)
		n = JOB_DATA_MAX;
	if (!n) {
		home_say(h, (struct job_message){ .what = JOB_END, .channel = 0 });
		return;
	}
	job_end_send(&h->end, 0, (const uint8_t *)h->input + h->at, n, false);
	h->at += n;
	home_offer(h, 0, false);
}

static void home_data(struct home *h, const struct job_message *m)
{
	uint32_t c = m->channel;

	if (!h->got[c])
		h->got[c] = malloc(HOME_OUT + 1);
	assert_true(h->ngot[c] + m->data.length <= HOME_OUT);
	for (size_t i = 0; h->counts && i < m->data.length; i++)
		if (m->data.bytes[i] == 'y')
			h->early += h->modes.cc[VMIN] <= ++h->ys;
	memcpy(h->got[c] + h->ngot[c], m->data.bytes, m->data.length);
	h->ngot[c] += m->data.length;
	h->got[c][h->ngot[c]] = '\0';
	if (!h->keep_output)
		job_end_grant(&h->end, c, m->data.length);
}

static int home_message(void *ctx, const struct job_message *m)
{
	struct home *h = ctx;
	char word[32];

	switch (m->what) {
	case JOB_READY:
		home_event(h, "ready");
		if (!h->prepare_only)
			home_say(h, (struct job_message){ .what = JOB_GO });
		break;
	case JOB_STARTED:
		home_event(h, "started");
		h->program = m->pid;
		if (h->input)
			home_offer(h, 0, h->ahead);
		break;
	case JOB_REFUSED:
		home_event(h, "refused");
		h->reason = m->refused.reason;
		h->error = m->refused.error;
		memcpy(h->refused, m->refused.text, m->refused.length);
		break;
	case JOB_STOPPED:
		snprintf(word, sizeof(word), "stopped:%u", m->signal);
		home_event(h, word);
		h->stops++;
		break;
	case JOB_CONTINUED:
		home_event(h, "continued");
		break;
	case JOB_EXIT:
		home_event(h, m->exit.more ? "exit+" : "exit");
		h->use = m->exit.use;
		h->more = m->exit.more;
		break;
	case JOB_OVER:
		home_event(h, "over");
		break;
	case JOB_DATA:
		home_data(h, m);
		break;
	case JOB_END:
		h->ended[m->channel] = true;
		break;
	case JOB_CLOSED:
		h->closed[m->channel] = true;
		break;
	case JOB_WANT:
		/* One in the middle of its exec cannot be looked at: that is no wish. */
		if (h->end.channels[m->channel].unsure && !job_end_room(&h->end, m->channel))
			break;
		h->wants[m->channel]++;
		if (m->channel == 0 && h->input && !h->ahead && !h->manual)
			home_answer(h);
		break;
	case JOB_READ:
		assert_true(m->total >= h->read[m->channel]);
		h->read[m->channel] = m->total;
		break;
	case JOB_OPENED:
		h->opened[m->channel] = true;
		break;
	case JOB_SEEK:
		h->offsets[m->channel] = m->offset;
		break;
	case JOB_LOCK:
		h->locks[m->channel] = 1 + m->exclusive;
		break;
	case JOB_TERMINAL:
		h->modes = m->terminal.modes;
		break;
	default:
		fail_msg("home heard message %d", m->what);
	}
	return 0;
}

static void home_lost(void *ctx, enum job_state before)
{
	struct home *h = ctx;

	h->lost = true;
	home_event(h, "lost");
}

static const struct job_end_ops home_ops = { home_message, home_lost };

void home_send_frame(struct home *h, enum frame_type type, const void *payload, uint32_t length)
{
	uint8_t head[FRAME_HEADER];

	/* Between two frames only. */
	while (h->from < h->to) {
		ssize_t n = send(h->socket, h->out + h->from, h->to - h->from, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		h->from += n;
	}
	frame_header(head, type, length);
	/* It need not wait for what it is told: it may have ended, all being said. */
	if (send(h->socket, head, sizeof(head), MSG_NOSIGNAL) < 0) {
		assert_int_equal(errno, EPIPE);
		return;
	}
	for (uint32_t at = 0; at < length;) {
		ssize_t n = send(h->socket, (const char *)payload + at, length - at, MSG_NOSIGNAL);

		assert_true(n > 0);
		at += n;
	}
}

static void home_frame(struct home *h, enum frame_type type, const uint8_t *payload,
		       uint32_t length)
{
	struct note note;

	switch (type) {
	case FRAME_LINK:
		assert_int_equal(job_end_take(&h->end, payload, length), 0);
		break;
	case FRAME_NOTE:
		assert_int_equal(note_decode(&note, payload, length), 0);
		h->notes[note.what]++;
		if (note.what == NOTE_ENDED && !h->never_noted)
			home_send_frame(h, FRAME_NOTED, NULL, 0);
		break;
	default:
		fail_msg("the agent got a frame of type %d", type);
	}
}

/* 1: a frame was handled; 0: none; -1: the guest has closed its socket. */
static int home_read(struct home *h)
{
	enum frame_type type;
	uint32_t length;
	int ret;

	ret = frames_read(h->socket, h->in, sizeof(h->in), &h->have, &type, &length);
	if (ret > 0)
		home_frame(h, type, h->in + FRAME_HEADER, length);
	return ret;
}

static void home_write(struct home *h)
{
	for (;;) {
		ssize_t n;

		if (h->from == h->to) {
			h->from = 0;
			h->to = job_end_next(&h->end, h->out, sizeof(h->out));
		}
		if (!h->to)
			return;
		n = send(h->socket, h->out + h->from, h->to - h->from, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n <= 0)
			return;
		h->from += n;
	}
}

bool home_step(struct home *h, int wait_ms)
{
	struct pollfd p = { .fd = h->socket };
	int ret = 1;

	if (h->ahead && h->end.state == JOB_RUNNING)
		home_copy(h);
	home_write(h);
	p.events = POLLIN | (h->from < h->to ? POLLOUT : 0);
	poll(&p, 1, wait_ms);
	if (p.revents & (POLLIN | POLLHUP))
		ret = home_read(h);
	home_write(h);
	return ret >= 0;
}

void home_for(struct home *h, int64_t ms)
{
	uint64_t until = clock_ms() + ms;

	while (clock_ms() < until)
		if (!home_step(h, 10))
			return;
}

static pid_t home_spawn(int socket)
{
	const char *path = built("ehlaunch");
	uint64_t all = ~0ull;
	pid_t pid = fork();
	int null;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	null = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3; i++)
		if (i != 2 || !getenv("EHS_STDERR"))
			dup2(null, i);
	if (dup2(socket, 3) < 0)
		_exit(1);
	syscall(SYS_close_range, 4u, ~0u, 0u);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	execl(path, "ehlaunch", "--end", NULL);
	_exit(1);
}

static void home_send_job(struct home *h, const struct job_spec *spec)
{
	size_t n = job_encoded_size(spec);
	uint8_t *job = malloc(n);

	job_encode(spec, job);
	home_send_frame(h, FRAME_JOB, job, n);
	free(job);
}

void home_attach(struct home *h)
{
	uint8_t payload[ATTACH_SIZE];

	home_send_frame(h, FRAME_ATTACHED, payload, attached_encode(&h->attached, payload));
	job_end_attach(&h->end);
}

struct job_spec home_spec(uint32_t flags, const char **argv)
{
	static char tmpdir[PATH_MAX];
	static const char *envp[] = { "PATH=/usr/bin:/bin", "TERM=dumb", "LC_ALL=C", tmpdir, NULL };
	struct job_spec spec = { .flags = flags, .umask = 022, .token = "1", .cwd = "/" };

	snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", getenv("TMPDIR") ?: "/tmp");
	spec.path = argv[0];
	spec.argv = argv;
	while (argv[spec.argc])
		spec.argc++;
	spec.envp = envp;
	spec.envc = 4;
	for (int i = 0; i < JOB_RLIMITS; i++)
		spec.rlimit[i][0] = spec.rlimit[i][1] = ~0ull;
	spec.terminal = (struct terminal){ .iflag = ICRNL | IXON,
					   .oflag = OPOST | ONLCR,
					   .cflag = CS8 | CREAD,
					   .lflag = ICANON | ECHO | ISIG | IEXTEN,
					   .rows = 25,
					   .columns = 80 };
	spec.terminal.cc[VEOF] = 4;
	spec.terminal.cc[VINTR] = 3;
	spec.terminal.cc[VMIN] = 1;
	return spec;
}

struct home *home_new(void)
{
	struct home *h = calloc(1, sizeof(*h));
	int pair[2];

	assert_non_null(h);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	h->guest = home_spawn(pair[1]);
	close(pair[1]);
	h->socket = pair[0];
	h->attached = (struct attached){ .limit_ms = 30000, .started_ms = 1 };
	strcpy(h->attached.token, "00112233445566778899aabbccddeeff");
	strcpy(h->attached.id, "n1-1");
	strcpy(h->attached.other, "0.1");
	return h;
}

void home_run_spec(struct home *h, const struct job_spec *spec)
{
	home_send_job(h, spec);
	job_end_init(&h->end, JOB_HOME, h->memory, clock_ms(), HOME_PATIENCE_MS,
		     h->attached.limit_ms, &home_ops, h);
	job_end_channels(&h->end, JOB_CHANNEL_FILES + spec->nfiles);
	home_attach(h);
}

void home_run(struct home *h, uint32_t flags, const char *script)
{
	const char *argv[] = { "/bin/bash", "-c", script, NULL };
	const struct job_spec spec = home_spec(flags, argv);

	home_run_spec(h, &spec);
}

void home_input(struct home *h, const char *text)
{
	h->input = text;
	h->ninput = strlen(text);
}

const char *home_got(const struct home *h, int channel)
{
	return h->got[channel] ? (const char *)h->got[channel] : "";
}

int home_end(struct home *h)
{
	uint64_t until = clock_ms() + HOME_PATIENCE_MS;
	int status = -1;

	while (waitpid(h->guest, &status, WNOHANG) != h->guest) {
		if (clock_ms() > until) {
			kill(h->guest, SIGKILL);
			waitpid(h->guest, &status, 0);
			fail_msg("ehguest does not end; events: %s", h->events);
		}
		home_step(h, 10);
	}
	while (home_step(h, 0) &&
	       poll(&(struct pollfd){ .fd = h->socket, .events = POLLIN }, 1, 0) > 0)
		;
	return status;
}

void home_free(struct home *h)
{
	close(h->socket);
	for (int i = 0; i < JOB_CHANNELS; i++)
		free(h->got[i]);
	free(h);
}

bool home_has(const struct home *h, const char *word)
{
	return strstr(h->events, word);
}

char home_process_state(uint32_t pid)
{
	char name[64], state = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%u/stat", pid);
	f = fopen(name, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state;
}
