// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/setting.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <linux/ehsched.h>

/* clang-format off */
const struct setting settings[SETTINGS] = {
	[SETTING_THRESHOLD] = { "threshold", "tasks", 0, EHS_MAX_LOAD, 1000, { NULL } },
	[SETTING_LENGTH] = { "length", "tasks", 0, EHS_MAX_LOAD, 1000, { NULL } },
	[SETTING_LOAD_INDEX] = { "load-index", NULL, 0, EHS_INDEX_MAX, 0, { "runnable", "tasks", "cpu", NULL } },
	[SETTING_WEIGHT] = { "weight", "tasks", 1, 1000000, 1000, { NULL } },
	[SETTING_TIME_LIMIT] = { "time-limit", "ms", 1, EHS_MAX_TIME_LIMIT, 1, { NULL } },
	[SETTING_DWELL] = { "dwell", "ms", 0, 60000, 1, { NULL } },
};
/* clang-format on */

const struct setting *setting_find(const char *name)
{
	for (unsigned int i = 0; i < SETTINGS; i++)
		if (!strcmp(name, settings[i].name))
			return &settings[i];
	return NULL;
}

const char *setting_names(char out[SETTING_NAMES])
{
	int used = 0;

	for (unsigned int i = 0; i < SETTINGS && used < SETTING_NAMES; i++)
		used += snprintf(out + used, SETTING_NAMES - used, "%s%s", i ? ", " : "",
				 settings[i].name);
	return out;
}
