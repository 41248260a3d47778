/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file look.h  What a picture is made of: what was seen, and how it is to be shown. */
#ifndef EHTOP_LOOK_H
#define EHTOP_LOOK_H

#include <jansson.h>

#include "order.h"

#define PICTURE_SILENCE_S 4

/** Which parts are shown. */
enum picture_part { PART_ALL, PART_NODES, PART_TASKS, PART_PAST, PART_END };

struct picture_look {
	const json_t *status, *tasks; /**< of all nodes */
	const json_t *past; /**< with PART_PAST */
	const json_t *before; /**< the last status, or NULL: execs are counted since then */
	double seconds; /**< since then */
	double silence; /**< seconds without an answer to a question; below PICTURE_SILENCE_S they are not said */
	enum picture_part part;
	enum order order;
	const char *filter; /**< NULL or "": none */
	unsigned int columns;
};

#endif
