/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file spare.h
 * Memory that an end of a job does not need at the moment. There is an end for each task that is away,
 * so what data have filled is given back, but only after a while of quiet: to get it again costs more
 * than to copy what is put into it.
 */
#ifndef HELPERS_END_SPARE_H
#define HELPERS_END_SPARE_H

#include <stddef.h>
#include <stdint.h>

#include "job/link.h"

#define SPARE_MS 500 /**< of quiet */

/** Gives back whole pages of these bytes. They are zero then, or as they were. */
void spare_bytes(uint8_t *bytes, size_t n);
/** Gives back the pages of a link's memory that hold no kept frame. */
void spare_link(const struct job_link *l);

#endif
