// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process.h"
#include "wire/job.h"
#include "wire/sched.h"

#define ATTRIBUTES_LIMIT 25 /* columns of the name of a limit in /proc/PID/limits */

static int attributes_read_at(int proc, const char *path, char *text, size_t size)
{
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	text[n] = '\0';
	return 0;
}

/* /proc/PID/status, to be freed. It is long if the user is in many groups. NULL: errno is set. */
static char *attributes_status(int proc)
{
	FILE *f = process_open(proc, "status");
	char *text = NULL;
	size_t size = 0;
	ssize_t n;
	int err;

	if (!f)
		return NULL;
	errno = EIO; /* for an empty one */
	/* All of it, as it has no NUL. */
	n = getdelim(&text, &size, '\0', f);
	err = errno;
	fclose(f);
	if (n >= 0)
		return text;
	free(text);
	errno = err;
	return NULL;
}

static int attributes_line(const char *status, const char *name, int base, uint64_t *value)
{
	const char *line = strstr(status, name);

	if (!line)
		return -ENOENT;
	*value = strtoull(line + strlen(name), NULL, base);
	return 0;
}

static int attributes_login_of(int proc, uint32_t *loginuid)
{
	char text[16];
	int err = attributes_read_at(proc, "loginuid", text, sizeof(text));

	*loginuid = err ? JOB_LOGINUID_UNSET : strtoul(text, NULL, 10);
	return err == -ENOENT ? 0 : err; /* a kernel without audit */
}

/* A line for each limit, in the order of their numbers, behind one of titles: a name of 25 columns, soft, hard. */
static int attributes_limits(int proc, uint64_t hard[JOB_RLIMITS])
{
	char text[4096], *line = text, *at;
	int err = attributes_read_at(proc, "limits", text, sizeof(text));

	for (int i = 0; !err && i < JOB_RLIMITS; i++) {
		line += strcspn(line, "\n");
		line += *line == '\n';
		at = line + strnlen(line, ATTRIBUTES_LIMIT);
		at += strspn(at, " ");
		at += strcspn(at, " ");
		at += strspn(at, " ");
		hard[i] = strncmp(at, "unlimited ", 10) ? strtoull(at, NULL, 10) : UINT64_MAX;
		if (*at != 'u' && (*at < '0' || *at > '9'))
			err = -EIO;
	}
	return err;
}

/* How many processors it may use; 0: no fewer than this agent. */
static int attributes_cpus(pid_t pid)
{
	unsigned long its[SCHED_CPUS_LONGS] = { 0 };
	unsigned long ours[SCHED_CPUS_LONGS] = { 0 };
	int n, all;

	if (syscall(SYS_sched_getaffinity, pid, sizeof(its), its) < 0 ||
	    syscall(SYS_sched_getaffinity, 0, sizeof(ours), ours) < 0)
		return -errno;
	n = CPU_COUNT_S(sizeof(its), (cpu_set_t *)its);
	all = CPU_COUNT_S(sizeof(ours), (cpu_set_t *)ours);
	return n < all ? n : 0;
}

static void attributes_take_in(pid_t pid, int proc, const char *status, uint64_t traits[JOB_TRAITS])
{
	struct sched_attributes sched = { .size = sizeof(sched) };
	uint64_t huge_pages;
	int ioprio, cpus;
	char oom[32];

	if (attributes_read_at(proc, "oom_score_adj", oom, sizeof(oom)) ||
	    syscall(SYS_sched_getattr, pid, &sched, sizeof(sched), 0))
		return;
	if (attributes_line(status, "\nCapInh:\t", 16, &traits[JOB_CAP_INHERITABLE]) ||
	    attributes_line(status, "\nCapBnd:\t", 16, &traits[JOB_CAP_BOUNDING]) ||
	    attributes_line(status, "\nCapAmb:\t", 16, &traits[JOB_CAP_AMBIENT]))
		return;
	ioprio = syscall(SYS_ioprio_get, SCHED_IOPRIO_PROCESS, pid);
	cpus = attributes_cpus(pid);
	if (attributes_line(status, "\nTHP_enabled:\t", 10, &huge_pages))
		huge_pages = 1;
	traits[JOB_POLICY] = sched.policy;
	traits[JOB_POLICY_FLAGS] = sched.flags;
	traits[JOB_PRIORITY] = sched.priority;
	traits[JOB_RUNTIME] = sched.runtime;
	traits[JOB_DEADLINE] = sched.deadline;
	traits[JOB_PERIOD] = sched.period;
	traits[JOB_CPUS] = cpus > 0 ? cpus : 0;
	traits[JOB_IOPRIO] = ioprio > 0 ? ioprio : 0;
	traits[JOB_NO_HUGE_PAGES] = !huge_pages;
	traits[JOB_OOM_SCORE] = strtol(oom, NULL, 10) + 1000;
	traits[JOB_TRAITS_KNOWN] = 1;
}

/* Of what the stub says only what the kernel tells nobody else. None of it grants a right. */
static void attributes_keep_own(uid_t uid, uint64_t traits[JOB_TRAITS])
{
	static const enum job_trait own[] = { JOB_SUBREAPER, JOB_PERSONALITY, JOB_CORE_FILTER,
					      JOB_TIMER_SLACK, JOB_SECUREBITS };
	uint64_t said[JOB_TRAITS];

	memcpy(said, traits, sizeof(said));
	memset(traits, 0, sizeof(said));
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		traits[own[i]] = said[own[i]];
	/* A user could otherwise take rights from the set-user-ID programs that the task starts. */
	if (uid)
		traits[JOB_SECUREBITS] = 0;
}

int attributes_read(pid_t pid, uid_t uid, struct attributes_who *out, uint64_t traits[JOB_TRAITS])
{
	char path[32], *status = NULL, *line;
	uint64_t flag = 0;
	unsigned int real, user;
	struct process process;
	int proc, err;

	/* Of one process: when it has ended nothing more can be read, also if the pid is reused. */
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return -errno;
	err = attributes_login_of(proc, &out->loginuid);
	err = err ?: attributes_limits(proc, out->hard);
	err = err ?: process_look_at(proc, &process);
	if (err)
		goto close_proc;
	out->nice = process.nice;
	status = attributes_status(proc);
	if (!status) {
		err = -errno;
		goto close_proc;
	}
	line = strstr(status, "\nUid:\t");
	if (!line || sscanf(line, "\nUid:\t%u %u", &real, &user) != 2 || user != uid)
		err = -ESRCH;
	else
		err = attributes_line(status, "\nNoNewPrivs:\t", 10, &flag);
	out->no_new_privs = flag;
	if (!err && traits) {
		attributes_keep_own(uid, traits);
		if (real == uid)
			attributes_take_in(pid, proc, status, traits);
	}
	free(status);
close_proc:
	close(proc);
	return err;
}
