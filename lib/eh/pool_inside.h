/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file pool_inside.h  Inside of struct eh_pool, for pool.c and the tests only. */
#ifndef EH_POOL_INSIDE_H
#define EH_POOL_INSIDE_H

#include "pool.h"

struct pool_child {
	bool present;
	uint32_t node;
	uint64_t heard;
	struct eh_offer offer; /**< of a node; version: of a group too */
	uint64_t next; /**< those below are taken */
};

struct eh_pool {
	unsigned int size;
	uint64_t count[EH_TIERS + 1]; /**< credits of children, each of its lowest tier */
	struct pool_child *children; /**< behind `best` */
	struct eh_best best[]; /**< of a child; apart from them, as each look goes over all */
};

#endif
