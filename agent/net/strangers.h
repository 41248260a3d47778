/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file strangers.h
 * Connections of which it is not known that a member made them: how many there may be, and for how
 * long. There is always room for one more, so strangers cannot keep members out.
 */
#ifndef AGENT_NET_STRANGERS_H
#define AGENT_NET_STRANGERS_H

#include <event2/event.h>
#include <sys/queue.h>

struct address;

#define STRANGERS_MAX 64

struct strangers;

/** Part of a connection. Zeroed: it is none. */
struct stranger {
	LIST_ENTRY(stranger) entry; /* le_prev NULL: it is none */
	struct strangers *in;
	const struct address *from;
	struct event *deadline;
	void (*drop)(void *ctx, const char *why); /**< closes it; it has been removed */
	void *ctx;
};

struct strangers {
	LIST_HEAD(, stranger) all; /**< the latest first */
	unsigned int count;
};

/**
 * Adds a connection, which is dropped after `ms`. If there is no room, the source with the most
 * loses its oldest first (address_source()).
 * from, drop and ctx are set. 0 or -ENOMEM.
 */
int strangers_add(struct strangers *strangers, struct stranger *stranger, struct event_base *base,
		  unsigned int ms);
/** It has turned out to be a member's, or is closed. Does nothing if it is none. */
void strangers_remove(struct stranger *stranger);

#endif
