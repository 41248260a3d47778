/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file config_kind.h  What each option of the configuration may be. For config.c. */
#ifndef AGENT_BASE_CONFIG_KIND_H
#define AGENT_BASE_CONFIG_KIND_H

#include <confuse.h>
#include "base/config.h"

/** Lines of options that are judged only when all are known. */
extern struct config_lines {
	int files[CONFIG_FILES], address;
} config_lines;

/** Has the parser check each option by cfg_error(). */
void config_check(cfg_t *cfg);
/** Numbers of words that were checked. */
int config_index_of(const char *name);
int config_carrier_of(const char *name);

#endif
