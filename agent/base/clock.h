/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file clock.h
 * Time and the boot's identity.
 */
#ifndef AGENT_BASE_CLOCK_H
#define AGENT_BASE_CLOCK_H

#include <stdint.h>

struct event;

uint64_t clock_ms(void); /**< monotonic, milliseconds */
uint64_t clock_us(void); /**< monotonic, microseconds */
uint64_t clock_ticks(void); /**< since boot, as /proc/PID/stat says when a process was started */
int64_t clock_wall_ms(void); /**< since 1970 */
/** Adds `event` with a time limit, as event_add(): 0, or -1 without memory. */
int clock_arm(struct event *event, uint64_t ms);
/** ISO 8601 in UTC with milliseconds, into out[32]; returns out. */
char *clock_text(int64_t wall_ms, char out[32]);
double clock_elapsed(int64_t wall_ms); /**< seconds since then, 0 at least */
const char *clock_boot_id(void); /**< of this kernel's boot; "" if unknown */

#endif
