/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file connection.h  The connection to home's end and to the agent. */
#ifndef EHGUEST_CONNECTION_H
#define EHGUEST_CONNECTION_H

struct guest;

/** Begins, without a connection. */
void connection_init(struct guest *g);
/** How long the job may be without one. */
void connection_set_limit(struct guest *g);
/** Connects to a new agent when it is time to. */
void connection_again(struct guest *g);

#endif
