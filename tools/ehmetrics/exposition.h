/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file exposition.h
 * What the agent says of nodes, groups and counters as the text that Prometheus reads. Pure: no input,
 * output or clock.
 */
#ifndef EHMETRICS_EXPOSITION_H
#define EHMETRICS_EXPOSITION_H

#include <jansson.h>
#include <stdbool.h>

enum exposition_format {
	EXPOSITION_TEXT, /**< of Prometheus, 0.0.4 */
	EXPOSITION_OPENMETRICS, /**< 1.0.0 */
};

struct exposition_look {
	const json_t *status; /**< as `ehctl status --json`; NULL: the agent gave no answer */
	double seconds; /**< until it answered */
	bool own; /**< nothing of other nodes and of groups */
};

/** The text, to be freed; NULL: no memory. Each series is in it once, whatever other nodes say. */
char *exposition_write(const struct exposition_look *look, enum exposition_format format);

#endif
