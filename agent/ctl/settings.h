/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file settings.h  `ehctl set` and `ehctl get`. */
#ifndef AGENT_CTL_SETTINGS_H
#define AGENT_CTL_SETTINGS_H

#include <jansson.h>

struct ctl_conn;

void settings_set(struct ctl_conn *c, const json_t *request);
void settings_get(struct ctl_conn *c, const json_t *request);

#endif
