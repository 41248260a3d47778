/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file kill.h  The end of a job that is lost. */
#ifndef EHGUEST_KILL_H
#define EHGUEST_KILL_H

struct guest;

/** Kills the program and all of its descendants. */
void kill_all(struct guest *g);

#endif
