// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM_STOPPED 0x7f /* low byte; musl's WIFSTOPPED() overflows an int */
#define PROGRAM_CLOEXEC 4u /* CLOSE_RANGE_CLOEXEC; musl has no headers of the kernel */

/* The steps of the child, named in its error message. */
enum program_stage {
	PROGRAM_READY,
	PROGRAM_DESCRIPTORS,
	PROGRAM_PARENT,
	PROGRAM_LIMITS,
	PROGRAM_FOLDER,
	PROGRAM_EXEC,
	PROGRAM_STAGES
};

static const char *const program_stages[PROGRAM_STAGES] = {
	[PROGRAM_DESCRIPTORS] = "cannot set up its descriptors",
	[PROGRAM_PARENT] = "cannot be tied to its parent",
	[PROGRAM_LIMITS] = "cannot set its limits",
	[PROGRAM_FOLDER] = "cannot enter its working directory",
	[PROGRAM_EXEC] = "cannot execute the program",
};

struct program_news {
	int32_t stage, error;
};

/* ---- the child ---- */

/* What is in the way of a descriptor that the program gets is moved above all of them. */
static int child_move(int *fd, int last)
{
	if (*fd <= last)
		*fd = fcntl(*fd, F_DUPFD_CLOEXEC, last + 1);
	return *fd < 0 ? -1 : 0;
}

static int child_descriptors(struct handed *its, int *control)
{
	bool low[3] = { false, false, false };
	int last = 2;

	for (unsigned int i = 0; i < its->n; i++) {
		const uint32_t number = its->all[i].number;

		if (number < 3)
			low[number] = true;
		if (last < (int)number)
			last = number;
	}
	if (child_move(control, last))
		return -1;
	for (unsigned int i = 0; i < its->n; i++)
		if (child_move(&its->all[i].fd, last))
			return -1;
	for (int i = 0; i < 3; i++)
		if (!low[i])
			close(i);
	for (unsigned int i = 0; i < its->n; i++)
		if (dup2(its->all[i].fd, its->all[i].number) < 0)
			return -1;
	/* All of ours are, this is for what we were started with. */
	syscall(SYS_close_range, 3u, ~0u, PROGRAM_CLOEXEC);
	for (unsigned int i = 0; i < its->n; i++)
		if (its->all[i].number > 2 && fcntl(its->all[i].number, F_SETFD, 0))
			return -1;
	return 0;
}

static void child_signals(uint64_t ignored)
{
	for (int sig = 1; sig <= CALLS_SIGNALS; sig++)
		calls_set_action(sig, ignored >> (sig - 1) & 1);
}

/* The agent has raised ours to these, where it may. 0, or -1 with errno. */
static int child_limits(const struct job_spec *spec)
{
	for (int i = 0; i < JOB_RLIMITS; i++) {
		struct rlimit limit, ours;

		if (getrlimit(i, &ours))
			return -1;
		limit.rlim_cur = spec->rlimit[i][0];
		limit.rlim_max = spec->rlimit[i][1];
		if (limit.rlim_max > ours.rlim_max)
			limit.rlim_max = ours.rlim_max;
		if (limit.rlim_cur > limit.rlim_max)
			limit.rlim_cur = limit.rlim_max;
		if (setrlimit(i, &limit))
			return -1;
	}
	return 0;
}

/* The policy stays as it is; anybody may ask for this. */
static void child_reset_on_fork(void)
{
	struct sched_param param;
	int policy = syscall(SYS_sched_getscheduler, 0);

	if (policy >= 0 && !syscall(SYS_sched_getparam, 0, &param))
		syscall(SYS_sched_setscheduler, 0, policy | SCHED_RESET_ON_FORK, &param);
}

static void __attribute__((noreturn))
child_run(const struct job_spec *spec, const struct handed *handed, const struct tokens *tokens,
	  int control, pid_t parent)
{
	struct program_news news = { .stage = PROGRAM_DESCRIPTORS };
	struct handed its = *handed;
	char go;

	setpgid(0, 0);
	if (child_descriptors(&its, &control))
		goto tell;
	child_signals(spec->sigignore);
	umask(spec->umask);
	news.stage = PROGRAM_PARENT;
	errno = 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		goto tell;
	/* Not inherited, unlike what ehlaunch has set. */
	if (spec->traits[JOB_SUBREAPER])
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (spec->traits[JOB_POLICY_FLAGS] & JOB_RESET_ON_FORK)
		child_reset_on_fork();
	news.stage = PROGRAM_LIMITS;
	if (child_limits(spec))
		goto tell;
	news.stage = PROGRAM_FOLDER;
	if (chdir(spec->cwd))
		goto tell;
	news.stage = PROGRAM_READY;
	if (send(control, &news, sizeof(news), MSG_NOSIGNAL) != sizeof(news) ||
	    recv(control, &go, 1, 0) != 1)
		_exit(0); /* it was dropped */
	news.stage = PROGRAM_EXEC;
	calls_mask(spec->sigmask);
	tokens_name(tokens, parent, spec);
	execve(spec->path, (char **)spec->argv, (char **)spec->envp);
tell:
	news.error = errno;
	send(control, &news, sizeof(news), MSG_NOSIGNAL);
	_exit(127);
}

/* ---- the start ---- */

/*
 * The program gets a process group of its own in our session. It is not orphaned there, as we are
 * its parent and of another group: otherwise SIGTSTP would not stop it.
 */
int program_start(struct guest *g, const struct job_spec *spec, const struct handed *its)
{
	struct program *p = &g->program;
	pid_t parent = getpid();
	int pair[2], err;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	p->pid = fork();
	if (!p->pid)
		child_run(spec, its, &g->tokens, pair[1], parent);
	err = -errno;
	close(pair[1]);
	if (p->pid < 0) {
		p->pid = 0;
		close(pair[0]);
		return err;
	}
	setpgid(p->pid, p->pid);
	p->group = p->pid;
	p->control = pair[0];
	if (spec->flags & JOB_CTTY && !(spec->flags & JOB_BACKGROUND))
		pty_foreground(g, true);
	return 0;
}

static void program_close(struct program *p)
{
	if (p->control >= 0)
		close(p->control);
	p->control = -1;
}

static void program_give_up(struct program *p, int error, const char *what)
{
	p->trouble = what;
	p->error = error;
	program_close(p);
}

static void program_fail(struct program *p, const struct program_news *news)
{
	const bool known = news->stage > 0 && news->stage < PROGRAM_STAGES;

	p->not_executed = news->stage == PROGRAM_EXEC;
	program_give_up(p, news->error, known ? program_stages[news->stage] : "");
}

static void program_started(struct guest *g)
{
	const struct job_message m = { .what = JOB_STARTED, .pid = guest_shown(g) };

	g->session.note.pid = g->session.who.pid = m.pid;
	program_close(&g->program);
	guest_say(g, &m);
	session_note(&g->session, NOTE_STARTED);
	if (g->program.pause)
		program_pause(g, true);
}

/* Returns whether there was a message, or the end of them. */
static bool program_news(struct guest *g)
{
	struct program *p = &g->program;
	struct program_news news;
	ssize_t n;

	n = recv(p->control, &news, sizeof(news), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n == sizeof(news) && news.stage == PROGRAM_READY)
		p->prepared = true;
	else if (n == sizeof(news))
		program_fail(p, &news);
	else if (g->session.end.state == JOB_COMMITTED)
		program_started(g);
	else
		program_give_up(p, 0, "its process died before the start");
	return true;
}

void program_step(struct guest *g)
{
	const struct job_message ready = { .what = JOB_READY };
	struct program *p = &g->program;

	if (!guest_can_say(g))
		return;
	while (p->control >= 0 && program_news(g))
		;
	if (p->trouble && g->session.end.state <= JOB_COMMITTED) {
		guest_refuse(g, p->error, p->trouble, p->not_executed);
		p->trouble = NULL;
	} else if (p->prepared && g->session.end.state == JOB_PREPARING) {
		real_say(g);
		guest_say(g, &ready);
	}
}

void program_go(struct guest *g)
{
	if (g->program.control >= 0)
		send(g->program.control, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- its states ---- */

static uint64_t program_us(const struct timeval *t)
{
	return t->tv_sec * 1000000ull + t->tv_usec;
}

static void program_ended(struct guest *g, int status, const struct rusage *u)
{
	/* It may have executed and ended already, or failed to execute. */
	program_step(g);
	g->program.pid = g->session.who.pid = g->session.note.pid = 0;
	/* Killed while it was stopped, or continued a moment ago: nothing else tells of that. */
	g->program.stopped = false;
	if (g->session.end.state != JOB_RUNNING)
		return;
	g->session.note.use = (struct frame_exit){
		.status = (unsigned int)status,
		.user_us = program_us(&u->ru_utime),
		.system_us = program_us(&u->ru_stime),
		.maxrss_kib = u->ru_maxrss,
		.minflt = u->ru_minflt,
		.majflt = u->ru_majflt,
		.nvcsw = u->ru_nvcsw,
		.nivcsw = u->ru_nivcsw,
	};
	ending_begin(g);
}

static void program_on_stop(struct guest *g, int sig)
{
	const struct job_message m = { .what = JOB_STOPPED, .signal = sig };
	struct program *p = &g->program;

	if (p->hide_stop && sig == SIGSTOP) {
		p->hide_stop = false;
		return;
	}
	/* It had stopped by itself before our signal came, and stays so. */
	p->paused = p->hide_stop = false;
	p->stopped = true;
	for (unsigned int i = 0; i < g->nins; i++)
		intake_tell(g, &g->in[i]);
	real_tell(g);
	typed_tell(g);
	guest_say(g, &m);
	session_note(&g->session, NOTE_STOPPED);
}

static void program_on_continue(struct guest *g)
{
	const struct job_message m = { .what = JOB_CONTINUED };
	struct program *p = &g->program;

	if (p->hide_continue) {
		p->hide_continue = p->hide_stop = false;
		return;
	}
	p->stopped = false;
	guest_say(g, &m);
	session_note(&g->session, NOTE_CONTINUED);
}

/* Whether there is news that it has stopped. It does not write any more then. */
static bool program_has_stopped(const struct program *p)
{
	siginfo_t news = { 0 };

	return p->pid > 0 && !waitid(P_PID, p->pid, &news, WSTOPPED | WNOHANG | WNOWAIT) &&
	       news.si_pid;
}

/* What it has written comes before that. More than home takes now follows when it goes on. */
static void program_drain(struct guest *g)
{
	for (unsigned int i = 0; i < g->nouts; i++) {
		g->out[i].ready = true;
		outlet_step(g, &g->out[i]);
	}
	g->pty.ready = true;
	g->pty.entered = false;
	g->pty.held_until = 0;
	pty_step(g);
}

void program_reap(struct guest *g)
{
	struct program *p = &g->program;
	struct rusage usage;
	int status, stop;
	pid_t pid;

	while (p->reap) {
		/* The kernel keeps what cannot be told now. */
		if (!guest_can_say(g))
			return;
		stop = program_has_stopped(p) ? WUNTRACED : 0;
		if (stop) {
			program_drain(g);
			if (!guest_can_say(g))
				return;
		}
		pid = wait4(-1, &status, WNOHANG | WCONTINUED | stop, &usage);
		p->childless = pid < 0 && errno == ECHILD;
		if (pid <= 0)
			p->reap = false;
		else if (pid != p->pid)
			continue; /* a child of it that outlived its parent */
		else if ((status & 0xff) == PROGRAM_STOPPED)
			program_on_stop(g, WSTOPSIG(status));
		else if (WIFCONTINUED(status))
			program_on_continue(g);
		else
			program_ended(g, status, &usage);
	}
}

/* ---- signals ---- */

static void program_kill(const struct program *p, int sig, bool group)
{
	/* It is not reaped, so the number is still its own. */
	if (p->pid > 0 && (!group || kill(-p->pid, sig)))
		kill(p->pid, sig);
}

/*
 * For the children that it has left. They are ours now; without one the number may be used again, by
 * any process of the user.
 */
static void program_kill_rest(const struct program *p, int sig)
{
	const int any = WEXITED | WSTOPPED | WCONTINUED;
	siginfo_t news;

	if (p->group > 0 && !waitid(P_PGID, p->group, &news, any | WNOHANG | WNOWAIT))
		kill(-p->group, sig);
}

/* The value is for the program. So is the number of the sender: whoever it is, he is not here. */
static bool program_queue(const struct program *p, const struct job_message *m)
{
	siginfo_t info = { .si_signo = m->sent.signal, .si_code = SI_QUEUE };

	info.si_pid = m->sent.pid;
	info.si_uid = m->sent.uid;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): what its sender gave, never an address here */
	info.si_value.sival_ptr = (void *)(uintptr_t)m->sent.value;
	return !syscall(SYS_rt_sigqueueinfo, p->pid, info.si_signo, &info);
}

void program_signal(struct guest *g, const struct job_message *m)
{
	const bool foreground = m->sent.reach == JOB_TO_FOREGROUND;
	const bool group = m->sent.reach != JOB_TO_TASK;
	struct program *p = &g->program;
	const int sig = m->sent.signal;

	if (!guest_writes(g))
		return;
	/* It goes on although its stub was stopped: nothing is left to be undone. */
	if (sig == SIGCONT)
		p->pause = false;
	if (!p->pid) {
		if (group && sig == SIGCONT)
			p->paused = false;
		if (group)
			program_kill_rest(p, sig);
		return;
	}
	if (sig == SIGCONT && p->paused) {
		p->paused = false;
		p->hide_continue = true;
	}
	if (m->sent.queued && !group && program_queue(p, m))
		return;
	/* After what was said about the foreground, or it would be stopped again. */
	if (sig == SIGCONT || !foreground || !pty_signal(g, sig))
		program_kill(p, sig, group);
}

void program_pause(struct guest *g, bool on)
{
	struct program *p = &g->program;

	p->pause = on;
	/* It ended while its group was stopped, or a moment before: its children go on now. */
	if (!on && p->paused && !p->pid) {
		p->paused = false;
		program_kill_rest(p, SIGCONT);
	}
	if (!p->pid || on == p->paused || g->session.end.state != JOB_RUNNING)
		return;
	/* Its stub has stopped because it has: that is known. */
	if (on && p->stopped)
		return;
	p->paused = on;
	if (on)
		p->hide_stop = true;
	else
		p->hide_continue = true;
	program_kill(p, on ? SIGSTOP : SIGCONT, true);
}
