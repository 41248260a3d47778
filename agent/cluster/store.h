/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file state.h
 * The file (setting `state`) in which an agent keeps its place in the cluster
 * and the roster, so that it finds back when nobody it was told of is up.
 */
#ifndef AGENT_CLUSTER_STORE_H
#define AGENT_CLUSTER_STORE_H

#include "base/config.h"
#include "cluster/roster.h"

/** What was kept for this cluster and host; NULL: nothing (trouble is said in the log). */
struct roster *store_read(const struct config *config, const char *host);
/** Replaces the file at once (rename). 0 or -errno. */
int store_write(const struct config *config, const char *host, const struct roster *roster);
/** The host has left. 0 or -errno. */
int store_remove(const struct config *config);

#endif
