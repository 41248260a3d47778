/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHS_NUMBER_H
#define EHS_NUMBER_H

#include <stdint.h>

#define NUMBER_SIZE 21 /**< bytes of the longest number with its NUL */

/**
 * Writes a number in decimal, and a NUL. Not printf(): the stub would be twice as large.
 *
 * Returns where the NUL is.
 */
char *number_text(uint64_t n, char *to);

#endif
