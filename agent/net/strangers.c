// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/strangers.h"

#include <errno.h>

#include "base/clock.h"
#include "cluster/address.h"

/* The oldest of the source that has the most; of several such, of the one that came first. */
static struct stranger *strangers_victim(const struct strangers *strangers)
{
	struct stranger *s, *t, *victim = NULL;
	unsigned int most = 0, same;

	LIST_FOREACH(s, &strangers->all, entry) {
		same = 0;
		LIST_FOREACH(t, &strangers->all, entry)
			same += address_source(s->from) == address_source(t->from);
		if (same < most)
			continue;
		most = same;
		victim = s;
	}
	return victim;
}

void strangers_remove(struct stranger *stranger)
{
	if (!stranger->entry.le_prev)
		return;
	event_free(stranger->deadline);
	stranger->deadline = NULL;
	LIST_REMOVE(stranger, entry);
	stranger->entry.le_prev = NULL;
	stranger->in->count--;
}

static void strangers_drop(struct stranger *s, const char *why)
{
	strangers_remove(s);
	s->drop(s->ctx, why);
}

static void strangers_on_deadline(evutil_socket_t fd, short what, void *arg)
{
	strangers_drop(arg, "handshake or admission timed out");
}

int strangers_add(struct strangers *strangers, struct stranger *stranger, struct event_base *base,
		  unsigned int ms)
{
	stranger->deadline = evtimer_new(base, strangers_on_deadline, stranger);
	if (!stranger->deadline)
		return -ENOMEM;
	if (strangers->count >= STRANGERS_MAX)
		strangers_drop(strangers_victim(strangers),
			       "others came, and its host has the most");
	clock_arm(stranger->deadline, ms);
	stranger->in = strangers;
	LIST_INSERT_HEAD(&strangers->all, stranger, entry);
	strangers->count++;
	return 0;
}
