// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attributes that the kernel keeps over a fork and an exec, taken on by the executor's end for its
 * program. They are reduced to what a guest may have (limits.c). What a launcher without root's rights
 * may not set stays as it is.
 */
#include "attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helpers/ehguest/program.h"
#include "wire/sched.h"

#define ATTRIBUTES_CAPS 64

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
	unsigned long all[SCHED_CPUS_LONGS] = { 0 };
	unsigned long some[SCHED_CPUS_LONGS] = { 0 };
	cpu_set_t *from = (cpu_set_t *)all, *to = (cpu_set_t *)some;
	unsigned int n, skip;

	if (syscall(SYS_sched_getaffinity, 0, sizeof(all), all) < 0)
		return -1;
	n = CPU_COUNT_S(sizeof(all), from);
	if (!wanted || wanted >= n)
		return 0;
	skip = (program_outside ?: getpid()) % n;
	for (unsigned int cpu = 0; wanted; cpu = (cpu + 1) % SCHED_CPUS) {
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

int attributes_take(const struct launch_start *q)
{
	const struct sched_attributes sched = {
		.size = sizeof(sched),
		.policy = q->traits[JOB_POLICY],
		/* Not for the program, which is forked, but by it: helpers/ehguest/program.c. */
		.flags = q->traits[JOB_POLICY_FLAGS] & ~JOB_RESET_ON_FORK,
		.nice = q->nice,
		.priority = q->traits[JOB_PRIORITY],
		.runtime = q->traits[JOB_RUNTIME],
		.deadline = q->traits[JOB_DEADLINE],
		.period = q->traits[JOB_PERIOD],
	};

	if (!q->traits[JOB_TRAITS_KNOWN])
		return 0;
	if (attributes_take_cpus(q->traits[JOB_CPUS]))
		return -1;
	if (q->traits[JOB_IOPRIO] &&
	    syscall(SYS_ioprio_set, SCHED_IOPRIO_PROCESS, 0, (int)q->traits[JOB_IOPRIO]) &&
	    !attributes_forbidden())
		return -1;
	if (q->traits[JOB_TIMER_SLACK])
		prctl(PR_SET_TIMERSLACK, (unsigned long)q->traits[JOB_TIMER_SLACK], 0, 0, 0);
	if (q->traits[JOB_NO_HUGE_PAGES])
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (syscall(SYS_personality, (unsigned long)q->traits[JOB_PERSONALITY]) < 0 ||
	    attributes_write("/proc/self/oom_score_adj",
			     (int64_t)q->traits[JOB_OOM_SCORE] - 1000) ||
	    attributes_write("/proc/self/coredump_filter", q->traits[JOB_CORE_FILTER]))
		return -1;
	/* Last, so that the rest is not done at real-time priority. */
	if ((sched.policy || sched.flags) && syscall(SYS_sched_setattr, 0, &sched, 0) &&
	    !attributes_forbidden())
		return -1;
	return 0;
}

int attributes_take_login(const struct launch_start *q)
{
	char text[16];
	int fd, n;

	if (q->loginuid == JOB_LOGINUID_UNSET)
		return 0;
	fd = open("/proc/self/loginuid", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1; /* a kernel without audit */
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		goto close_file;
	text[n] = '\0';
	/* The agent's own may be the same, and need not be one that can be changed. */
	if (strtoul(text, NULL, 10) != q->loginuid) {
		n = snprintf(text, sizeof(text), "%u", q->loginuid);
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

int attributes_take_bounding(const struct launch_start *q)
{
	uint64_t ours = attributes_permitted();
	uint64_t inheritable = q->traits[JOB_CAP_INHERITABLE];

	if (!q->traits[JOB_TRAITS_KNOWN])
		return 0;
	for (unsigned long cap = 0; cap < ATTRIBUTES_CAPS; cap++) {
		if (q->traits[JOB_CAP_BOUNDING] >> cap & 1 || !prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			continue;
		if (errno == EINVAL)
			break; /* this kernel does not have that many */
		return -1;
	}
	if (inheritable && attributes_capset(ours, inheritable & ours))
		return -1;
	/* Keeps the permitted set when the user changes; the exec resets this. */
	if (q->traits[JOB_CAP_AMBIENT] && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -1;
	return 0;
}

int attributes_take_capabilities(const struct launch_start *q)
{
	uint64_t inheritable = q->traits[JOB_CAP_INHERITABLE];
	uint64_t ours = attributes_permitted();
	uint64_t ambient = q->traits[JOB_CAP_AMBIENT] & inheritable & ours;

	if (!q->traits[JOB_TRAITS_KNOWN])
		return 0;
	if (ambient && attributes_capset(q->uid ? ambient : ours, inheritable & ours))
		return -1;
	for (unsigned long cap = 0; cap < ATTRIBUTES_CAPS; cap++)
		if (ambient >> cap & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0))
			return -1;
	/* For root only, see attributes_read(). They take effect at the exec. */
	if (!q->uid && q->traits[JOB_SECUREBITS] &&
	    prctl(PR_SET_SECUREBITS, (unsigned long)q->traits[JOB_SECUREBITS], 0, 0, 0))
		return -1;
	return 0;
}
