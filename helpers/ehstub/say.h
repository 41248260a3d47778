/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file say.h  What the user is told. */
#ifndef EHSTUB_SAY_H
#define EHSTUB_SAY_H

/** A line of clean text to descriptor 2, for at most a second. */
void say_line(const char *const *parts, int n);

#endif
