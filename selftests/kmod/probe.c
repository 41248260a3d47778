// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * probe VERB…: puts itself into a condition, then runs the rest of the line,
 * which may be the next verb or "-- CMD…". For tests of execs.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* in FOLDER: go into a cgroup */
static char **in(char **args)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", args[0]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		die(path);
	return args + 1;
}

/* open FD CLOEXEC: have a descriptor */
static char **open_fd(char **args)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (dup3(fd, atoi(args[0]), atoi(args[1]) ? O_CLOEXEC : 0) < 0)
		die("dup3");
	return args + 2;
}

static char **seccomp(char **args)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("seccomp");
	return args;
}

/* Waits for the child and ends as it did. */
static void __attribute__((noreturn)) end_as(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) == pid) {
		if (WIFEXITED(status))
			exit(WEXITSTATUS(status));
		if (WIFSIGNALED(status))
			exit(128 + WTERMSIG(status));
		ptrace(PTRACE_CONT, pid, 0, 0);
	}
	die("waitpid");
}

static char **traced(char **args)
{
	pid_t pid = fork();

	if (pid)
		end_as(pid);
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		die("ptrace");
	return args;
}

/* new mnt|pid|user|net: other namespaces */
static char **new_namespace(char **args)
{
	static const struct {
		const char *name;
		int flag;
	} kinds[] = {
		{ "mnt", CLONE_NEWNS },
		{ "pid", CLONE_NEWPID },
		{ "user", CLONE_NEWUSER },
		{ "net", CLONE_NEWNET },
	};
	size_t i;
	pid_t pid;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(args[0], kinds[i].name) && unshare(kinds[i].flag))
			die("unshare");
	if (!strcmp(args[0], "pid")) {
		pid = fork();
		if (pid)
			end_as(pid);
	}
	return args + 1;
}

static char **root(char **args)
{
	if (chroot(args[0]) || chdir("/"))
		die(args[0]);
	return args + 1;
}

/* caps FILE: give a program a file capability */
static char **caps(char **args)
{
	struct vfs_cap_data data = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data[0].permitted = 1 << CAP_NET_RAW,
	};

	if (setxattr(args[0], "security.capability", &data, sizeof(data), 0))
		die(args[0]);
	return args + 1;
}

/* fork: the rest in a child */
static char **fork_rest(char **args)
{
	pid_t pid = fork();

	if (pid)
		end_as(pid);
	return args;
}

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

/* fexec FILE: run it by descriptor */
static char **fexec(char **args)
{
	char *empty[] = { NULL };
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_execveat, fd, "", args, empty, AT_EMPTY_PATH))
		die(args[0]);
	return args;
}

/* fail: exec of what is not there, then the rest */
static char **fail(char **args)
{
	char *argv[] = { "x", NULL };

	execv("/nonexistent/x", argv);
	execv("/etc/passwd", argv);
	return args;
}

/* timed -- CMD: prints the milliseconds until CMD has ended */
static char **timed(char **args)
{
	struct timespec a, b;
	pid_t pid;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &a);
	pid = fork();
	if (!pid)
		return args;
	waitpid(pid, &status, 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%ld\n", (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
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

/* storm FILE N -- CMD: N processes that run CMD again and again while FILE is there */
static char **storm(char **args)
{
	const char *file = args[0];
	int n = atoi(args[1]), status, failed = 0;
	pid_t pid;

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
		}
		_exit(0);
	}
	while (wait(&status) > 0)
		failed |= status;
	exit(!!failed);
}

static const struct {
	const char *name;
	char **(*run)(char **args);
	int operands;
} verbs[] = {
	{ "in", in, 1 },	 { "open", open_fd, 2 },      { "seccomp", seccomp, 0 },
	{ "traced", traced, 0 }, { "new", new_namespace, 1 }, { "root", root, 1 },
	{ "caps", caps, 1 },	 { "fork", fork_rest, 0 },    { "thread", thread, 2 },
	{ "fexec", fexec, 1 },	 { "fail", fail, 0 },	      { "timed", timed, 0 },
	{ "busy", busy, 1 },	 { "storm", storm, 4 },
};

int main(int argc, char **argv)
{
	char **args = argv + 1, **end = argv + argc;
	size_t i;

	while (args < end) {
		if (!strcmp(args[0], "--")) {
			if (!args[1])
				break;
			execvp(args[1], args + 1);
			die(args[1]);
		}
		for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
			if (!strcmp(args[0], verbs[i].name))
				break;
		if (i == sizeof(verbs) / sizeof(*verbs) || end - args <= verbs[i].operands) {
			fprintf(stderr, "probe: %s: no such verb, or too few operands\n", args[0]);
			return 125;
		}
		args = verbs[i].run(args + 1);
	}
	return 0;
}
