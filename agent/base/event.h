/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file event.h
 * What happens, for `ehctl watch`: each room tells its own, the control socket passes it on.
 */
#ifndef AGENT_BASE_EVENT_H
#define AGENT_BASE_EVENT_H

#include <jansson.h>

struct agent;

typedef void (*event_fn)(void *ctx, const json_t *event);
/** The one listener; NULL: none any more. */
void event_listen(struct agent *agent, event_fn told, void *ctx);
/** Adds the time and the name, and tells the listener. Steals `members`; NULL (no memory): nobody is told. */
void event_tell(struct agent *agent, const char *name, json_t *members);

#endif
