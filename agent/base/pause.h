/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file pause.h
 * Lets a listener rest that cannot accept, because descriptors or memory are short: connections that
 * wait would wake the loop again and again. This is logged once, until a connection is accepted again.
 * Also lets one rest that could accept, and is flooded.
 */
#ifndef AGENT_BASE_PAUSE_H
#define AGENT_BASE_PAUSE_H

#include <event2/event.h>
#include <stdbool.h>

struct pause {
	struct event *end;
	void (*go_on)(void *ctx);
	void *ctx;
	bool told;
};

/** `go_on` is called when the listener is to listen again. 0 or -ENOMEM. */
int pause_init(struct pause *pause, struct event_base *base, void (*go_on)(void *ctx), void *ctx);
/**
 * accept() has failed with `err`; `what` is the listener's name, for the log. true: the listener is
 * not to listen before go_on(). false: the next one may be accepted at once.
 */
bool pause_begin(struct pause *pause, int err, const char *what);
/** So many milliseconds, or as long as a pause that has begun. true: the listener is not
 *  to listen before go_on(). */
bool pause_rest(struct pause *pause, unsigned int ms);
/** A connection was accepted. */
void pause_over(struct pause *pause);
/** Zeroed: does nothing. */
void pause_exit(struct pause *pause);

#endif
