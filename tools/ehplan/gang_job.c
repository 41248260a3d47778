// SPDX-License-Identifier: GPL-2.0-or-later
/* The launcher runs as a child, in the foreground as without ehctl, and does not outlive it; nor does what
 * it has started here. */
#include "gang_run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote.h"
#include "tools/common/common.h"

#define GRACE_S 10 /* for a launcher to end its job, then it is killed */
#define SETTLE_S 1 /* for what it leaves to end by itself */
#define LEFT_MOST 64 /* processes that are ended at a time */

static void become(char **argv, pid_t parent, bool json)
{
	remote_default_signals();
	/* a launcher ends its job when it is told to; if this process is killed nobody else does */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_REFUSED);
	/* with --json standard output has the document */
	if (json && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(EXIT_REFUSED);
	execvp(argv[0], argv);
	_exit(fail(errno == ENOENT ? 127 : 126, "%s: %s", argv[0], strerror(errno)));
}

struct ending {
	int signal; /* that this process got; 0: none */
	double kill_at; /* 0: nobody has told it to end */
};

static void tell_end(struct ending *e, pid_t pid, int signal)
{
	kill(pid, signal);
	if (!(e->kill_at > 0))
		e->kill_at = progress_now() + GRACE_S;
}

/* From a terminal the whole foreground group has got it. */
static void take_signals(struct gang_run *run, struct ending *e, pid_t pid)
{
	struct signalfd_siginfo info;

	while (read(run->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		e->signal = (int)info.ssi_signo;
		tell_end(e, pid, info.ssi_code == SI_KERNEL ? 0 : (int)info.ssi_signo);
	}
}

/* Until the child ends. Its status. Those whose parent has ended are this process's, and end, too. */
static int wait_for(struct gang_run *run, struct ending *e, pid_t pid)
{
	pid_t got;
	int status;

	for (;;) {
		struct pollfd p[] = { { run->signals, POLLIN, 0 },
				      { run->lost ? -1 : run->agent, POLLIN, 0 } };

		while ((got = waitpid(-1, &status, WNOHANG)) > 0)
			if (got == pid)
				return status;
		poll(p, 2, 1000);
		take_signals(run, e, pid);
		if (p[1].fd >= 0 && p[1].revents) {
			gang_hosts_hear(run);
			tell_end(e, pid, SIGTERM);
		}
		if (e->kill_at > 0 && progress_now() > e->kill_at)
			kill(pid, SIGKILL);
	}
}

/* ---- what the child leaves ---- */

/* The children of this process, which has one thread. How many. */
static int list_left(pid_t *out)
{
	FILE *f = fopen("/proc/thread-self/children", "re");
	int n = 0;

	while (f && n < LEFT_MOST && fscanf(f, "%d", &out[n]) == 1)
		n++;
	if (f)
		fclose(f);
	return n;
}

/* Whether it has ended, at that time. */
static bool has_ended(pid_t pid, int signals, double until)
{
	struct pollfd p = { signals, POLLIN, 0 };
	struct signalfd_siginfo info;

	while (!waitpid(pid, NULL, WNOHANG)) {
		double rest = until - progress_now();

		if (rest < 0)
			return false;
		poll(&p, 1, (int)(rest * 1000) + 1);
		while (read(signals, &info, sizeof(info)) == sizeof(info))
			;
	}
	return true;
}

/* Its hosts will be free. Each that ends leaves its own children. `told`: it is no time to wait. */
static void end_left(int signals, bool told)
{
	static const struct {
		int signal, seconds;
	} steps[] = { { 0, SETTLE_S }, { SIGTERM, GRACE_S }, { SIGKILL, GRACE_S } };
	pid_t left[LEFT_MOST];

	for (size_t i = told; i < sizeof(steps) / sizeof(steps[0]); i++) {
		double until = progress_now() + steps[i].seconds;
		bool in_time = true;

		while (in_time) {
			int n = list_left(left);

			if (!n)
				return;
			for (int k = 0; k < n; k++)
				kill(left[k], steps[i].signal);
			for (int k = 0; k < n; k++)
				in_time &= has_ended(left[k], signals, until);
		}
	}
	fail(0, "process %d of the job cannot be ended, and its hosts are free: end it", left[0]);
}

int gang_job_run(struct gang_run *run, char **words, bool json)
{
	char **argv = gang_files_fill(run, words);
	struct ending ending = { 0 };
	pid_t pid, self = getpid();
	double began;
	int status;

	if (!argv)
		return fail(EXIT_REFUSED, "no memory for the command");
	fflush(NULL);
	began = progress_now();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (!pid)
		become(argv, self, json);
	if (pid < 0) {
		status = fail(EXIT_REFUSED, "cannot start a process: %s", strerror(errno));
		goto free_argv;
	}
	status = wait_for(run, &ending, pid);
	run->real = progress_now() - began;
	run->code = remote_code(status);
	end_left(run->signals, ending.kill_at > 0);
	status = 0;
	if (ending.signal)
		status = fail(128 + ending.signal, "interrupted");
	else if (run->lost)
		status = EXIT_REFUSED;
free_argv:
	gang_files_drop(argv);
	return status;
}
