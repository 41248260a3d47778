// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stub from the job's start to its end, between an agent that says anything and descriptors of all kinds. It starts
 * nothing here after GO but what may run again, counts each byte of output once, and ends whatever comes.
 *
 * The first bytes say how it was started and what it has open; then come steps of the world (one_end.h).
 */
#include <fcntl.h>
#include <setjmp.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "one_end.h"

/* All of it but its arguments and what it opens: the target gives it these. */
#include "helpers/ehstub/start.c"

#include "helpers/ehstub/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum how { HOW_NOT, HOW_EXIT, HOW_HERE };

static struct stub mine;
static struct play {
	pid_t child; /* that a fork() makes */
	int signals; /* where those to it are written */
	enum how how;
	sigjmp_buf end;
} play;

/* ---- its end ---- */

static void play_end(enum how how) __attribute__((noreturn));

static void play_end(enum how how)
{
	world.on = false;
	play.how = how;
	siglongjmp(play.end, 1);
}

void _exit(int status)
{
	if (world.on)
		play_end(HOW_EXIT);
	for (;;)
		syscall(SYS_exit_group, status);
}

int execve(const char *path, char *const *argv, char *const *envp)
{
	must(world.on && argv[0]);
	play_end(HOW_HERE);
}

/* ---- its system, beside one_end.c ---- */

bool readers_other(int fd, pid_t witness, bool all)
{
	return world.flags & 1;
}

pid_t fork(void)
{
	return play.child;
}

int prctl(int option, ...)
{
	return 0;
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	return 0;
}

pid_t tcgetpgrp(int fd)
{
	return world.flags & 2 ? getpgrp() : getpgrp() + 1;
}

/* A signal comes. */
static bool step(uint8_t what)
{
	static const int codes[] = { SI_USER, SI_KERNEL, SI_QUEUE, 1 };
	struct signalfd_siginfo one = { .ssi_signo = 1 + input_byte(&world.in) % CALLS_SIGNALS,
					.ssi_pid = 1 };

	one.ssi_code = codes[what >> 4 & 3];
	if (!world.over)
		send(play.signals, &one, sizeof(one), MSG_DONTWAIT | MSG_NOSIGNAL);
	return true;
}

static void check(void)
{
	for (uint32_t i = 0; i < mine.nsinks; i++) {
		const struct sink *k = &mine.sinks[i];

		must(k->length <= JOB_WINDOW && k->from < JOB_WINDOW && (k->held || !k->length));
		must(mine.lost || k->done + k->length == mine.session.end.channels[k->channel].got);
	}
	for (uint32_t i = 0; i < mine.nsources; i++) {
		const struct copies *c = &mine.sources[i].copies;

		must(c->taken <= c->copied && c->copied - c->taken <= COPIES_MAX);
	}
	must(mine.tty.typed_length <= TERMINAL_LINE);
}

/* ---- what it has open ---- */

static int open_one(struct stub *s, unsigned int kind, int fd)
{
	switch (kind & 3) {
	case 0:
		return one_end_near(false, !fd);
	case 1:
		return one_end_near(true, !fd);
	case 2:
		return one_end_file();
	default:
		s->flags |= s->tty.fd >= 0 ? JOB_TTY(fd) : JOB_NULL(fd);
		return s->tty.fd >= 0 ? dup(s->tty.fd) : open("/dev/null", O_RDWR);
	}
}

/* Descriptors 0 to 2. */
static void open_usual(struct stub *s, unsigned int kinds)
{
	int fd;

	s->tty.fd = kinds & 64 ? one_end_terminal() : -1;
	if (s->tty.fd >= 0)
		s->flags |= JOB_CTTY;
	for (int i = 0; i < 3; i++, kinds >>= 2) {
		s->flags |= JOB_FD(i);
		fd = open_one(s, kinds, i);
		must(fd > 2 && dup2(fd, i) == i && !close(fd));
	}
	s->opens.usual = 7;
}

static void open_file(struct opens *o, uint8_t kind)
{
	static const struct {
		uint32_t kind, flags;
	} kinds[] = {
		{ JOB_STREAM, JOB_OPEN_READ },
		{ JOB_STREAM, JOB_OPEN_WRITE },
		{ JOB_SOCKET, JOB_OPEN_READ | JOB_OPEN_WRITE },
		{ JOB_STREAM, JOB_OPEN_READ | JOB_OPEN_TOKENS },
		{ JOB_STREAM, JOB_OPEN_WRITE | JOB_OPEN_TOKENS },
		{ JOB_REAL, JOB_OPEN_READ | JOB_OPEN_WRITE },
		{ JOB_REAL, JOB_OPEN_READ | JOB_OPEN_WRITE | JOB_OPEN_APPEND },
		{ JOB_REAL, JOB_OPEN_READ },
	};
	const uint32_t i = o->nfiles++;
	struct job_file *f = &o->files[i];

	f->kind = kinds[kind & 7].kind;
	f->flags = kinds[kind & 7].flags;
	f->path = f->place = "";
	o->fds[i] = f->kind == JOB_REAL
			    ? one_end_file()
			    : one_end_near(f->kind == JOB_SOCKET, f->flags & JOB_OPEN_READ);
	o->descriptors[o->ndescriptors].number = o->fds[i];
	o->descriptors[o->ndescriptors++].channel = JOB_CHANNEL_FILES + i;
}

static void begin(struct stub *s)
{
	static char *argv[5];
	const uint8_t how = input_byte(&world.in), kinds = input_byte(&world.in),
		      files = input_byte(&world.in);
	int pair[2];

	memset(s, 0, offsetof(struct stub, memory));
	start_init(s);
	/* It changes them. */
	memcpy(argv, (const char *[]){ "ehstub", "@n1", "/bin/true", "true", NULL }, sizeof(argv));
	s->all = argv;
	s->explicit = how & 1;
	s->token = s->explicit ? argv[1] : "7";
	s->path = argv[2];
	s->argv = argv + 3;
	s->retry = how & 2;
	s->rsh = how & 4;
	play.child = how & 8 ? 1 : how & 16 ? 0 : -1;
	if (how & 32)
		s->flags |= JOB_MERGED;
	getrlimit(RLIMIT_NOFILE, &s->files);
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
	s->signals = pair[0];
	play.signals = pair[1];
	s->ending = eventfd(0, EFD_CLOEXEC);
	open_usual(s, kinds);
	for (unsigned int i = 0; i < (files & 3); i++)
		open_file(&s->opens, input_byte(&world.in));
	end_open(s);
	session_open(&s->session, one_end_connect());
}

/* The executor has said after GO that nothing has started. */
static bool was_refused(const struct stub *s)
{
	return s->phase == PHASE_RUNS && s->session.end.state == JOB_FINISHED;
}

static void release(const struct stub *s)
{
	for (uint32_t i = 0; i < s->nsinks; i++)
		if (s->sinks[i].held)
			munmap(s->sinks[i].held, JOB_WINDOW);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	one_end_begin(data, size);
	begin(&mine);
	one_end_play(&mine.session.end, step, check);
	if (!sigsetjmp(play.end, 0))
		loop_run(&mine);
	if (play.how == HOW_HERE && mine.phase != PHASE_ASKS && !was_refused(&mine))
		must(mine.retry && (mine.phase == PHASE_LOST || mine.loss == LOSS_STARVED));
	release(&mine);
	one_end_done();
	return 0;
}
