/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file wish.h
 * Names of sessions (`ehctl run -n WISH`): "WISH.PID.NUMBER", or "sPID.NUMBER" without a wish. They are
 * names of cgroups, so what does not suit a file name is "-". Pure.
 */
#ifndef WIRE_WISH_H
#define WIRE_WISH_H

#include <stddef.h>

#define SESSION_WISH 40 /**< bytes of it; the rest is left out */
#define SESSION_NAME 64

/** Writes the name. */
void wish_name(char name[SESSION_NAME], const char *wish, int pid, unsigned int number);

/** Writes the wish as it is in names; returns its length. */
size_t wish_clean(char out[SESSION_NAME], const char *wish);

/** Writes the wish, as cleaned, that is in a name; "sPID" if there was none. Returns `out`. */
const char *wish_of(char out[SESSION_NAME], const char *name);

#endif
