/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_WATCH_H
#define _EHS_WATCH_H

int ehs_watch_init(void);
void ehs_watch_exit(void);

#endif /* _EHS_WATCH_H */
