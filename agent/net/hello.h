/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file hello.h
 * The first message of both sides of a connection: their identity (docs/protocol.md).
 */
#ifndef AGENT_NET_HELLO_H
#define AGENT_NET_HELLO_H

#include <jansson.h>

struct agent;

json_t *hello_new(struct agent *agent); /**< NULL: no memory */

#endif
