/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file incidents.h  `ehctl history --events`: what happened to nodes. */
#ifndef EHCTL_INCIDENTS_H
#define EHCTL_INCIDENTS_H

#include <jansson.h>

/** As past_ask(), for as many events as `most` lines (0: all) of incidents_print() need. */
json_t *incidents_ask(json_t *ask, size_t most, int *code);
/**
 * Prints the events of a document of past_ask() in a table, the last `most` lines (0: all): what several
 * nodes tell within a moment is one line.
 */
void incidents_print(const json_t *document, size_t most);

#endif
