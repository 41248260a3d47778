/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file start.h  The stub, for the programs that it is. */
#ifndef EHSTUB_START_H
#define EHSTUB_START_H

/** Stands in for a task from now on: see main.c for the arguments. Ends the process as the task ended; the
 *  exit status if it is returned. */
int stub_start(char **argv);

#endif
