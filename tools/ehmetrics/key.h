/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file key.h
 * Any user of the host can connect to the loopback. What the agent tells of tasks is for the user who
 * started this process: it is told only to callers with the key, which is printed for that user.
 */
#ifndef EHMETRICS_KEY_H
#define EHMETRICS_KEY_H

#include <stdbool.h>

struct key {
	char text[33]; /**< 128 bits in hexadecimal */
};

int key_make(struct key *key); /**< 0 or -errno */
/** Whether somebody has the key; NULL: nobody. Takes as long for each that does not fit. */
bool key_fits(const struct key *key, const char *text);

#endif
