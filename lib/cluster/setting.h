/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file setting.h  What `ehctl set` changes of a node and `ehctl get` shows: names, units, bounds. */
#ifndef CLUSTER_SETTING_H
#define CLUSTER_SETTING_H

#include <stdint.h>

enum setting_which {
	SETTING_THRESHOLD,
	SETTING_LENGTH,
	SETTING_LOAD_INDEX,
	SETTING_WEIGHT,
	SETTING_TIME_LIMIT,
	SETTING_DWELL,
	SETTINGS
};

struct setting {
	const char *name;
	const char *unit; /**< NULL: it is a word */
	uint32_t min, max; /**< of a number; a word is the number of a choice */
	unsigned int scale; /**< what a person calls 1; 0: it is a word */
	const char *choices[4]; /**< words, ended by NULL */
};

extern const struct setting settings[SETTINGS];

/** NULL: there is none of this name. */
const struct setting *setting_find(const char *name);

#define SETTING_NAMES 80
/** All names, with commas between them. */
const char *setting_names(char out[SETTING_NAMES]);

#endif
