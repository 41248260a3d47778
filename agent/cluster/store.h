/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file store.h
 * The file (option `state`) in which an agent saves the roster and so its place in the cluster, to
 * find the members again when none of the configured ones is up.
 */
#ifndef AGENT_CLUSTER_STORE_H
#define AGENT_CLUSTER_STORE_H

#include "base/config.h"
#include "cluster/roster.h"

/**
 * Reads the roster saved for this cluster and host. The caller owns it; NULL: none, with a log
 * message if the file is unusable.
 */
struct roster *store_read(const struct config *config, const char *host);
/** Replaces the file in one step (rename). 0 or -errno. */
int store_write(const struct config *config, const char *host, const struct roster *roster);
/** Removes the file, because the host has left. 0 or -errno. */
int store_remove(const struct config *config);

#endif
