/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file calls.h
 * System calls that both ends of a job make themselves. Signal sets are plain 64-bit words: musl keeps
 * signals 32-34 for itself, but a task may use 34 (glibc's SIGRTMIN).
 */
#ifndef HELPERS_END_CALLS_H
#define HELPERS_END_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#define CALLS_SIGNALS 64

/** Milliseconds of a clock that stands still while the host sleeps. */
int64_t calls_now(void);
/** The same clock in microseconds. */
uint64_t calls_us(void);
/** Sets the blocked signals and returns the former ones. */
uint64_t calls_mask(uint64_t set);
/** A non-blocking descriptor of these signals, or -1. */
int calls_signalfd(uint64_t set);
/** Whether this signal is ignored. */
bool calls_ignores(int sig);
/** Takes it if it is pending. Whether it was. */
bool calls_take(int sig);
/** Ignores it, or gives it its default action. */
void calls_set_action(int sig, bool ignore);

#endif
