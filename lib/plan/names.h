/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file names.h  Ids of tasks, processors, hosts: a number 0.. for each, in the order they come. */
#ifndef PLAN_NAMES_H
#define PLAN_NAMES_H

#include <stdint.h>

struct plan_names;

struct plan_names *plan_names_new(void); /**< NULL: no memory */
void plan_names_free(struct plan_names *names);
/** Its number; -EEXIST: there already; -ENOMEM. */
int64_t plan_names_add(struct plan_names *names, const char *text);
/** Its number, or -ENOENT. */
int64_t plan_names_find(const struct plan_names *names, const char *text);
const char *plan_names_text(const struct plan_names *names, uint32_t number);
uint32_t plan_names_count(const struct plan_names *names);

#endif
