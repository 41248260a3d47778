/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file process.h
 * What /proc says of a process.
 */
#ifndef AGENT_BASE_PROCESS_H
#define AGENT_BASE_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct process {
	char state; /**< as in /proc/PID/stat: 'R', 'S', 'T' … */
	double cpu; /**< seconds of processor time that it has used, without children */
	int64_t memory; /**< resident bytes */
	uint64_t start; /**< clock_ticks() */
};

int process_look(pid_t pid, struct process *out); /**< 0, or -ESRCH: there is none */

#endif
