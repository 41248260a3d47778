// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel lets nobody move a process who may not write to both cgroups and to what is above both.
 * ehlaunch may, for each user who asks for a session. So it looks at what confines the process where it is,
 * as a container, a service with a firewall, or a user's slice.
 */
#include "origin.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "folder.h"

#define ORIGIN_TYPES 128u /* kinds of BPF programs; no kernel has that many */
#define ORIGIN_PROGRAMS 64 /* of one kind */

/* ---- BPF ---- */

/*
 * The numbers of those that run for the processes of a cgroup. How many, or -EPERM: the kernel does not say,
 * or these are too many. Kinds that are not for cgroups know no such flag, or no such device: there are none.
 */
static int origin_query(int cgroup, unsigned int type, uint32_t ids[ORIGIN_PROGRAMS])
{
	static bool others[ORIGIN_TYPES]; /* kinds that are known not to be for cgroups */
	union bpf_attr attr;

	if (others[type])
		return 0;
	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = cgroup;
	attr.query.attach_type = type;
	attr.query.query_flags = BPF_F_QUERY_EFFECTIVE;
	attr.query.prog_ids = (uintptr_t)ids;
	attr.query.prog_cnt = ORIGIN_PROGRAMS;
	if (!syscall(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof(attr)))
		return attr.query.prog_cnt;
	others[type] = errno == EINVAL;
	return errno == EPERM || errno == EACCES || errno == ENOSPC || errno == EFAULT ? -EPERM : 0;
}

static bool origin_has(const uint32_t *ids, int n, uint32_t id)
{
	for (int i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

int origin_programs(int origin, int session)
{
	uint32_t its[ORIGIN_PROGRAMS], ours[ORIGIN_PROGRAMS];
	int n, m;

	for (unsigned int type = 0; type < ORIGIN_TYPES; type++) {
		n = origin_query(origin, type, its);
		if (!n)
			continue;
		m = n < 0 ? n : origin_query(session, type, ours);
		if (m < 0)
			return m;
		for (int i = 0; i < n; i++)
			if (!origin_has(ours, m, its[i]))
				return -EPERM;
	}
	return 0;
}

/* ---- limits ---- */

/* "max", a number, or a number for each period of another number: the text and what it amounts to. */
struct origin_limit {
	char text[64];
	long double value;
};

static bool origin_read(int cgroup, const char *name, struct origin_limit *limit)
{
	int fd = openat(cgroup, name, O_RDONLY | O_CLOEXEC);
	unsigned long long number, period = 1;
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, limit->text, sizeof(limit->text) - 1);
	close(fd);
	limit->text[n < 0 ? 0 : n] = '\0';
	if (sscanf(limit->text, "%llu %llu", &number, &period) < 1)
		return false;
	limit->value = (long double)number / (period ? period : 1);
	return true;
}

/* The least of a cgroup and those above it. False: there is none. */
static bool origin_least(int cgroup, const char *name, struct origin_limit *least)
{
	int fd = fcntl(cgroup, F_DUPFD_CLOEXEC, 0), above;
	struct origin_limit limit;
	bool any = false;

	for (; fd >= 0; fd = above) {
		if (origin_read(fd, name, &limit) && (!any || limit.value < least->value)) {
			*least = limit;
			any = true;
		}
		above = cgroup_above(fd);
		close(fd);
	}
	return any;
}

int origin_limits(int origin, int session)
{
	static const char *const names[] = { "pids.max", "memory.max", "memory.high",
					     "memory.swap.max", "cpu.max" };
	struct origin_limit least;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(names) / sizeof(names[0]); i++)
		if (origin_least(origin, names[i], &least))
			err = folder_write(session, names[i], least.text);
	return err;
}
