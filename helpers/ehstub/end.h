/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file end.h  Home's end of the job: what the other end and the agent say. */
#ifndef EHSTUB_END_H
#define EHSTUB_END_H

struct stub;

void end_open(struct stub *s); /**< begins, without a connection */

#endif
