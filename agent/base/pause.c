// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/pause.h"

#include <errno.h>
#include <string.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"

#define PAUSE_MS 100

static void pause_on_end(evutil_socket_t fd, short what, void *arg)
{
	struct pause *pause = arg;

	pause->go_on(pause->ctx);
}

int pause_init(struct pause *pause, struct event_base *base, void (*go_on)(void *ctx), void *ctx)
{
	pause->end = evtimer_new(base, pause_on_end, pause);
	pause->go_on = go_on;
	pause->ctx = ctx;
	return pause->end ? 0 : -ENOMEM;
}

bool pause_begin(struct pause *pause, int err, const char *what)
{
	/* accept(2): also what the network did to a connection that waited is told by accept() */
	if (err != EMFILE && err != ENFILE && err != ENOBUFS && err != ENOMEM)
		return false;
	if (!pause->told)
		log_error(
			"%s: cannot accept a connection: %s; those that come wait until others end",
			what, strerror(err));
	pause->told = true;
	return !clock_arm(pause->end, PAUSE_MS);
}

bool pause_rest(struct pause *pause, unsigned int ms)
{
	return evtimer_pending(pause->end, NULL) || !clock_arm(pause->end, ms);
}

void pause_over(struct pause *pause)
{
	pause->told = false;
}

void pause_exit(struct pause *pause)
{
	agent_free_event(&pause->end);
}
