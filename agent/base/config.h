/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file config.h
 * The agent's configuration (docs/configuration.md). Immutable once read; a
 * reload makes a new one. Loads, thresholds, lengths and capacities are
 * thousandths of a task, times milliseconds.
 */
#ifndef AGENT_BASE_CONFIG_H
#define AGENT_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/log_level.h"
#include "cluster/address.h"
#include "eh/topology.h"

struct config_peer {
	struct eh_code code;
	char text[EH_CODE_TEXT]; /**< the code as text */
	char host[ADDRESS_HOST_MAX + 1]; /**< CN of its certificate */
	struct address address;
	int line; /**< where it stands in the file */
};

/** Files that a configuration names and whose content may be wrong. */
enum { CONFIG_CERTIFICATE, CONFIG_KEY, CONFIG_AUTHORITY, CONFIG_FILES };

struct config {
	char *file;
	int lines[CONFIG_FILES]; /**< where they are named */
	char *cluster, *certificate, *key, *authority, *cgroup, *stub, *state;
	struct eh_topology topology; /**< n is 0: not given, see config_adopt() */
	bool has_node; /**< `node` is given: with `join` only a wish */
	struct eh_code node;
	char host[ADDRESS_HOST_MAX + 1]; /**< this node's; "": its certificate's CN */
	struct address address; /**< where this node listens */
	int address_line; /**< where that, or its peer block, stands */
	struct address *join; /**< members of the cluster to ask for a place in it */
	size_t njoin;
	unsigned int load_index; /**< enum ehs_load_index */
	uint32_t threshold, threshold_floor, threshold_length, capacity;
	unsigned int dwell, time_limit, lease, heartbeat;
	unsigned int link_idle; /**< a link that is not pinned closes after so long without use */
	unsigned int guests; /**< most guests at a time */
	uint64_t headroom; /**< MiB of memory that must stay available */
	bool allow_root;
	bool lazy; /**< threshold changes ride on other messages */
	unsigned int view; /**< enum view of tasks whose session does not say */
	char **view_own; /**< folders that are the executor's in home's tree */
	size_t nview_own;
	bool view_9p; /**< home's files come by the kernel's 9p client, not by ehview */
	char **exclude; /**< fnmatch patterns of programs */
	size_t nexclude;
	struct log_levels log;
	struct config_peer *peers;
	size_t npeers;
};

/** "ADDRESS", "ADDRESS:PORT" or "[ADDRESS]:PORT"; the port is CONFIG_PORT unless given. 0 or -EINVAL. */
int config_parse_join(const char *text, struct address *out);

/**
 * Reads and checks a file. Each error is one "file:line: what" line on `errors`.
 * `join`: members to ask before those of the file (--join), ends with NULL; or NULL.
 * NULL: there was at least one error, or no memory.
 */
struct config *config_read(const char *file, const char *const *join, FILE *errors);
/** With `join`: the place that the cluster gave, or that the running agent has. Says on `errors`
 *  what contradicts the file. */
bool config_adopt(struct config *config, const char *host, const struct eh_topology *topology,
		  struct eh_code node, FILE *errors);
void config_free(struct config *config);

/** Whether `to` may replace `from` in a running agent; else says why on `errors`. */
bool config_may_replace(const struct config *from, const struct config *to, FILE *errors);

/** Whether the site's rules keep this program at home. */
bool config_excludes(const struct config *config, const char *program);

#endif
