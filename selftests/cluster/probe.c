// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program the cluster tests transfer, and the parent that watches it.
 *
 *   probe exit N | raise N | burn MS | copy | env | where | fds | hold FILE
 *   probe reap OUT CMD…    run CMD; write how it ended, as its parent sees it
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int die(const char *what)
{
	fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
	return 99;
}

static int raise_signal(int sig)
{
	struct rlimit none = { 0, 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	/* To the process, as kill(1) does; raise() would go to the thread. */
	kill(getpid(), sig);
	/* The default of some signals is to be ignored. */
	return 0;
}

/* Processor time, not wall time: what a task costs wherever it runs. */
static int burn(long ms)
{
	struct timespec t;

	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
	return 0;
}

static int put(int fd, const char *buf, size_t n)
{
	while (n) {
		ssize_t w = write(fd, buf, n);

		if (w < 0)
			return -1;
		buf += w;
		n -= w;
	}
	return 0;
}

/* stdin to stdout, and inverted to stderr. */
static int copy(void)
{
	static char buf[65536];
	ssize_t n;

	while ((n = read(0, buf, sizeof(buf))) > 0) {
		if (put(1, buf, n))
			return die("write 1");
		for (ssize_t i = 0; i < n; i++)
			buf[i] = ~buf[i];
		if (put(2, buf, n))
			return die("write 2");
	}
	return n < 0 ? die("read") : 0;
}

/* What a program can see of how it was started. */
static int print_env(void)
{
	char cwd[4096];
	gid_t groups[256];
	mode_t mask = umask(0);
	struct rlimit limit;
	struct sigaction act;
	sigset_t blocked;
	int n = getgroups(256, groups);

	umask(mask);
	printf("cwd %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : "?");
	printf("umask %04o\nuid %d %d gid %d %d groups", mask, getuid(), geteuid(), getgid(),
	       getegid());
	for (int i = 0; i < n; i++)
		printf(" %d", groups[i]);
	printf("\nnice %d no-new-privs %d\n", getpriority(PRIO_PROCESS, 0),
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (!getrlimit(i, &limit))
			printf("limit %d %lld %lld\n", i, (long long)limit.rlim_cur,
			       (long long)limit.rlim_max);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int s = 1; s < NSIG; s++) {
		if (sigismember(&blocked, s) == 1)
			printf("blocked %d\n", s);
		if (!sigaction(s, NULL, &act) && act.sa_handler == SIG_IGN)
			printf("ignored %d\n", s);
	}
	for (char **e = environ; *e; e++)
		printf("env %s\n", *e);
	return 0;
}

static int print_fds(void)
{
	for (int fd = 0; fd < 64; fd++) {
		struct stat st;

		if (!fstat(fd, &st))
			printf("fd %d %s\n", fd,
			       S_ISCHR(st.st_mode) && st.st_rdev == 0x103 ? "null" : "open");
	}
	return 0;
}

static int where(void)
{
	const char *path = getenv("EHS_WHERE");
	char host[256], line[300];
	int fd, n;

	if (gethostname(host, sizeof(host)))
		return die("gethostname");
	n = snprintf(line, sizeof(line), "%s\n", host);
	if (!path)
		return put(1, line, n) ? die("write") : 0;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	return fd < 0 || put(fd, line, n) ? die(path) : 0;
}

/* Says that it runs, then sleeps until a signal. */
static int hold(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0666);
	char host[256], line[300];

	gethostname(host, sizeof(host));
	if (fd < 0 || put(fd, line, snprintf(line, sizeof(line), "%s %d\n", host, getpid())))
		return die(file);
	close(fd);
	for (;;)
		pause();
}

static int reap(const char *out, char **argv)
{
	FILE *f = fopen(out, "w");
	int status;
	pid_t pid;

	if (!f)
		return die(out);
	fcntl(fileno(f), F_SETFD, FD_CLOEXEC);
	pid = fork();
	if (!pid) {
		/* as a shell with job control: in an orphaned group SIGTSTP does nothing */
		setpgid(0, 0);
		execvp(argv[0], argv);
		_exit(die(argv[0]));
	}
	fprintf(f, "pid %d\n", pid);
	fflush(f);
	for (;;) {
		if (waitpid(pid, &status, WUNTRACED | WCONTINUED) < 0)
			return die("waitpid");
		if (WIFSTOPPED(status))
			fprintf(f, "stopped %d\n", WSTOPSIG(status));
		else if (WIFCONTINUED(status))
			fprintf(f, "continued\n");
		else
			break;
		fflush(f);
	}
	if (WIFSIGNALED(status))
		fprintf(f, "signal %d\n", WTERMSIG(status));
	else
		fprintf(f, "exit %d\n", WEXITSTATUS(status));
	return fclose(f) ? die(out) : 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (getenv("EHS_WHERE") && strcmp(what, "where") && strcmp(what, "reap") && where())
		return 99;
	if (!strcmp(what, "exit") && argc == 3)
		return atoi(argv[2]);
	if (!strcmp(what, "raise") && argc == 3)
		return raise_signal(atoi(argv[2]));
	if (!strcmp(what, "burn") && argc == 3)
		return burn(atol(argv[2]));
	if (!strcmp(what, "copy"))
		return copy();
	if (!strcmp(what, "env"))
		return print_env();
	if (!strcmp(what, "fds"))
		return print_fds();
	if (!strcmp(what, "where"))
		return where();
	if (!strcmp(what, "hold") && argc == 3)
		return hold(argv[2]);
	if (!strcmp(what, "reap") && argc > 3)
		return reap(argv[2], argv + 3);
	fprintf(stderr, "probe: unknown request '%s'\n", what);
	return 98;
}
