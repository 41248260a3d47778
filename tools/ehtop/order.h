/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file order.h  Which nodes and tasks are shown, and in which order. */
#ifndef EHTOP_ORDER_H
#define EHTOP_ORDER_H

#include <jansson.h>

enum order {
	ORDER_CODE, /**< as ehctl lists them */
	ORDER_BUSY, /**< nodes by load against threshold, tasks by processor time */
	ORDER_MEMORY,
	ORDER_LONG, /**< tasks by the time that they have run */
	ORDER_NAME, /**< nodes by host, tasks by command */
	ORDER_END
};

/** The word for it. */
const char *order_name(enum order by);
/**
 * Those of a list of which something that is shown has the filter in it ("": all), in this order. NULL: out of memory;
 * the caller owns the new list.
 */
json_t *order_list(const json_t *list, enum order by, const char *filter);

#endif
