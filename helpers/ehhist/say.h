/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file say.h  Messages to stderr, which is the agent's, with the prefixes of sd-daemon(3). */
#ifndef EHHIST_SAY_H
#define EHHIST_SAY_H

enum say { SAY_ERROR = 3, SAY_WARNING = 4, SAY_INFO = 6 };

void say(enum say level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
