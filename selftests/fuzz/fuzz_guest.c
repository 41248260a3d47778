// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The executor's end of a job, between an agent that says anything and a program that does. Its books are in order
 * whenever it waits, and it ends when its agent has gone.
 *
 * The first bytes say what the job has open; then come steps of the world (one_end.h). The program is not there: it has
 * its descriptors (the far ends), executes or fails to, and changes its state.
 */
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "one_end.h"

/* With what only its loop uses. */
#include "helpers/ehguest/main.c"
/* And what its child and it leave each other. */
#include "helpers/ehguest/program.c"

#include "helpers/ehguest/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROGRAM 1000 /* its pid, which is nobody's: kill() does nothing here */

static struct guest mine;
static struct play {
	unsigned int stage, error; /* how far it will come: struct child */
	bool runs;
	bool news, ended; /* `status` is not told yet; it has ended */
	int status; /* as from wait4() */
	struct input_wish wish;
} play;

/* ---- its system, beside one_end.c ---- */

int clone(int (*run)(void *arg), void *stack, int flags, void *arg, ...)
{
	struct child *c = arg;

	if (play.stage > CHILD_EXEC)
		return -1;
	c->stage = play.stage;
	c->error = (int)play.error;
	play.runs = !c->error && c->stage == CHILD_EXEC;
	if (play.runs)
		c->p->pid = PROGRAM;
	return PROGRAM;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	return pid;
}

/* What wait4() is asked for with these options. */
static bool play_tells(int options)
{
	if (!play.news)
		return false;
	return WIFSTOPPED(play.status) ? options & WUNTRACED : true;
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	memset(usage, 0, sizeof(*usage));
	if (play_tells(options)) {
		play.news = false;
		*status = play.status;
		return PROGRAM;
	}
	errno = ECHILD;
	return play.ended && !(world.flags & 1) ? -1 : 0;
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	if (type != P_PID)
		return -1;
	info->si_pid = play.news && WIFSTOPPED(play.status) ? PROGRAM : 0;
	return 0;
}

struct input_wish input_wanted(const struct input_source *source)
{
	return play.wish;
}

int64_t input_look_after(int64_t now, int64_t ms)
{
	return now + ms;
}

/* The session, and its foreground group, are not ours to change. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *to;

	va_start(list, request);
	to = va_arg(list, void *);
	va_end(list);
	if (request == TIOCSCTTY || request == TIOCSPGRP)
		return 0;
	if (request == TIOCGPGRP) {
		*(pid_t *)to = PROGRAM;
		return 0;
	}
	return (int)syscall(SYS_ioctl, fd, request, to);
}

/* ---- the program ---- */

static void play_state(int status)
{
	/* One that was not told yet is lost, as with waitpid(). */
	if (play.ended || !play.runs)
		return;
	play.status = status;
	play.news = mine.program.reap = true;
	play.ended = !WIFSTOPPED(status) && !WIFCONTINUED(status);
}

static bool step(uint8_t what)
{
	const uint8_t with = input_byte(&world.in);

	if (world.over) {
		play_state(SIGKILL);
		return true;
	}
	switch (what >> 4) {
	case 0 ... 2:
		break;
	case 3:
		play.stage = with & 15;
		play.error = with >> 4;
		break;
	case 4 ... 6:
		play.stage = CHILD_EXEC;
		play.error = 0;
		break;
	case 7:
		play_state(0x7f | (with % 64 + 1) << 8);
		break;
	case 8:
		play_state(0xffff);
		break;
	case 9:
		play_state(with << 8);
		break;
	case 10:
		play_state(with % 64 + 1);
		break;
	default:
		play.wish =
			(struct input_wish){ .bytes = input_number(&world.in), .unsure = with & 1 };
		break;
	}
	/* As a signal would. */
	return true;
}

static void check(void)
{
	for (unsigned int i = 0; i < mine.flow.nins; i++) {
		const struct intake *in = &mine.flow.in[i];

		must(in->from <= in->to && in->to <= JOB_WINDOW + JOB_DATA_MAX);
		must((in->held || !in->to) && in->read <= in->written);
	}
	for (unsigned int i = 0; i < mine.flow.nouts; i++) {
		const struct job_channel *c = &mine.session.end.channels[mine.flow.out[i].channel];

		must(mine.flow.out[i].sent == c->sent && c->sent <= c->may);
	}
	must(mine.flow.pty.read <= mine.flow.pty.typed && mine.flow.tokens.owed >= 0);
}

/* ---- what the job has open ---- */

static void open_job(struct flow *f, uint8_t kinds, uint8_t files)
{
	static const uint32_t kind[] = { JOB_STREAM, JOB_SOCKET, JOB_STREAM, JOB_STREAM };
	static const uint32_t flags[] = { JOB_OPEN_READ, JOB_OPEN_READ | JOB_OPEN_WRITE,
					  JOB_OPEN_READ | JOB_OPEN_TOKENS,
					  JOB_OPEN_WRITE | JOB_OPEN_TOKENS };
	static const char *none[] = { NULL };
	struct job_descriptor descriptors[3];
	struct job_file file[3] = { 0 };
	struct job_spec spec = { .path = "/bin/true", .argv = none, .envp = none };
	struct handed its = { 0 };
	struct trouble why = { 0 };

	spec.flags = (kinds & 7) | (kinds & 8 ? JOB_CTTY : 0) | (kinds & 16 ? JOB_MERGED : 0);
	if (kinds & 8)
		spec.flags |= (uint32_t)(kinds >> 5) << 3 & JOB_TTYS;
	spec.files = file;
	spec.descriptors = descriptors;
	for (unsigned int i = 0; i < (files & 3); i++) {
		file[i].kind = kind[files >> (2 + 2 * i) & 3];
		file[i].flags = flags[files >> (2 + 2 * i) & 3];
		file[i].path = file[i].place = "";
		descriptors[i] = (struct job_descriptor){ 10 + i, JOB_CHANNEL_FILES + i };
		spec.ndescriptors = ++spec.nfiles;
	}
	must(!flow_open(f, &spec, &its, &why));
	for (unsigned int i = 0; i < its.n; i++)
		one_end_far(its.all[i].fd);
	/* Files that it has itself have the next channels. */
	if (spec.nfiles < 3 && spec.ndescriptors) {
		f->reals.all[0] = (struct real){ .fd = one_end_file(), .channel = f->channels++ };
		f->reals.n = 1;
	}
}

static void begin(struct guest *g)
{
	const uint8_t kinds = input_byte(&world.in), files = input_byte(&world.in);

	memset(g, 0, offsetof(struct guest, memory));
	g->session.now = world.now;
	g->signals = -1;
	main_init(g);
	session_name(&g->session, "true");
	open_job(&g->flow, kinds, files);
	job_end_channels(&g->session.end, g->flow.channels);
	play = (struct play){ .stage = CHILD_EXEC };
	g->program.prepared = true;
	session_open(&g->session, one_end_connect());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	one_end_begin(data, size);
	begin(&mine);
	one_end_play(&mine.session.end, step, check);
	while (!main_done(&mine)) {
		main_poll(&mine);
		main_step(&mine);
	}
	world.on = false;
	for (unsigned int i = 0; i < mine.flow.nins; i++)
		if (mine.flow.in[i].held)
			munmap(mine.flow.in[i].held, JOB_WINDOW + JOB_DATA_MAX);
	one_end_done();
	return 0;
}
