// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/agent.h"
#include "wire/job.h"

#define ATTRIBUTES_CPUS 8192 /* bits of a mask; the kernel's maximum (CONFIG_NR_CPUS) */
#define ATTRIBUTES_CAPS 64
#define ATTRIBUTES_IOPRIO_PROCESS 1

/* The first version of the kernel's struct sched_attr, which glibc lacks. */
struct attributes_sched {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* ---- at home ---- */

static int attributes_read_at(int folder, const char *path, char *text, size_t size)
{
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
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

static int attributes_read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return attributes_read_at(AT_FDCWD, path, text, size);
}

/* /proc/PID/status, to be freed. It is long if the user is in many groups. NULL: errno is set. */
static char *attributes_status(pid_t pid, int folder)
{
	char path[40], *text = NULL, *more;
	size_t size = 0, have = 0;
	ssize_t n = 1;
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = openat(folder, folder == AT_FDCWD ? path : "status", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	while (n > 0) {
		if (have + 1 >= size) {
			size = size ? 2 * size : 4096;
			more = realloc(text, size);
			if (!more)
				goto fail;
			text = more;
		}
		n = read(fd, text + have, size - have - 1);
		if (n > 0)
			have += n;
	}
	if (n < 0)
		goto fail;
	close(fd);
	text[have] = '\0';
	return text;

fail:
	err = errno;
	free(text);
	close(fd);
	errno = err;
	return NULL;
}

/* Reads a file that holds one number. */
static int attributes_number(pid_t pid, const char *name, int base, int64_t *value)
{
	char text[32], *end;
	int err = attributes_read_file(pid, name, text, sizeof(text));

	if (err)
		return err;
	*value = strtoll(text, &end, base);
	return end == text ? -EINVAL : 0;
}

static int attributes_line(const char *status, const char *name, int base, uint64_t *value)
{
	const char *line = strstr(status, name);

	if (!line)
		return -ENOENT;
	*value = strtoull(line + strlen(name), NULL, base);
	return 0;
}

static int attributes_login_of(int folder, uint32_t *loginuid)
{
	char text[16];
	int err = attributes_read_at(folder, "loginuid", text, sizeof(text));

	*loginuid = err ? JOB_LOGINUID_UNSET : strtoul(text, NULL, 10);
	return err == -ENOENT ? 0 : err; /* a kernel without audit */
}

int attributes_identify(pid_t pid, uid_t uid, uint32_t *loginuid, bool *no_new_privs)
{
	char path[32], *status = NULL, *line;
	uint64_t flag = 0;
	unsigned int user;
	int folder, err;

	/* Of one process: when it has ended nothing more can be read, also if the pid is reused. */
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	err = attributes_login_of(folder, loginuid);
	if (!err) {
		status = attributes_status(pid, folder);
		if (!status)
			err = -errno;
	}
	close(folder);
	if (!status)
		return err;
	line = strstr(status, "\nUid:\t");
	if (!line || sscanf(line, "\nUid:\t%*u %u", &user) != 1 || user != uid)
		err = -ESRCH;
	else
		err = attributes_line(status, "\nNoNewPrivs:\t", 10, &flag);
	free(status);
	*no_new_privs = flag;
	return err;
}

/* How many processors it may use; 0: no fewer than this agent. */
static int attributes_cpus(pid_t pid)
{
	unsigned long its[ATTRIBUTES_CPUS / (8 * sizeof(long))] = { 0 };
	unsigned long ours[ATTRIBUTES_CPUS / (8 * sizeof(long))] = { 0 };
	int n, all;

	if (syscall(SYS_sched_getaffinity, pid, sizeof(its), its) < 0 ||
	    syscall(SYS_sched_getaffinity, 0, sizeof(ours), ours) < 0)
		return -errno;
	n = CPU_COUNT_S(sizeof(its), (cpu_set_t *)its);
	all = CPU_COUNT_S(sizeof(ours), (cpu_set_t *)ours);
	return n < all ? n : 0;
}

static void attributes_take_in(pid_t pid, uid_t uid, const char *status,
			       uint64_t traits[JOB_TRAITS])
{
	struct attributes_sched sched = { .size = sizeof(sched) };
	int64_t persona, oom, filter, slack = 0;
	uint64_t user, huge_pages;
	int ioprio, cpus;

	if (attributes_number(pid, "personality", 16, &persona) ||
	    attributes_number(pid, "oom_score_adj", 10, &oom) ||
	    attributes_number(pid, "coredump_filter", 16, &filter) ||
	    syscall(SYS_sched_getattr, pid, &sched, sizeof(sched), 0))
		return;
	/* The pid may have been reused by another user's process. */
	if (attributes_line(status, "\nUid:\t", 10, &user) || user != uid)
		return;
	if (attributes_line(status, "\nCapInh:\t", 16, &traits[JOB_CAP_INHERITABLE]) ||
	    attributes_line(status, "\nCapBnd:\t", 16, &traits[JOB_CAP_BOUNDING]) ||
	    attributes_line(status, "\nCapAmb:\t", 16, &traits[JOB_CAP_AMBIENT]))
		return;
	ioprio = syscall(SYS_ioprio_get, ATTRIBUTES_IOPRIO_PROCESS, pid);
	cpus = attributes_cpus(pid);
	/* Not in all kernels, or for root only. */
	if (attributes_number(pid, "timerslack_ns", 10, &slack))
		slack = 0;
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
	traits[JOB_TIMER_SLACK] = slack;
	traits[JOB_NO_HUGE_PAGES] = !huge_pages;
	traits[JOB_PERSONALITY] = persona;
	traits[JOB_OOM_SCORE] = oom + 1000;
	traits[JOB_CORE_FILTER] = filter;
	traits[JOB_TRAITS_KNOWN] = 1;
}

void attributes_read(pid_t pid, uid_t uid, uint64_t traits[JOB_TRAITS])
{
	uint64_t securebits = traits[JOB_SECUREBITS], subreaper = traits[JOB_SUBREAPER];
	char *status = attributes_status(pid, AT_FDCWD);

	memset(traits, 0, JOB_TRAITS * sizeof(*traits));
	if (status)
		attributes_take_in(pid, uid, status, traits);
	free(status);
	/* A user could otherwise take rights from the set-user-ID programs that the task starts. */
	traits[JOB_SECUREBITS] = uid ? 0 : securebits;
	traits[JOB_SUBREAPER] = subreaper;
}

/* ---- in the child ---- */

/*
 * Without allow_root a peer must not get root's rights in other ways: a user's capabilities, or
 * protection from the OOM killer.
 */
static uint64_t attributes_rights(struct agent *agent, const uint64_t traits[JOB_TRAITS],
				  enum job_trait which)
{
	return agent->config->allow_root ? traits[which] : 0;
}

static int64_t attributes_oom_score(struct agent *agent, const uint64_t traits[JOB_TRAITS])
{
	int64_t score = (int64_t)traits[JOB_OOM_SCORE] - 1000;

	return agent->config->allow_root || score > agent->oom_score_adj ? score
									 : agent->oom_score_adj;
}

static bool attributes_forbidden(void)
{
	return errno == EPERM || errno == EACCES;
}

static int attributes_write(const char *path, int64_t value)
{
	char text[24];
	int fd, n;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	n = snprintf(text, sizeof(text), "%lld", (long long)value);
	n = write(fd, text, n) < 0 && !attributes_forbidden() ? -1 : 0;
	close(fd);
	return n;
}

/*
 * As many of the agent's processors as at home, in different places for different tasks: which ones
 * they were at home means nothing here.
 */
static int attributes_take_cpus(unsigned int wanted)
{
	unsigned long all[ATTRIBUTES_CPUS / (8 * sizeof(long))] = { 0 };
	unsigned long some[ATTRIBUTES_CPUS / (8 * sizeof(long))] = { 0 };
	cpu_set_t *from = (cpu_set_t *)all, *to = (cpu_set_t *)some;
	unsigned int n, skip;

	if (syscall(SYS_sched_getaffinity, 0, sizeof(all), all) < 0)
		return -1;
	n = CPU_COUNT_S(sizeof(all), from);
	if (!wanted || wanted >= n)
		return 0;
	skip = syscall(SYS_getpid) % n;
	for (unsigned int cpu = 0; wanted; cpu = (cpu + 1) % ATTRIBUTES_CPUS) {
		if (!CPU_ISSET_S(cpu, sizeof(all), from))
			continue;
		if (skip) {
			skip--;
			continue;
		}
		CPU_SET_S(cpu, sizeof(some), to);
		wanted--;
	}
	return syscall(SYS_sched_setaffinity, 0, sizeof(some), some);
}

int attributes_take(struct agent *agent, const uint64_t traits[JOB_TRAITS], int nice)
{
	const struct attributes_sched sched = {
		.size = sizeof(sched),
		.policy = traits[JOB_POLICY],
		.flags = traits[JOB_POLICY_FLAGS],
		.nice = nice,
		.priority = traits[JOB_PRIORITY],
		.runtime = traits[JOB_RUNTIME],
		.deadline = traits[JOB_DEADLINE],
		.period = traits[JOB_PERIOD],
	};

	if (!traits[JOB_TRAITS_KNOWN])
		return 0;
	if (attributes_take_cpus(traits[JOB_CPUS]))
		return -1;
	if (traits[JOB_IOPRIO] &&
	    syscall(SYS_ioprio_set, ATTRIBUTES_IOPRIO_PROCESS, 0, (int)traits[JOB_IOPRIO]) &&
	    !attributes_forbidden())
		return -1;
	if (traits[JOB_TIMER_SLACK])
		prctl(PR_SET_TIMERSLACK, (unsigned long)traits[JOB_TIMER_SLACK], 0, 0, 0);
	if (traits[JOB_NO_HUGE_PAGES])
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (traits[JOB_SUBREAPER])
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (syscall(SYS_personality, (unsigned long)traits[JOB_PERSONALITY]) < 0 ||
	    attributes_write("/proc/self/oom_score_adj", attributes_oom_score(agent, traits)) ||
	    attributes_write("/proc/self/coredump_filter", traits[JOB_CORE_FILTER]))
		return -1;
	/* Last, so that the rest is not done at real-time priority. */
	if ((sched.policy || sched.flags) && syscall(SYS_sched_setattr, 0, &sched, 0) &&
	    !attributes_forbidden())
		return -1;
	return 0;
}

int attributes_take_login(uint32_t loginuid)
{
	char text[16];
	int fd, n;

	if (loginuid == JOB_LOGINUID_UNSET)
		return 0;
	fd = open("/proc/self/loginuid", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1; /* a kernel without audit */
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		goto close_file;
	text[n] = '\0';
	/* The agent's own may be the same, and need not be one that can be changed. */
	if (strtoul(text, NULL, 10) != loginuid) {
		n = snprintf(text, sizeof(text), "%u", loginuid);
		n = pwrite(fd, text, n, 0);
	}
close_file:
	close(fd);
	return n < 0 ? -1 : 0;
}

/* Sets the capability sets of this process. */
static int attributes_capset(uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	const struct __user_cap_data_struct data[2] = {
		{ permitted, permitted, inheritable },
		{ permitted >> 32, permitted >> 32, inheritable >> 32 },
	};

	return syscall(SYS_capset, &head, data);
}

static uint64_t attributes_permitted(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &head, data))
		return 0;
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

int attributes_take_bounding(struct agent *agent, const uint64_t traits[JOB_TRAITS])
{
	uint64_t ours = attributes_permitted();
	uint64_t inheritable = attributes_rights(agent, traits, JOB_CAP_INHERITABLE);

	if (!traits[JOB_TRAITS_KNOWN])
		return 0;
	for (unsigned long cap = 0; cap < ATTRIBUTES_CAPS; cap++)
		/* EINVAL: this kernel does not have that many */
		if (!(traits[JOB_CAP_BOUNDING] >> cap & 1) &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EINVAL)
			return -1;
	if (inheritable && attributes_capset(ours, inheritable & ours))
		return -1;
	/* Keeps the permitted set when the user changes; the exec resets this. */
	if (attributes_rights(agent, traits, JOB_CAP_AMBIENT) && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -1;
	return 0;
}

int attributes_take_capabilities(struct agent *agent, const uint64_t traits[JOB_TRAITS], uid_t uid)
{
	uint64_t inheritable = attributes_rights(agent, traits, JOB_CAP_INHERITABLE);
	uint64_t ours = attributes_permitted();
	uint64_t ambient = attributes_rights(agent, traits, JOB_CAP_AMBIENT) & inheritable & ours;

	if (!traits[JOB_TRAITS_KNOWN])
		return 0;
	if (ambient && attributes_capset(uid ? ambient : ours, inheritable & ours))
		return -1;
	for (unsigned long cap = 0; cap < ATTRIBUTES_CAPS; cap++)
		if (ambient >> cap & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0))
			return -1;
	/* For root only, see attributes_read(). They take effect at the exec. */
	if (!uid && traits[JOB_SECUREBITS] &&
	    prctl(PR_SET_SECUREBITS, (unsigned long)traits[JOB_SECUREBITS], 0, 0, 0))
		return -1;
	return 0;
}
