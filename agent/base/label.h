/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file label.h  Labels of nodes: of the configuration, and as lists of JSON. */
#ifndef AGENT_BASE_LABEL_H
#define AGENT_BASE_LABEL_H

#include <jansson.h>
#include <stdbool.h>

#include "site/label.h"

struct config;

/** What a task needs of its executor. */
struct label_wish {
	struct site_labels only, never;
};

/** This node's. */
void label_own(const struct config *config, struct site_labels *out);
/** What a program needs, of which this node is home. Paths as of site_labels_of(). False: too many. */
bool label_wish(const struct config *config, const char *given, const char *real,
		struct label_wish *out);
static inline bool label_is_wished(const struct label_wish *wish)
{
	return wish->only.n || wish->never.n;
}
/** A list; the caller owns it. */
json_t *label_to_json(const struct site_labels *labels);
/** NULL is an empty list. False: it is not a list of labels, or too long. */
bool label_from_json(const json_t *json, struct site_labels *out);

#endif
