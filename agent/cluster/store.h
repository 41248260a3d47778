/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file store.h
 * The file (option `state`) in which an agent saves the roster and so its place in the cluster, to
 * find the members again when none of the configured ones is up.
 */
#ifndef AGENT_CLUSTER_STORE_H
#define AGENT_CLUSTER_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include "base/config.h"
#include "cluster/roster.h"

struct agent;

/**
 * Reads the roster saved for this cluster and host. The caller owns it; NULL: none, with a log
 * message if the file is unusable.
 */
struct roster *store_read(const struct config *config, const char *host);
/**
 * Whether a file of the agent has a higher `format` than `known`, because a newer version has written
 * it. Then it was set aside: PATH is now PATH.format-N, and the log says so. A file without `format`
 * has format 1.
 */
bool store_set_aside(const char *path, const json_t *content, unsigned int known);
/** What the file has for this host and roster. The caller frees it; NULL: no memory. */
char *store_text(const struct config *config, const char *host, const struct roster *roster);
/** Replaces the file, soon and in one step. The log says if that fails. */
void store_write(struct agent *agent, const struct roster *roster);
/** Removes the file, because the host has left. */
void store_remove(struct agent *agent);

#endif
