/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file incidents.h  `ehctl history --events`: what happened to nodes. */
#ifndef EHCTL_INCIDENTS_H
#define EHCTL_INCIDENTS_H

#include <jansson.h>

/**
 * Prints the events of a document of past_ask() in a table: what several nodes tell within a moment is
 * one line.
 */
void incidents_print(const json_t *document);

#endif
