// SPDX-License-Identifier: GPL-2.0-or-later
/* Verbs of probe: many threads, processes and namespaces at once. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

static char **thread_args;

static void *thread_exec(void *unused)
{
	(void)unused;
	execvp(thread_args[0], thread_args);
	die(thread_args[0]);
}

/* thread -- CMD: exec by a thread that is not the leader */
static char **thread(char **args)
{
	pthread_t id;

	thread_args = args + 1;
	if (pthread_create(&id, NULL, thread_exec, NULL))
		die("pthread_create");
	pthread_join(id, NULL);
	exit(125);
}

static pthread_barrier_t thread_start;

static void *thread_race(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&thread_start);
	execvp(thread_args[0], thread_args);
	/* lost: the winner ends this thread, or is about to */
	while (pause())
		;
	return NULL;
}

/* threads N -- CMD: exec by N threads at once */
static char **threads(char **args)
{
	int i, n = atoi(args[0]);
	pthread_t id;

	thread_args = args + 2;
	pthread_barrier_init(&thread_start, NULL, n);
	for (i = 1; i < n; i++)
		if (pthread_create(&id, NULL, thread_race, NULL))
			die("pthread_create");
	thread_race(NULL);
	return args;
}

/* busy N: N processes that compute until the parent is gone */
static char **busy(char **args)
{
	int n = atoi(args[0]);

	while (n--) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	printf("busy\n");
	fflush(stdout);
	pause();
	return args;
}

/* Waits until something comes through the fifo. */
static void wait_for_order(const char *path)
{
	int fifo = open(path, O_RDONLY | O_CLOEXEC);
	char byte;

	if (fifo < 0 || read(fifo, &byte, 1) != 1)
		die(path);
	close(fifo);
}

static void *root_on_order(void *words)
{
	char **args = words;

	wait_for_order(args[0]);
	if (chroot(args[1]))
		die(args[1]);
	return NULL;
}

/* later-root FIFO DIRECTORY: another thread changes the root directory when something comes through the fifo */
static char **later_root(char **args)
{
	pthread_t id;

	if (pthread_create(&id, NULL, root_on_order, args))
		die("pthread_create");
	return args + 2;
}

static void *event_on_order(void *fifo)
{
	wait_for_order(fifo);
	if (eventfd(0, 0) < 0)
		die("eventfd");
	return NULL;
}

/* later-event FIFO: another thread opens a descriptor of an event then */
static char **later_event(char **args)
{
	pthread_t id;

	if (pthread_create(&id, NULL, event_on_order, args[0]))
		die("pthread_create");
	return args + 1;
}

static void *sleep_on(void *unused)
{
	(void)unused;
	while (pause())
		;
	return NULL;
}

static void *be_aside(void *arrived)
{
	/* of this thread only */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		die("no_new_privs");
	pthread_barrier_wait(arrived);
	return sleep_on(NULL);
}

/* aside: another thread, and only that, has no_new_privs */
static char **aside(char **args)
{
	static pthread_barrier_t arrived;
	pthread_t id;

	pthread_barrier_init(&arrived, NULL, 2);
	if (pthread_create(&id, NULL, be_aside, &arrived))
		die("pthread_create");
	pthread_barrier_wait(&arrived);
	return args;
}

/* sleepers N: N threads that sleep until they are killed */
static char **sleepers(char **args)
{
	int i, n = atoi(args[0]), size = sysconf(_SC_THREAD_STACK_MIN);
	char *stacks = mmap(NULL, (size_t)n * size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_attr_t attr;
	pthread_t id;

	if (stacks == MAP_FAILED)
		die("mmap");
	for (i = 0; i < n; i++) {
		pthread_attr_init(&attr);
		/* one mapping for all: the number of mappings has a limit */
		pthread_attr_setstack(&attr, stacks + (size_t)i * size, size);
		errno = pthread_create(&id, &attr, sleep_on, NULL);
		if (errno)
			die("pthread_create");
	}
	printf("asleep\n");
	fflush(stdout);
	sleep_on(NULL);
	return args;
}

/* namespaces N: N more network namespaces, until it is killed */
static char **namespaces(char **args)
{
	struct rlimit files = { 65536, 65536 };
	int n = atoi(args[0]);

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit");
	while (n--) {
		/* the descriptor keeps it */
		if (unshare(CLONE_NEWNET) || open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) < 0)
			die("network namespace");
	}
	printf("made\n");
	fflush(stdout);
	sleep_on(NULL);
	return args;
}

/* The rest in a child that has this memory: the parent stands still until its exec is over. Apart, so that no frame is shared. */
static __attribute__((noinline)) pid_t start_in_vfork(char **args)
{
	pid_t pid = vfork();

	if (!pid) {
		execvp(args[0], args);
		_exit(125);
	}
	return pid;
}

static int vforks; /* still to be called; children have this memory, too */

/* The same in a child of the child, and so on: all of them stand still. */
static __attribute__((noinline)) pid_t start_in_vforks(char **args)
{
	int status;
	pid_t pid;

	if (--vforks <= 0)
		return start_in_vfork(args);
	pid = vfork();
	if (!pid) {
		pid = start_in_vforks(args);
		_exit(pid < 0 || waitpid(pid, &status, 0) != pid ? 125 : shell_status(status));
	}
	return pid;
}

static int execute(void *args)
{
	execvp(*(char **)args, args);
	_exit(125);
}

/* A thread of the child calls exec, and ends the others with that. */
static __attribute__((noinline)) pid_t start_in_thread_of_vfork(char **args)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid = vfork();

	if (!pid) {
		if (clone(execute, stack + sizeof(stack),
			  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD,
			  args) < 0)
			_exit(125);
		for (;;)
			pause();
	}
	return pid;
}

/* Says for how long this process stood still, and ends as the child does. */
static void __attribute__((noreturn)) end_vfork(pid_t (*start)(char **args), char **args)
{
	struct timespec from;
	int status;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &from);
	pid = start(args);
	fprintf(stderr, "%ld\n", ms_since(&from));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("vfork");
	exit(shell_status(status));
}

/* vfork -- CMD: prints the milliseconds for which the parent stood still, and ends as CMD */
static char **vforked(char **args)
{
	end_vfork(start_in_vfork, args + 1);
}

/* vforks N -- CMD: the same with N processes that stand still, of which each is a child of the one before */
static char **vforked_deep(char **args)
{
	vforks = atoi(args[0]);
	end_vfork(start_in_vforks, args + 2);
}

/* vfork-and-thread -- CMD: the same, and the child's second thread runs CMD */
static char **vforked_with_thread(char **args)
{
	end_vfork(start_in_thread_of_vfork, args + 1);
}

static void *thread_vfork(void *args)
{
	end_vfork(start_in_vfork, args);
}

/* vfork-thread -- CMD: the same by a thread that is not the leader */
static char **vforked_by_thread(char **args)
{
	pthread_t id;

	if (pthread_create(&id, NULL, thread_vfork, args + 1))
		die("pthread_create");
	pthread_join(id, NULL);
	exit(125);
}

static int crowd_users;

/* users M: the crowd that comes next is of as many users, 1000 and those after */
static char **users(char **args)
{
	crowd_users = atoi(args[0]);
	return args + 1;
}

/* crowd N -- CMD: N processes of each user, which run CMD when all of them are there; ends with 0 if all of them do */
static char **crowd(char **args)
{
	int n = atoi(args[0]) * (crowd_users ?: 1), status, failed = 0, start[2];
	pid_t pid;
	char none;

	if (pipe2(start, O_CLOEXEC))
		die("pipe");
	while (n--) {
		pid = fork();
		if (pid < 0)
			die("fork");
		if (!pid) {
			close(start[1]);
			if (crowd_users)
				be_user(1000 + n % crowd_users);
			if (read(start[0], &none, 1))
				_exit(125);
			execvp(args[2], args + 2);
			_exit(125);
		}
	}
	close(start[1]);
	while (wait(&status) > 0)
		failed |= status;
	exit(!!failed);
}

/* storm FILE N -- CMD: N processes that run CMD again and again while FILE is there; says on stderr how often */
static char **storm(char **args)
{
	const char *file = args[0];
	int n = atoi(args[1]), status, failed = 0;
	unsigned long *runs = mmap(NULL, sizeof(*runs), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (runs == MAP_FAILED)
		die("mmap");
	args += 3;
	while (n--) {
		if (fork())
			continue;
		while (!access(file, F_OK)) {
			pid = fork();
			if (!pid) {
				execvp(args[0], args);
				_exit(125);
			}
			if (waitpid(pid, &status, 0) != pid || status)
				_exit(1);
			__atomic_add_fetch(runs, 1, __ATOMIC_RELAXED);
		}
		_exit(0);
	}
	while (wait(&status) > 0)
		failed |= status;
	fprintf(stderr, "%lu runs\n", *runs);
	exit(!!failed);
}

const struct verb crowd_verbs[] = {
	{ "thread", thread, 2 },
	{ "threads", threads, 3 },
	{ "busy", busy, 1 },
	{ "sleepers", sleepers, 1 },
	{ "namespaces", namespaces, 1 },
	{ "storm", storm, 4 },
	{ "crowd", crowd, 3 },
	{ "users", users, 4 },
	{ "vfork", vforked, 2 },
	{ "vforks", vforked_deep, 3 },
	{ "vfork-and-thread", vforked_with_thread, 2 },
	{ "vfork-thread", vforked_by_thread, 2 },
	{ "aside", aside, 0 },
	{ "later-root", later_root, 2 },
	{ "later-event", later_event, 1 },
	{ NULL, NULL, 0 },
};
