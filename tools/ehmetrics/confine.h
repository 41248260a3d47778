/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file confine.h
 * What the process gives up once it listens: it parses what any local program sends. It keeps what
 * it needs to answer, and to ask the agent.
 */
#ifndef EHMETRICS_CONFINE_H
#define EHMETRICS_CONFINE_H

#include <stddef.h>

#define CONFINE_FILES 96 /**< descriptors, and so connections */
#define CONFINE_KEPT 16 /**< of these, for connections to the agent (ask.c) */

/** Root becomes the user nobody. 0, or -errno; *what is then what failed. */
int confine_user(const char **what);
/** Gives up programs, files, other sockets, and most system calls. As above. */
int confine(const char **what);

#endif
