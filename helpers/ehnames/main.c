// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehnames asks name services for its agent, which does not wait for them. The agent starts it before it
 * gives up the right to, with its own user. Some processes ask, each one question at a time, and are killed
 * if that takes too long; this one starts others in their place.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/common/directory.h"

#define NAMES_LONG_S 30 /* for one question */
#define NAMES_AGAIN_S 1

/* Until the agent has gone. */
static int names_serve(void)
{
	static struct directory_answer a;
	struct directory_question q;
	ssize_t n;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return 1;
	for (;;) {
		n = recv(DIRECTORY_SOCKET, &q, sizeof(q), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(q))
			return 0;
		q.name[sizeof(q.name) - 1] = q.member[sizeof(q.member) - 1] = '\0';
		alarm(NAMES_LONG_S);
		directory_look(&q, &a);
		alarm(0);
		if (send(DIRECTORY_SOCKET, &a, directory_size(&a), MSG_NOSIGNAL) < 0)
			return 0;
	}
}

int main(int argc, char **argv)
{
	int type = 0, status, n = 0;
	socklen_t size = sizeof(type);
	pid_t pid;

	if (argc != 1 || getsockopt(DIRECTORY_SOCKET, SOL_SOCKET, SO_TYPE, &type, &size) ||
	    type != SOCK_SEQPACKET) {
		fprintf(stderr, "ehnames is started by ehagent\n");
		return 2;
	}
	/* It ends with the agent. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (;;) {
		for (; n < DIRECTORY_AT_ONCE; n++) {
			pid = fork();
			if (!pid)
				return names_serve();
			if (pid < 0) {
				fprintf(stderr, "ehnames: cannot start a process: %s\n",
					strerror(errno));
				return 1;
			}
		}
		while (waitpid(-1, &status, 0) < 0 && errno == EINTR)
			;
		/* The agent has gone. */
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		n--;
		sleep(NAMES_AGAIN_S);
	}
}
