/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A place for tests that are the agent of the ends that they start: a network, mounts and a /run of their
 * own, and the socket where the ends look for it.
 */
#ifndef UNIT_AGENT_SOCKET_H
#define UNIT_AGENT_SOCKET_H

/* 0: this process is alone. Root, or a user in a user namespace of its own. */
int agent_socket_alone(void);

/* The same for a whole program, before it has a plan: it skips where nobody can be alone, as in a chroot. */
void agent_socket_program(void);

/* Listens as the agent of this network namespace, in place of one that did; -1. */
int agent_socket_listen(int flags);

#endif
