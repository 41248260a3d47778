/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_BUSY_H
#define _EHS_BUSY_H

struct ehs_seen;

void ehs_busy(struct ehs_seen *seen);

#endif /* _EHS_BUSY_H */
