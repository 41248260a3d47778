/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file sched.h
 * What libc lacks of the kernel's calls for a process's scheduling; <linux/sched/types.h> cannot be
 * included beside <sched.h>. Read at home, taken on by the executor's end.
 */
#ifndef WIRE_SCHED_H
#define WIRE_SCHED_H

#include <stdint.h>

#define SCHED_CPUS 8192 /**< bits of a mask; the kernel's maximum (CONFIG_NR_CPUS) */
#define SCHED_CPUS_LONGS (SCHED_CPUS / (8 * sizeof(long)))
#define SCHED_IOPRIO_PROCESS 1 /**< IOPRIO_WHO_PROCESS */

/** The first version of struct sched_attr, for sched_getattr(2) and sched_setattr(2). */
struct sched_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

#endif
