/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view_sync.h
 * Tickets of an ehview: what home has done is seen here, what was done here is seen at home.
 */
#ifndef AGENT_EXECUTOR_VIEW_SYNC_H
#define AGENT_EXECUTOR_VIEW_SYNC_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Asks ehview to make home's current files visible or, with `ended`, to send all changes home. The
 * answer is `ticket`. 0 or -EPIPE.
 */
int view_sync_ask(int control, uint32_t ticket, bool ended);
/** A ticket that was answered; 0: none; -EPIPE: ehview has ended. */
int64_t view_sync_take(int control);

#endif
