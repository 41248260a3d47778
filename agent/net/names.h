/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file names.h
 * Nodes as people name them: a code, a host name (its first labels will do if no other host's begin
 * so), an address, as the roster has them, with or without its port; or localhost.
 */
#ifndef AGENT_NET_NAMES_H
#define AGENT_NET_NAMES_H

#include <jansson.h>

struct agent;
struct peer;

#define NAMES_WHY 256

/** NULL: no node, or several; why[] is then a sentence with the nearest right name. */
struct peer *names_find(const struct agent *agent, const char *text, char why[NAMES_WHY]);

/**
 * Adds the host to each member that is a node's code: `host` to `node`, `NAME_host` to the others
 * (home, executor, self, controller, top, parent). Members that are there already stay.
 */
void names_add(const struct agent *agent, json_t *object);

#endif
