// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * two-nodes CGROUP FIFO NL CMD…: a process in two network namespaces at once. It
 * goes into CGROUP; a second thread goes into a network namespace of its own and
 * waits until somebody has written to FIFO, or does not wait if that is "-"; the
 * first thread calls exec of CMD. While that waits for a verdict, the second has
 * a bypass asked for itself, in its own namespace, by the program NL, and says on
 * stderr how that ended.
 *
 * two-nodes many N NL: one thread goes into N network namespaces one after
 * another, keeps them all, and has a bypass asked for itself in each. Prints how
 * many were accepted, then waits to be killed.
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

/* Return: the status of nl, 128 if it was killed. */
static int bypass(void)
{
	char tid[16];
	char *argv[] = { (char *)nl, "bypass", tid, NULL };
	extern char **environ;
	int status;
	pid_t pid;

	snprintf(tid, sizeof(tid), "%ld", syscall(SYS_gettid));
	errno = posix_spawn(&pid, nl, NULL, NULL, argv, environ);
	if (errno || waitpid(pid, &status, 0) != pid)
		die(nl);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void __attribute__((noreturn)) many(int n)
{
	int accepted = 0;

	while (n--) {
		if (unshare(CLONE_NEWNET) || open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) < 0)
			die("unshare");
		accepted += !bypass();
	}
	printf("%d\n", accepted);
	fflush(stdout);
	for (;;)
		pause();
}

static void *second(void *arg)
{
	int fd;
	char c;

	(void)arg;
	if (unshare(CLONE_NEWNET))
		die("unshare");
	pthread_barrier_wait(&moved);
	if (strcmp(fifo, "-")) {
		fd = open(fifo, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, &c, 1) != 1)
			die(fifo);
	}
	fprintf(stderr, "bypass %d\n", bypass());
	return NULL;
}

int main(int argc, char **argv)
{
	char path[4096];
	pthread_t thread;
	int fd;

	if (argc == 4 && !strcmp(argv[1], "many")) {
		nl = argv[3];
		many(atoi(argv[2]));
	}
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
