// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the conformance cases run where no tool of the system shows it.
 *
 *   probe state            what is inherited over an exec, a line each
 *   probe args             argv[0], argv and environment as they came
 *   probe die N            by signal N, also where a shell would wait
 *   probe spend MS KIB     processor time and memory; prints the microseconds it used
 *   probe hold             says "up" and waits for signals, whose names it prints
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void show_file(const char *path, const char *const *lines)
{
	char line[512];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!lines)
			printf("%s %s", path, line);
		for (int i = 0; lines && lines[i]; i++)
			if (!strncmp(line, lines[i], strlen(lines[i])))
				fputs(line, stdout);
	}
	if (f)
		fclose(f);
}

static void show_scheduling(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
		uint32_t util_min, util_max;
	} a = { .size = sizeof(a) };
	cpu_set_t set;

	if (!syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0))
		printf("policy %u flags %llu nice %d priority %u runtime %llu deadline %llu period %llu\n",
		       a.policy, (unsigned long long)a.flags, a.nice, a.priority,
		       a.policy == SCHED_DEADLINE ? (unsigned long long)a.runtime : 0ull,
		       (unsigned long long)a.deadline, (unsigned long long)a.period);
	if (!sched_getaffinity(0, sizeof(set), &set))
		printf("cpus %d\n", CPU_COUNT(&set));
	printf("ioprio %ld\n", syscall(SYS_ioprio_get, 1, 0));
	printf("timer slack %d\n", prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
	printf("thp disabled %d\n", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
}

static void show_ids(void)
{
	static const char *const lines[] = { "CapInh", "CapPrm",  "CapEff", "CapBnd",
					     "CapAmb", "Seccomp", NULL };
	gid_t groups[1024];
	uid_t u[3];
	gid_t g[3];
	int n = getgroups(1024, groups);

	getresuid(u, u + 1, u + 2);
	getresgid(g, g + 1, g + 2);
	printf("uid %u %u %u gid %u %u %u groups", u[0], u[1], u[2], g[0], g[1], g[2]);
	for (int i = 0; i < n; i++)
		printf(" %u", groups[i]);
	printf("\nno new privs %d\nsecurebits %#x\nsubreaper ",
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	n = -1;
	prctl(PR_GET_CHILD_SUBREAPER, &n, 0, 0, 0);
	printf("%d\nsecure mode %lu\n", n, getauxval(AT_SECURE));
	n = -1;
	prctl(PR_GET_PDEATHSIG, &n, 0, 0, 0);
	printf("signal at the death of its parent %d\n", n);
	show_file("/proc/self/status", lines);
	/* for audit; its session there is one of that kernel */
	show_file("/proc/self/loginuid", NULL);
	printf("\n");
}

static void show_signals(void)
{
	struct {
		void *handler;
		unsigned long rest[7];
	} act;
	unsigned long blocked = 0, pending = 0;
	struct itimerval timer;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, 8);
	syscall(SYS_rt_sigpending, &pending, 8);
	printf("blocked %#lx pending %#lx ignored", blocked, pending);
	for (int s = 1; s <= 64; s++)
		if (!syscall(SYS_rt_sigaction, s, NULL, &act, 8) && act.handler == (void *)SIG_IGN)
			printf(" %d", s);
	for (int i = 0; i < 3; i++)
		if (!getitimer(i, &timer))
			printf("%s%ld", i ? " " : "\ntimers ", timer.it_value.tv_sec);
	printf("\n");
}

static int state(void)
{
	mode_t mask = umask(0);
	struct rlimit limit;
	char cwd[4096];

	printf("cwd %s\numask %04o\n", getcwd(cwd, sizeof(cwd)) ? cwd : strerror(errno), mask);
	show_scheduling();
	show_ids();
	show_signals();
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (!getrlimit(i, &limit))
			printf("limit %d %lld %lld\n", i, (long long)limit.rlim_cur,
			       (long long)limit.rlim_max);
	printf("personality %#x\n", personality(0xffffffff));
	printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	printf("leader of its session %d, of its group %d\n", getsid(0) == getpid(),
	       getpgrp() == getpid());
	show_file("/proc/self/oom_score_adj", NULL);
	show_file("/proc/self/coredump_filter", NULL);
	show_file("/proc/self/comm", NULL);
	for (int fd = 0; fd < 256; fd++) {
		struct stat st;

		if (!fstat(fd, &st))
			printf("descriptor %d %s %#x\n", fd,
			       S_ISCHR(st.st_mode) && st.st_rdev == 0x103 ? "null" : "other",
			       fcntl(fd, F_GETFD));
	}
	return 0;
}

static int args(int argc, char **argv)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	printf("exe %.*s\nexecfn %s\n", n > 0 ? (int)n : 0, exe, (char *)getauxval(AT_EXECFN));
	for (int i = 0; i < argc; i++)
		printf("arg %zu %s\n", strlen(argv[i]), argv[i]);
	for (char **e = environ; *e; e++)
		printf("env %zu %s\n", strlen(*e), *e);
	return 0;
}

static int die(int sig)
{
	struct rlimit none = { 0, 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigfillset(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), sig);
	return 0; /* the default of some is nothing */
}

static int spend(long ms, size_t kib)
{
	char *memory = malloc(kib * 1024);
	struct rusage usage;
	struct timespec t;

	if (!memory)
		return 1;
	memset(memory, 1, kib * 1024);
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld\n", usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec +
				usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec);
	return memory[0] == 2;
}

static void told(int sig, siginfo_t *info, void *context)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "signal %d code %d value %d\n", sig, info->si_code,
			 info->si_code == SI_QUEUE ? info->si_value.sival_int : 0);

	if (write(1, text, n) < 0 || sig == SIGTERM)
		_exit(7);
}

static int hold(void)
{
	struct sigaction act = { .sa_sigaction = told, .sa_flags = SA_SIGINFO };

	sigfillset(&act.sa_mask);
	for (int s = 1; s <= 64; s++)
		if (s != SIGTSTP && s != SIGTTIN && s != SIGTTOU)
			sigaction(s, &act, NULL);
	if (write(1, "up\n", 3) < 0)
		return 1;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "state"))
		return state();
	if (!strcmp(what, "args"))
		return args(argc, argv);
	if (!strcmp(what, "die") && argc == 3)
		return die(atoi(argv[2]));
	if (!strcmp(what, "spend") && argc == 4)
		return spend(atol(argv[2]), atol(argv[3]));
	if (!strcmp(what, "hold"))
		return hold();
	fprintf(stderr, "probe: unknown request '%s'\n", what);
	return 98;
}
