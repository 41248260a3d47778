/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file lost.h  A task whose executor is lost, or had too little memory. */
#ifndef EHSTUB_LOST_H
#define EHSTUB_LOST_H

struct stub;

void lost_report(struct stub *s) __attribute__((noreturn));

#endif
