/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file exit.h  The end of the task, and that of the stub. */
#ifndef EHSTUB_EXIT_H
#define EHSTUB_EXIT_H

struct stub;
struct job_message;

void exit_begin(struct stub *s, const struct job_message *m);
void exit_lose(struct stub *s);
void exit_step(struct stub *s); /**< moves on after an exit or a loss */

#endif
