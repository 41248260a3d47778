/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file attend.h  A process that stays behind a command: passes signals on, and ends as that does. */
#ifndef EHCTL_ATTEND_H
#define EHCTL_ATTEND_H

#include <sys/types.h>

/** From now on signals that are sent to this process go to the command. */
void attend(pid_t command);
/** Waits for its end; returns its status as of waitpid(). */
int attend_end(pid_t command);
/** Ends as it did: by the same signal, or returns its exit status. */
int attend_die(int status);

#endif
