/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file config.h
 * The agent's configuration (docs/configuration.md). Immutable once read; a
 * reload makes a new one. Loads, thresholds, lengths and capacities are
 * thousandths of a task, times milliseconds.
 */
#ifndef AGENT_CONFIG_H
#define AGENT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "address.h"
#include "eh/topology.h"

struct config_peer {
	struct eh_code code;
	char text[EH_CODE_TEXT]; /**< the code as text */
	char *host; /**< CN of its certificate */
	struct address address;
	int line; /**< where it stands in the file */
};

/** Files that a configuration names and whose content may be wrong. */
enum { CONFIG_CERTIFICATE, CONFIG_KEY, CONFIG_AUTHORITY, CONFIG_FILES };

struct config {
	char *file;
	int lines[CONFIG_FILES]; /**< where they are named */
	char *cluster, *certificate, *key, *authority, *cgroup, *stub;
	struct eh_topology topology;
	struct eh_code node;
	unsigned int load_index; /**< enum ehs_load_index */
	uint32_t threshold, threshold_floor, threshold_length, capacity;
	unsigned int dwell, time_limit, lease, heartbeat;
	unsigned int link_idle; /**< a link that is not pinned closes after so long without use */
	unsigned int guests; /**< most guests at a time */
	uint64_t headroom; /**< MiB of memory that must stay available */
	bool allow_root;
	bool lazy; /**< threshold changes ride on other messages */
	char **exclude; /**< fnmatch patterns of programs */
	size_t nexclude;
	int log; /**< enum log_level */
	struct config_peer *peers;
	size_t npeers, self; /**< self: index of this node's block */
};

/**
 * Reads and checks a file. Each error is one "file:line: what" line on `errors`.
 * NULL: there was at least one, or no memory.
 */
struct config *config_read(const char *file, FILE *errors);
void config_free(struct config *config);

/** Whether `to` may replace `from` in a running agent; else says why on `errors`. */
bool config_may_replace(const struct config *from, const struct config *to, FILE *errors);

/** Whether the site's rules keep this program at home. */
bool config_excludes(const struct config *config, const char *program);

#endif
