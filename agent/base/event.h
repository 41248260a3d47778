/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file event.h
 * Events for `ehctl watch`: rooms report them, the control socket passes them on.
 */
#ifndef AGENT_BASE_EVENT_H
#define AGENT_BASE_EVENT_H

#include <jansson.h>

struct agent;

typedef void (*event_fn)(void *ctx, const json_t *event);
/** Sets the listener; NULL removes it. */
void event_listen(struct agent *agent, event_fn told, void *ctx);
/** The same for one that keeps them. */
void event_keep(struct agent *agent, event_fn kept, void *ctx);
/** Adds time and name, and calls both. Steals `members`; NULL (no memory): does nothing. */
void event_tell(struct agent *agent, const char *name, json_t *members);

#endif
