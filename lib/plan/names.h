/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file names.h  Ids of tasks, processors or hosts, numbered from 0 in order of arrival. */
#ifndef PLAN_NAMES_H
#define PLAN_NAMES_H

#include <stdint.h>

struct plan_names;

struct plan_names *plan_names_new(void); /**< NULL: no memory */
void plan_names_free(struct plan_names *names);
/** Adds a name. Its number, -EEXIST (it is there already) or -ENOMEM. */
int64_t plan_names_add(struct plan_names *names, const char *text);
/** The number of a name, or -ENOENT. */
int64_t plan_names_find(const struct plan_names *names, const char *text);
const char *plan_names_text(const struct plan_names *names, uint32_t number);
uint32_t plan_names_count(const struct plan_names *names);

#endif
