// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * probe VERB…: puts itself into a condition, then runs the rest of the line,
 * which may be the next verb or "-- CMD…". For tests of execs.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>

#include "probe.h"

void die(const char *what)
{
	fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
	exit(125);
}

long ms_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - from->tv_sec) * 1000 + (now.tv_nsec - from->tv_nsec) / 1000000;
}

int shell_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* in DIRECTORY: go into a cgroup */
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

/* event FD: have a descriptor that is of use in this kernel only */
static char **event_fd(char **args)
{
	if (dup2(eventfd(0, EFD_CLOEXEC), atoi(args[0])) < 0)
		die("eventfd");
	return args + 1;
}

/* pidfd FD: have a descriptor of a process */
static char **pidfd(char **args)
{
	if (dup2(syscall(SYS_pidfd_open, getpid(), 0), atoi(args[0])) < 0)
		die("pidfd");
	return args + 1;
}

/* listen FD: have a socket that listens */
static char **listen_fd(char **args)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr name = { .sa_family = AF_UNIX };

	/* a name that the kernel chooses */
	if (bind(fd, &name, sizeof(name.sa_family)) || listen(fd, 1) || dup2(fd, atoi(args[0])) < 0)
		die("listen");
	return args + 1;
}

/* pipe FD: have both ends of a pipe, and a socket, from FD on */
static char **pipe_fd(char **args)
{
	int pair[2], sockets[2], fd = atoi(args[0]);

	if (pipe2(pair, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ||
	    dup2(pair[0], fd) < 0 || dup2(pair[1], fd + 1) < 0 || dup2(sockets[0], fd + 2) < 0)
		die("pipe");
	return args + 1;
}

void be_user(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		die("user");
}

/* user UID: be an ordinary user */
static char **user(char **args)
{
	be_user(atoi(args[0]));
	return args + 1;
}

static char **nnp(char **args)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		die("no_new_privs");
	return args;
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

/* The standard input, for programs that a task with more descriptors would not become. */
#define NTH_FD 0
#define NTH_NOT_REACHED 100

static int nth;

/* Where a process sleeps in the kernel; empty if it does not, or is not to be seen. */
static void read_stack(pid_t pid, char *where, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, where, size - 1);
	where[n < 0 ? 0 : n] = '\0';
	close(fd);
}

/*
 * Waits for a child; one that takes twice as long as an exec may wait is ended,
 * with a line about where it was. A program whose start fails may hang by
 * itself, in a lock that glibc has and waits for: that is ended sooner.
 */
static void await_or_show(pid_t pid, int *status)
{
	char where[4096] = "";
	int i;

	for (i = 1; i < 2000; i++) {
		if (waitpid(pid, status, WNOHANG))
			return;
		usleep(10000);
		if (i % 200)
			continue;
		read_stack(pid, where, sizeof(where));
		if (strstr(where, "futex_wait"))
			break;
	}
	if (i == 2000)
		fprintf(stderr, "hung with fault %d:\n%s", nth, where);
	kill(pid, SIGKILL);
	waitpid(pid, status, 0);
}

/*
 * every VERB…: the rest in a child, again and again; the kernel's first
 * allocation fails in it, then the second, … until none is left to fail. With
 * EHS_STRIDE=N steps of 1 to N, by EHS_SEED.
 */
static char **every(char **args)
{
	int failed[256] = { 0 }, status, fd, i, n = 0, step = atoi(getenv("EHS_STRIDE") ?: "0");
	pid_t pid;

	if (step)
		srandom(atoi(getenv("EHS_SEED") ?: "1"));
	for (nth = 1;; nth += step ? 1 + random() % step : 1, n++) {
		pid = fork();
		if (pid < 0)
			die("fork");
		if (!pid) {
			fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
			if (fd < 0 || dup2(fd, NTH_FD) < 0)
				die("fail-nth");
			return args;
		}
		await_or_show(pid, &status);
		status = shell_status(status);
		if (status == NTH_NOT_REACHED)
			break;
		failed[status]++;
	}
	printf("%d faults up to %d", n, nth - 1);
	for (i = 1; i < 256; i++)
		if (failed[i])
			printf(", %d ended with %d", failed[i], i);
	printf("\n");
	exit(0);
}

/* From the next system call on. */
static void arm(void)
{
	if (nth && dprintf(NTH_FD, "%d", nth) < 0)
		die("fail-nth");
}

/* Ends with 0 if an allocation has failed, however that went, else NTH_NOT_REACHED. */
static void disarm(void)
{
	char left[16] = "";

	if (!nth)
		return;
	/* copying counts as well: when it fails here, nothing did before */
	if (pread(NTH_FD, left, sizeof(left) - 1, 0) < 0)
		left[0] = '1';
	while (pwrite(NTH_FD, "0", 1, 0) < 0)
		;
	exit(atoi(left) ? NTH_NOT_REACHED : 0);
}

/* left: the program that an exec under a fault starts */
static char **left(char **args)
{
	nth = 1;
	disarm();
	return args;
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

/* new mnt|pid|user|net|uts|ipc|cgroup|time|pid-children: other namespaces; those of time are its children's */
static char **new_namespace(char **args)
{
	static const struct {
		const char *name;
		int flag;
	} kinds[] = {
		{ "mnt", CLONE_NEWNS },		  { "pid", CLONE_NEWPID },
		{ "user", CLONE_NEWUSER },	  { "net", CLONE_NEWNET },
		{ "uts", CLONE_NEWUTS },	  { "ipc", CLONE_NEWIPC },
		{ "cgroup", CLONE_NEWCGROUP },	  { "time", CLONE_NEWTIME },
		{ "pid-children", CLONE_NEWPID },
	};
	size_t i;
	pid_t pid;
	int err;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(args[0], kinds[i].name))
			continue;
		arm();
		err = unshare(kinds[i].flag);
		disarm();
		if (err)
			die("unshare");
	}
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

static char program_path[64];

/* A file in memory with the contents of FILE. */
static int memory_file(const char *file)
{
	int from = open(file, O_RDONLY | O_CLOEXEC), to = memfd_create("probe", MFD_CLOEXEC);

	if (from < 0 || to < 0)
		die(file);
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	close(from);
	/* what can be written cannot be run */
	snprintf(program_path, sizeof(program_path), "/proc/self/fd/%d", to);
	from = open(program_path, O_RDONLY | O_CLOEXEC);
	close(to);
	return from;
}

/* memory FD READ-ONLY: have a file in memory */
static char **memory(char **args)
{
	int fd = atoi(args[1]) ? memory_file("/dev/null") : memfd_create("probe", MFD_CLOEXEC);

	if (dup2(fd, atoi(args[0])) < 0)
		die("memory");
	return args + 2;
}

/* fexec KIND FILE: run it by a descriptor of a kind: file, o-path, memory; or by that one's path in /proc */
static char **fexec(char **args)
{
	char *empty[] = { NULL };
	bool path = !strncmp(args[0], "path-", 5);
	const char *kind = args[0] + (path ? 5 : 0);
	int fd;

	if (!strcmp(kind, "memory"))
		fd = memory_file(args[1]);
	else
		fd = open(args[1], O_CLOEXEC | (strcmp(kind, "o-path") ? O_RDONLY : O_PATH));
	snprintf(program_path, sizeof(program_path), "/proc/self/fd/%d", fd);
	if (path)
		execve(program_path, args + 1, empty);
	else
		syscall(SYS_execveat, fd, "", args + 1, empty, AT_EMPTY_PATH);
	die(args[1]);
}

/* writing FILE: be one who writes a program */
static char **writing(char **args)
{
	if (open(args[0], O_WRONLY | O_CLOEXEC) < 0)
		die(args[0]);
	return args + 1;
}

/* seize PID: begin to trace a task; the kernel lets no one do so in the middle of an exec */
static char **seize(char **args)
{
	if (ptrace(PTRACE_SEIZE, atoi(args[0]), 0, 0))
		die("ptrace");
	printf("seized\n");
	return args + 1;
}

/* fail: exec of what is not there, then the rest */
static char **fail(char **args)
{
	char *argv[] = { "x", NULL };

	execv("/nonexistent/x", argv);
	execv("/etc/passwd", argv);
	return args;
}

/* fastest N -- CMD: runs it N times, one after another; prints the milliseconds of the shortest */
static char **fastest(char **args)
{
	int n = atoi(args[0]), status, failed = 0;
	long ms, least = LONG_MAX;
	struct timespec from;
	pid_t pid;

	while (n--) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		pid = fork();
		if (!pid)
			return args + 1;
		if (waitpid(pid, &status, 0) != pid)
			die("fastest");
		ms = ms_since(&from);
		failed |= status;
		least = ms < least ? ms : least;
	}
	printf("%ld\n", least);
	exit(!!failed);
}

/* idle: sleeps until it is killed; a program that starts at less cost than sleep(1) */
static char **idle(char **args)
{
	while (pause())
		;
	return args;
}

/*
 * settled FILE: it is in its condition now. Writes its pid to the file, as /proc calls
 * it if that is there, which may be of another pid namespace; then sleeps until it is
 * killed.
 */
static char **settled(char **args)
{
	char pid[32] = "";
	int fd = open(args[0], O_WRONLY | O_CLOEXEC);
	struct statfs proc;

	if (statfs("/proc", &proc) || proc.f_type != PROC_SUPER_MAGIC ||
	    readlink("/proc/self", pid, sizeof(pid) - 1) < 0)
		snprintf(pid, sizeof(pid), "%d", getpid());
	if (fd < 0 || write(fd, pid, strlen(pid)) != (ssize_t)strlen(pid))
		die(args[0]);
	close(fd);
	return idle(args + 1);
}

/* share: another process has the same root and working directory, until this one ends */
static char **share(char **args)
{
	pid_t self = getpid(), pid = syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0);

	if (pid < 0)
		die("clone");
	if (pid)
		return args;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != self)
		exit(0);
	return idle(args);
}

static const struct verb verbs[] = {
	{ "in", in, 1 },	   { "open", open_fd, 2 },	{ "nnp", nnp, 0 },
	{ "event", event_fd, 1 },  { "listen", listen_fd, 1 },	{ "pipe", pipe_fd, 1 },
	{ "seccomp", seccomp, 0 }, { "every", every, 0 },	{ "left", left, 0 },
	{ "traced", traced, 0 },   { "new", new_namespace, 1 }, { "root", root, 1 },
	{ "caps", caps, 1 },	   { "fork", fork_rest, 0 },	{ "fexec", fexec, 2 },
	{ "writing", writing, 1 }, { "seize", seize, 1 },	{ "fail", fail, 0 },
	{ "fastest", fastest, 1 }, { "user", user, 1 },		{ "idle", idle, 0 },
	{ "settled", settled, 1 }, { "share", share, 0 },	{ "pidfd", pidfd, 1 },
	{ "memory", memory, 2 },   { NULL, NULL, 0 },
};

static const struct verb *find(const struct verb *verb, const char *name)
{
	while (verb->name && strcmp(name, verb->name))
		verb++;
	return verb->name ? verb : NULL;
}

int main(int argc, char **argv)
{
	char **args = argv + 1, **end = argv + argc;
	const struct verb *verb;

	while (args < end) {
		if (!strcmp(args[0], "--")) {
			if (!args[1])
				break;
			arm();
			/* a path without execvp(), which gives what cannot be run to the shell */
			(strchr(args[1], '/') ? execv : execvp)(args[1], args + 1);
			disarm();
			die(args[1]);
		}
		verb = find(verbs, args[0]) ?: find(confine_verbs, args[0]) ?: find(crowd_verbs, args[0]);
		if (!verb || end - args <= verb->operands) {
			fprintf(stderr, "probe: %s: no such verb, or too few operands\n", args[0]);
			return 125;
		}
		args = verb->run(args + 1);
	}
	return 0;
}
