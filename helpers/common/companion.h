/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file companion.h  Finds the other programs of ehsched. */
#ifndef COMMON_COMPANION_H
#define COMMON_COMPANION_H

#include <stddef.h>

/** Path of a program that is installed beside this one, or in ../libexec/ehsched. NULL: not
 *  found. */
char *companion(const char *name, char *buf, size_t size);

#endif
