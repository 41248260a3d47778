/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file loop.h  The one loop of the stub. */
#ifndef EHSTUB_LOOP_H
#define EHSTUB_LOOP_H

struct stub;

void loop_run(struct stub *s) __attribute__((noreturn));

#endif
