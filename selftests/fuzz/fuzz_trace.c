// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace of the simulator: refused with an exit code, or its events are within its tasks and nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/common/command.h"
#include "tools/ehsim/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct eh_topology topology = { 3, 2 };
	struct trace trace = { 0 };
	char name[64];
	int fd = memfd_create("trace", MFD_CLOEXEC);
	uint64_t arrivals = 0;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		exit(1);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (!trace_read(name, &topology, &trace)) {
		for (size_t i = 0; i < trace.count; i++) {
			const struct trace_event *e = &trace.events[i];

			if (e->task >= trace.tasks || (!e->finish && e->node >= 64))
				abort();
			arrivals += !e->finish;
		}
		if (arrivals != trace_arrivals(&trace) || trace.tasks != arrivals)
			abort();
		trace_free(&trace);
	}
	close(fd);
	return 0;
}
