// SPDX-License-Identifier: GPL-2.0-or-later
#include "executor/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "wire/job.h"

static int pipes_null(bool reading)
{
	return open("/dev/null", (reading ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

int pipes_open(uint32_t flags, int terminal, int its[3], int ours[3])
{
	for (int fd = 0; fd < 3; fd++) {
		int pair[2];

		if (!(flags & JOB_FD(fd)))
			continue;
		if (flags & JOB_NULL(fd)) {
			its[fd] = pipes_null(fd == 0);
		} else if (flags & JOB_TTY(fd)) {
			its[fd] = fcntl(terminal, F_DUPFD_CLOEXEC, 3);
		} else if (fd == 2 && flags & JOB_MERGED && its[1] >= 0) {
			its[fd] = fcntl(its[1], F_DUPFD_CLOEXEC, 3);
		} else {
			if (pipe2(pair, O_CLOEXEC))
				return -errno;
			its[fd] = pair[fd != 0];
			ours[fd] = pair[fd == 0];
			/* Only our end, because the task's must block, as at home. */
			fcntl(ours[fd], F_SETFL, O_NONBLOCK);
		}
		if (its[fd] < 0)
			return -errno;
	}
	return 0;
}
