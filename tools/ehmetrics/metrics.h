/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file metrics.h  The state of the process, for everything that answers a visitor. */
#ifndef EHMETRICS_METRICS_H
#define EHMETRICS_METRICS_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "key.h"

struct events;
struct http;
struct look;
struct streams;

struct metrics {
	struct event_base *base;
	struct look *status, *tasks; /**< of all nodes */
	struct http *http;
	struct events *events; /**< NULL: other hosts may ask, who get no page */
	struct streams *streams; /**< likewise */
	struct key key;
	uid_t uid; /**< whose process this is */
	char user[64]; /**< the name; empty: it has none */
	bool own; /**< --own */
	int code; /**< of --once */
};

#endif
