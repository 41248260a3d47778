/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocations that fail by number. For the programs linked with --wrap for the allocators. */
#ifndef SELFTESTS_UNIT_OOM_H
#define SELFTESTS_UNIT_OOM_H

extern unsigned int oom_until; /* the allocation to fail, counted down; 0: none does */

#endif
