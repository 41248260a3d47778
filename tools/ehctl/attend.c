// SPDX-License-Identifier: GPL-2.0-or-later
#include "attend.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

static pid_t attend_command;

static void attend_forward(int sig)
{
	kill(attend_command, sig);
}

/* The terminal's signals reach the command by themselves; this process stays. */
void attend(pid_t command)
{
	struct sigaction forward = { .sa_handler = attend_forward, .sa_flags = SA_RESTART };
	struct sigaction was;
	static const int sigs[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

	attend_command = command;
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++)
		/* As under nohup(1). */
		if (!sigaction(sigs[i], NULL, &was) && was.sa_handler != SIG_IGN)
			sigaction(sigs[i], &forward, NULL);
}

int attend_end(pid_t command)
{
	int status = 0;

	while (waitpid(command, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int attend_die(int status)
{
	const struct rlimit none = { 0, 0 };

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	/* The command has left a core, if one was wanted. */
	setrlimit(RLIMIT_CORE, &none);
	fflush(stderr);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}
