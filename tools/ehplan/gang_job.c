// SPDX-License-Identifier: GPL-2.0-or-later
/* The launcher runs as a child, in the foreground as without ehctl, and does not outlive it. */
#include "gang_run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "remote.h"
#include "tools/common/common.h"

#define GRACE_S 10 /* for a launcher to end its job, then it is killed */

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
		e->kill_at = progress_seconds(CLOCK_MONOTONIC) + GRACE_S;
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

/* Until the child ends. Its status. */
static int wait_for(struct gang_run *run, struct ending *e, pid_t pid)
{
	int status;

	for (;;) {
		struct pollfd p[] = { { run->signals, POLLIN, 0 },
				      { run->lost ? -1 : run->agent, POLLIN, 0 } };

		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		poll(p, 2, 1000);
		take_signals(run, e, pid);
		if (p[1].fd >= 0 && p[1].revents) {
			gang_hosts_hear(run);
			tell_end(e, pid, SIGTERM);
		}
		if (e->kill_at > 0 && progress_seconds(CLOCK_MONOTONIC) > e->kill_at)
			kill(pid, SIGKILL);
	}
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
	began = progress_seconds(CLOCK_MONOTONIC);
	pid = fork();
	if (!pid)
		become(argv, self, json);
	if (pid < 0) {
		status = fail(EXIT_REFUSED, "cannot start a process: %s", strerror(errno));
		goto free_argv;
	}
	status = wait_for(run, &ending, pid);
	run->real = progress_seconds(CLOCK_MONOTONIC) - began;
	run->code = remote_code(status);
	status = 0;
	if (ending.signal)
		status = fail(128 + ending.signal, "interrupted");
	else if (run->lost)
		status = EXIT_REFUSED;
free_argv:
	gang_files_drop(argv);
	return status;
}
