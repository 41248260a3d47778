/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file main.h  The executor's end of a job, for the program that becomes it. */
#ifndef EHGUEST_MAIN_H
#define EHGUEST_MAIN_H

struct launch_start;

/**
 * The executor's end of a job, from its start to its end. This process leads a session. `asked`: what home's
 * agent knows of the job's process, against what that says of itself; NULL: nothing. Returns the exit status.
 */
int guest_main(const struct launch_start *asked);

#endif
