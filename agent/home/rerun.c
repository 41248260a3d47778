// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * If the user allows it (--retry), the stub runs a task again whose executor was lost. The second
 * run must begin like the first: nothing may be missing from standard input, and standard output
 * must still be open. Output of the first run remains.
 */

#include "home/rerun.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "home/handoff_inside.h"
#include "home/stub.h"
#include "job/relay.h"
#include "node/stayed.h"
#include "wire/frame.h"
#include "wire/job.h"

/*
 * A descriptor for standard input, if the stub needs one: it still has its terminals, and has
 * closed everything else.
 */
static int rerun_input(struct handoff *h, int *fd)
{
	int err;

	if (!(h->flags & JOB_FD(0)) || h->flags & JOB_TTY(0))
		return 0;
	if (h->flags & JOB_NULL(0)) {
		*fd = h->fds[0];
		return 0;
	}
	err = relay_source_rewind(&h->in, 0);
	if (!err) {
		relay_restore(h->in.fd, h->in.kind);
		*fd = h->in.fd;
	}
	return err;
}

static const char *rerun_prepare(struct handoff *h, int fds[2])
{
	int err;

	/* Lost before it was known to have started: nothing was closed or read. */
	if (!h->started)
		return NULL;
	if (h->flags & JOB_FD(1) && !(h->flags & JOB_TTY(1))) {
		if (h->out[0].fd < 0)
			return "its standard output was closed";
		fds[1] = h->out[0].fd;
	}
	err = rerun_input(h, &fds[0]);
	if (err)
		return err == -EPIPE ? "its standard input was closed"
				     : "its standard input cannot be rewound";
	if (fds[1] >= 0)
		relay_restore(fds[1], h->out[0].kind);
	return NULL;
}

const char *rerun_start(struct handoff *h, const char *lost)
{
	uint8_t payload[4 + HANDOFF_TEXT];
	int fds[2] = { -1, -1 }, given[2], n = 0;
	uint32_t mask = 0;
	const char *why;

	if (!h->retry)
		return "";
	why = rerun_prepare(h, fds);
	if (why)
		return why;
	for (int i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		mask |= 1u << i;
		given[n++] = fds[i];
	}
	if (h->automatic)
		stayed_add(h->agent, h->pid);
	frame_put_u32(payload, mask);
	snprintf((char *)payload + 4, HANDOFF_TEXT, "%s; it is run again here\n", lost);
	if (stub_give(h, FRAME_RERUN, payload, 4 + strlen((char *)payload + 4), given, n))
		return "its stub cannot be reached";
	return NULL;
}
