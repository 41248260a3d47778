/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file process.h
 * What /proc says of a process.
 */
#ifndef AGENT_BASE_PROCESS_H
#define AGENT_BASE_PROCESS_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct process {
	char state; /**< as in /proc/PID/stat: 'R', 'S', 'T' … */
	double cpu; /**< seconds of processor time that it has used, without children */
	int64_t memory; /**< resident bytes */
	uint64_t start; /**< clock_ticks() */
	int nice;
};

int process_look(pid_t pid, struct process *out); /**< 0, or -ESRCH: there is none */
/** The same of an open /proc/PID, which is of this process also when its number is used again. */
int process_look_at(int proc, struct process *out);
/** Opens a file of an open directory, as /proc/PID. NULL: errno is set. */
FILE *process_open(int directory, const char *name);

#endif
