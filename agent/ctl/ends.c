// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/ends.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "executor/guest.h"
#include "executor/view.h"
#include "home/away.h"
#include "home/departure.h"
#include "home/serve.h"
#include "wire/attach.h"

static struct log_limit ends_log;

/* Views are kept by what made them: ehlaunch, or that of an ordinary user's own agent. */
static void ends_take_kept(struct agent *agent, const struct departure *came)
{
	struct kept k;

	if ((came->who.uid && came->who.uid != geteuid()) ||
	    kept_decode(&k, came->job, came->length)) {
		if (log_allowed(&ends_log))
			log_warning("process %d (uid %u): rejected, only ehlaunch may keep a view",
				    (int)came->who.pid, (unsigned int)came->who.uid);
		close(came->socket);
	} else if (k.executor) {
		view_adopt(agent, came->socket, &k);
	} else {
		serve_adopt(agent, came->socket, &k);
	}
}

void ends_take(struct agent *agent, enum frame_type type, const struct departure *came)
{
	if (type == FRAME_JOB) {
		departure_start(agent, came);
		return;
	}
	if (type == FRAME_KEPT)
		ends_take_kept(agent, came);
	else if (attach_is_executor(came->job, came->length))
		guest_attach(agent, came->socket, came->job, came->length, came->who.pid,
			     came->who.uid);
	else
		away_attach(agent, came->socket, came->job, came->length, came->who.pid,
			    came->who.uid);
	free(came->job);
	free(came->named);
}
