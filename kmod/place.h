/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_PLACE_H
#define _EHS_PLACE_H

void ehs_place_watch(void);
void ehs_place_exit(void);

#endif /* _EHS_PLACE_H */
