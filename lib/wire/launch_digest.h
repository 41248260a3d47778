/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file launch_digest.h
 * By what an agent knows whether ehlaunch enforces the rules of its configuration: a number that their
 * options make. It tells a change from none, and is no protection: ehlaunch is the one that is trusted.
 */
#ifndef WIRE_LAUNCH_DIGEST_H
#define WIRE_LAUNCH_DIGEST_H

#include <stdint.h>

/** Of the arguments of ehlaunch, from argv[0] to NULL; not of those that say where they come from. Never 0. */
uint64_t launch_digest(char *const *argv);

#endif
