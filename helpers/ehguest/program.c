// SPDX-License-Identifier: GPL-2.0-or-later
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/ehsched.h>

#include "ending.h"
#include "helpers/end/calls.h"
#include "helpers/end/text.h"
#include "walk.h"

#define PROGRAM_STOPPED 0x7f /* low byte; musl's WIFSTOPPED() overflows an int */
#define PROGRAM_CLOEXEC 4u /* CLOSE_RANGE_CLOEXEC; musl has no headers of the kernel */
#define PROGRAM_STACK 16384 /* bytes, of the child until its exec */
/* At most, until all of a group has stopped: one that waits for a disk does not. */
#define PROGRAM_STOP_MS 1000
#define PROGRAM_LOOK_MS 2 /* between two looks */

/* The steps of the child, named in its error message. */
enum child_stage { CHILD_DESCRIPTORS, CHILD_PARENT, CHILD_LIMITS, CHILD_EXEC, CHILD_STAGES };

static const char *const child_stages[CHILD_STAGES] = {
	[CHILD_DESCRIPTORS] = "cannot set up its descriptors",
	[CHILD_PARENT] = "cannot be tied to its parent",
	[CHILD_LIMITS] = "cannot set its limits",
	[CHILD_EXEC] = "cannot execute the program",
};

/* In our memory, as the child is until its exec; we stand still meanwhile. */
struct child {
	struct program *p;
	struct handed its;
	pid_t parent;
	enum child_stage stage;
	int error; /* errno of this stage; 0: none */
};

/* ---- the child ---- */

/* What is in the way of a descriptor that the program gets is moved above all of them. */
static int child_descriptors(struct handed *its)
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
	for (unsigned int i = 0; i < its->n; i++) {
		if (its->all[i].fd <= last)
			its->all[i].fd = fcntl(its->all[i].fd, F_DUPFD_CLOEXEC, last + 1);
		if (its->all[i].fd < 0)
			return -1;
	}
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

/* Ours have their default actions. */
static void child_signals(uint64_t ignored)
{
	for (int sig = 1; sig <= CALLS_SIGNALS; sig++)
		if (ignored >> (sig - 1) & 1)
			calls_set_action(sig, true);
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
		if (limit.rlim_cur == ours.rlim_cur && limit.rlim_max == ours.rlim_max)
			continue;
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

/*
 * The program gets a process group of its own in our session. It is not orphaned there, as we are
 * its parent and of another group: otherwise SIGTSTP would not stop it.
 */
static int child_run(void *arg)
{
	struct child *c = arg;
	const struct job_spec *spec = &c->p->start->spec;

	setpgid(0, 0);
	if (spec->flags & JOB_CTTY && !(spec->flags & JOB_BACKGROUND))
		pty_foreground(&c->p->flow->pty, true, getpid());
	if (child_descriptors(&c->its))
		goto failed;
	child_signals(spec->sigignore);
	umask(spec->umask);
	c->stage = CHILD_PARENT;
	errno = 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != c->parent)
		goto failed;
	/* Not inherited, unlike what ehlaunch has set. */
	if (spec->traits[JOB_SUBREAPER])
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (spec->traits[JOB_POLICY_FLAGS] & JOB_RESET_ON_FORK)
		child_reset_on_fork();
	c->stage = CHILD_LIMITS;
	if (child_limits(spec))
		goto failed;
	c->stage = CHILD_EXEC;
	calls_mask(spec->sigmask);
	execve(spec->path, (char **)spec->argv, (char **)spec->envp);
failed:
	c->error = errno ? errno : ESRCH;
	_exit(127);
}

/* ---- the start ---- */

void program_give_up(struct program *p, int error, const char *what)
{
	p->trouble.text = what;
	p->trouble.error = error;
}

/*
 * The child has our directory. A file system that does not answer for it holds up what comes before GO: home runs the
 * program then.
 */
int program_prepare(struct program *p)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		return -errno;
	if (chdir(p->start->spec.cwd)) {
		program_give_up(p, errno, "cannot enter its working directory");
		return -p->trouble.error;
	}
	tokens_name(&p->flow->tokens, getpid(), &p->start->spec);
	p->prepared = true;
	return 0;
}

/*
 * The child borrows our memory, so that no page of it is copied for a process that is about to execute another program. We go on
 * when it has: all that it does before that is done in an instant, unless a file system holds up the exec.
 */
static int __attribute__((noinline)) program_clone(struct child *c)
{
	_Alignas(16) uint8_t stack[PROGRAM_STACK];

	return clone(child_run, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, c);
}

void program_go(struct program *p)
{
	struct child c = { .p = p, .its = p->start->its, .parent = getpid() };
	pid_t pid;

	/* It is refused. */
	if (p->trouble.text)
		return;
	p->session->note.go_us = calls_us();
	pid = program_clone(&c);
	if (pid < 0) {
		program_give_up(p, errno, "cannot start a process for it");
	} else if (c.error || c.stage != CHILD_EXEC) {
		waitpid(pid, NULL, 0);
		p->trouble.exec = c.stage == CHILD_EXEC;
		program_give_up(p, c.error,
				c.error ? child_stages[c.stage]
					: "its process died before the start");
	} else {
		p->group = pid;
		p->executed = true;
		p->session->note.started_us = calls_us();
	}
	p->pid = p->group;
	/* Nobody is kept from unmounting it. */
	if (chdir("/"))
		errno = 0;
	start_over(p->start);
	program_step(p);
}

pid_t program_outside;

/* The number by which others know the program: outside of our pid namespace, that of this process. */
static pid_t program_shown(const struct program *p)
{
	return p->pid > 0 && program_outside ? program_outside : p->pid;
}

/* Nothing has started, and nothing will. */
static void program_refuse(struct program *p, const struct trouble *why)
{
	struct job_message m = { .what = JOB_REFUSED };
	char text[JOB_TEXT_MAX];
	int n;

	n = snprintf(text, sizeof(text), why->error ? "%s: %s" : "%s", why->text,
		     strerror(why->error));
	m.refused.reason = why->reason ? why->reason : EHS_REASON_START_FAILED;
	m.refused.error = why->exec ? why->error : 0;
	m.refused.text = text;
	m.refused.length = n < JOB_TEXT_MAX ? n : JOB_TEXT_MAX - 1;
	job_end_say(&p->session->end, &m);
}

static void program_started(struct program *p)
{
	const struct job_message m = { .what = JOB_STARTED, .pid = program_shown(p) };

	p->session->note.pid = p->session->who.pid = m.pid;
	job_end_say(&p->session->end, &m);
	session_note(p->session, NOTE_STARTED);
	if (p->pause)
		program_pause(p, true);
}

void program_step(struct program *p)
{
	const struct job_message ready = { .what = JOB_READY };
	const enum job_state state = p->session->end.state;

	if (!session_can_say(p->session))
		return;
	if (p->trouble.text && state <= JOB_COMMITTED) {
		program_refuse(p, &p->trouble);
		p->trouble.text = NULL;
	} else if (p->prepared && state == JOB_PREPARING) {
		real_say(&p->flow->reals);
		job_end_say(&p->session->end, &ready);
		p->session->note.ready_us = calls_us();
	} else if (p->executed && state == JOB_COMMITTED) {
		program_started(p);
	}
}

/* ---- its states ---- */

static uint64_t program_us(const struct timeval *t)
{
	return t->tv_sec * 1000000ull + t->tv_usec;
}

static void program_ended(struct program *p, int status, const struct rusage *u)
{
	/* It may have executed and ended already, or failed to execute. */
	program_step(p);
	p->pid = p->session->who.pid = p->session->note.pid = 0;
	/* Killed while it was stopped, or continued a moment ago: nothing else tells of that. */
	p->stopped = false;
	if (p->session->end.state != JOB_RUNNING)
		return;
	p->session->note.ended_us = calls_us();
	p->session->note.use = (struct frame_exit){
		.status = (unsigned int)status,
		.user_us = program_us(&u->ru_utime),
		.system_us = program_us(&u->ru_stime),
		.maxrss_kib = u->ru_maxrss,
		.minflt = u->ru_minflt,
		.majflt = u->ru_majflt,
		.nvcsw = u->ru_nvcsw,
		.nivcsw = u->ru_nivcsw,
	};
	ending_begin(p->ending);
}

static void program_on_stop(struct program *p, int sig)
{
	const struct job_message m = { .what = JOB_STOPPED, .signal = sig };

	if (p->hide_stop && sig == SIGSTOP) {
		p->hide_stop = false;
		return;
	}
	/* It had stopped by itself before our signal came, and stays so. */
	p->paused = p->hide_stop = false;
	p->stopped = true;
	flow_tell(p->flow);
	job_end_say(&p->session->end, &m);
	session_note(p->session, NOTE_STOPPED);
}

static void program_on_continue(struct program *p)
{
	const struct job_message m = { .what = JOB_CONTINUED };

	if (p->hide_continue) {
		p->hide_continue = false;
		/* Our stop before it came to nothing; one that was asked for since then is to come. */
		if (!p->paused)
			p->hide_stop = false;
		return;
	}
	p->stopped = false;
	job_end_say(&p->session->end, &m);
	session_note(p->session, NOTE_CONTINUED);
}

/* Whether there is news that it has stopped. It does not write any more then. */
static bool program_has_stopped(const struct program *p)
{
	siginfo_t news = { 0 };

	return p->pid > 0 && !waitid(P_PID, p->pid, &news, WSTOPPED | WNOHANG | WNOWAIT) &&
	       news.si_pid;
}

void program_reap(struct program *p)
{
	struct rusage usage;
	int status, stop;
	pid_t pid;

	while (p->reap) {
		/* The kernel keeps what cannot be told now. */
		if (!session_can_say(p->session))
			return;
		stop = program_has_stopped(p) ? WUNTRACED : 0;
		if (stop) {
			/* What it has written comes before that. */
			flow_drain(p->flow);
			if (!session_can_say(p->session))
				return;
		}
		pid = wait4(-1, &status, WNOHANG | WCONTINUED | stop, &usage);
		p->childless = pid < 0 && errno == ECHILD;
		if (pid <= 0)
			p->reap = false;
		else if (pid != p->pid)
			continue; /* a child of it that outlived its parent */
		else if ((status & 0xff) == PROGRAM_STOPPED)
			program_on_stop(p, WSTOPSIG(status));
		else if (WIFCONTINUED(status))
			program_on_continue(p);
		else
			program_ended(p, status, &usage);
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

/* A thread of the group that has not stopped yet. */
static bool program_moves(void *ctx, long pid, long tid)
{
	const struct program *p = ctx;
	char name[80], text[512], *at, state;

	snprintf(name, sizeof(name), "/proc/%ld/task/%ld/stat", pid, tid);
	if (text_read(AT_FDCWD, name, text, sizeof(text)) <= 0)
		return false;
	/* "TID (NAME) STATE PARENT GROUP …" */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ' || !at[2])
		return false;
	state = at[2];
	strtol(at + 3, &at, 10);
	return strtol(at, NULL, 10) == p->group && !strchr("TtZX", state);
}

static void program_go_on(struct program *p)
{
	p->resume_at = SESSION_NEVER;
	if (!p->paused)
		return;
	p->paused = false;
	/* It ended while its group was stopped, or a moment before: its children go on now. */
	if (!p->pid) {
		program_kill_rest(p, SIGCONT);
		return;
	}
	p->hide_continue = true;
	program_kill(p, SIGCONT, true);
}

/*
 * Of a process that is stopped and continued in the middle of a fork, the kernel stops the child, too, but it does not
 * continue it if SIGCONT has its default action. So all of the group stops first.
 */
static void program_resume(struct program *p)
{
	if (p->session->now < p->paused_at + PROGRAM_STOP_MS && walk_descendants(program_moves, p))
		p->resume_at = p->session->now + PROGRAM_LOOK_MS;
	else
		program_go_on(p);
}

void program_tick(struct program *p)
{
	if (p->session->now >= p->resume_at)
		program_resume(p);
}

/* The value is for the program. So is the number of the sender, which is not a process here. */
static bool program_queue(const struct program *p, const struct job_message *m)
{
	siginfo_t info = { .si_signo = m->sent.signal, .si_code = SI_QUEUE };

	info.si_pid = m->sent.pid;
	info.si_uid = m->sent.uid;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): what its sender gave, never an address here */
	info.si_value.sival_ptr = (void *)(uintptr_t)m->sent.value;
	return !syscall(SYS_rt_sigqueueinfo, p->pid, info.si_signo, &info);
}

void program_signal(struct program *p, const struct job_message *m)
{
	const bool foreground = m->sent.reach == JOB_TO_FOREGROUND;
	const bool group = m->sent.reach != JOB_TO_TASK;
	const int sig = m->sent.signal;

	if (!job_end_writes(&p->session->end))
		return;
	/* It goes on although its stub was stopped: nothing is left to be undone. */
	if (sig == SIGCONT)
		p->pause = false;
	if (sig == SIGCONT && group && p->paused) {
		program_resume(p);
		return;
	}
	/* What came before has its effect before. */
	if (p->resume_at != SESSION_NEVER)
		program_go_on(p);
	if (!p->pid) {
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
	if (sig == SIGCONT || !foreground || !pty_signal(&p->flow->pty, sig))
		program_kill(p, sig, group);
}

void program_pause(struct program *p, bool on)
{
	p->pause = on;
	p->resume_at = SESSION_NEVER;
	if (on == p->paused || (p->pid && p->session->end.state != JOB_RUNNING))
		return;
	if (!on) {
		program_resume(p);
		return;
	}
	/* Its stub has stopped because it has: that is known. */
	if (!p->pid || p->stopped)
		return;
	p->paused = p->hide_stop = true;
	p->paused_at = p->session->now;
	program_kill(p, SIGSTOP, true);
}
