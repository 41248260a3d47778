/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file origin.h
 * The cgroup that a process comes from when it gets a session: it is not to gain by leaving it.
 */
#ifndef EHLAUNCH_ORIGIN_H
#define EHLAUNCH_ORIGIN_H

/**
 * Whether the BPF programs of a cgroup (a device filter, a firewall) are those of another, too. Both are
 * descriptors of their directories. 0, or -EPERM: they are not, or the kernel does not say.
 */
int origin_programs(int origin, int session);
/** Gives a session the limits that a cgroup has, with those above it. 0 or -errno. */
int origin_limits(int origin, int session);

#endif
