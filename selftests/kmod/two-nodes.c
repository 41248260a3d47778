// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * two-nodes CGROUP FIFO NL CMD…: a process in two network namespaces at once. It
 * goes into CGROUP; a second thread goes into a network namespace of its own and
 * waits until somebody has written to FIFO, or does not wait if that is "-"; the
 * first thread calls exec of CMD. While that waits for a verdict, the second has
 * a bypass asked for itself, in its own namespace, by the program NL, and says on
 * stderr how that ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *fifo, *nl;
static pthread_barrier_t moved;

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "two-nodes: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void *second(void *arg)
{
	char tid[16], c;
	char *argv[] = { (char *)nl, "bypass", tid, NULL };
	extern char **environ;
	int fd, status;
	pid_t pid;

	(void)arg;
	if (unshare(CLONE_NEWNET))
		die("unshare");
	snprintf(tid, sizeof(tid), "%ld", syscall(SYS_gettid));
	pthread_barrier_wait(&moved);
	if (strcmp(fifo, "-")) {
		fd = open(fifo, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, &c, 1) != 1)
			die(fifo);
	}
	errno = posix_spawn(&pid, nl, NULL, NULL, argv, environ);
	if (errno || waitpid(pid, &status, 0) != pid)
		die(nl);
	fprintf(stderr, "bypass %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128);
	return NULL;
}

int main(int argc, char **argv)
{
	char path[4096];
	pthread_t thread;
	int fd;

	if (argc < 5)
		return 2;
	snprintf(path, sizeof(path), "%s/cgroup.procs", argv[1]);
	fifo = argv[2];
	nl = argv[3];
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		die(path);
	if (pthread_barrier_init(&moved, NULL, 2) || pthread_create(&thread, NULL, second, NULL))
		die("thread");
	pthread_barrier_wait(&moved);
	execv(argv[4], argv + 4);
	die(argv[4]);
}
