/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file trace.h  Arrivals and ends of tasks, read from a file. */
#ifndef EHSIM_TRACE_H
#define EHSIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eh/topology.h"

struct trace_event {
	bool finish; /**< else an arrival */
	uint32_t node; /**< where the task arrives */
	uint32_t task; /**< 0..tasks-1, in the order of the arrivals */
	uint64_t size; /**< of the task, in thousandths */
};

struct trace {
	struct trace_event *events;
	size_t count;
	char **ids; /**< the file's names of the tasks */
	uint32_t tasks;
};

/** Reads a file, or standard input for "-". 0, or an exit code after a message with file and line. */
int trace_read(const char *path, const struct eh_topology *topology, struct trace *out);
/** Number of arrivals. */
uint64_t trace_arrivals(const struct trace *trace);
void trace_free(struct trace *trace);

#endif
