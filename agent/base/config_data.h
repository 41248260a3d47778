/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file config_data.h
 * What a configuration consists of. Loads, thresholds, lengths and capacities are in thousandths
 * of a task, times in milliseconds.
 */
#ifndef AGENT_BASE_CONFIG_DATA_H
#define AGENT_BASE_CONFIG_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/log_level.h"
#include "cluster/address.h"
#include "eh/topology.h"

struct config_peer {
	struct eh_code code;
	char text[EH_CODE_TEXT]; /**< the code as text */
	char host[ADDRESS_HOST_MAX + 1]; /**< CN of its certificate */
	struct address address;
	int line; /**< of its block in the file */
};

/** Files that the configuration names, and whose content is checked too. */
enum { CONFIG_CERTIFICATE, CONFIG_KEY, CONFIG_AUTHORITY, CONFIG_AUTHORITY_KEY, CONFIG_FILES };

struct config {
	char *file;
	int lines[CONFIG_FILES]; /**< where the files are named */
	char *cluster, *certificate, *key, *authority, *cgroup, *stub, *state;
	char *authority_key; /**< "": this host signs no certificates */
	char *launcher; /* "": see launcher.c */
	struct eh_topology topology; /**< n is 0 if not given: see config_adopt() */
	bool has_node; /**< `node` is given; with `join` it is only a preference */
	struct eh_code node;
	char host[ADDRESS_HOST_MAX + 1]; /**< of this node; "": the CN of its certificate */
	struct address address; /**< where this node listens */
	int address_line; /**< line of that option, or of the own peer block */
	struct address *join; /**< members of the cluster to join through */
	size_t njoin;
	unsigned int load_index; /**< enum ehs_load_index */
	uint32_t threshold, threshold_floor, threshold_length, capacity;
	unsigned int dwell, time_limit, lease, heartbeat;
	unsigned int job_limit; /**< a job whose ends are not connected for so long is lost */
	unsigned int link_idle; /**< an unused link closes after it, unless it is pinned */
	unsigned int guests; /**< maximum number */
	unsigned int guest_pids, guest_memory; /**< of each; the second in MiB; 0: no limit */
	uint64_t headroom; /**< MiB of memory that must stay available */
	uint64_t digest_limit; /**< MiB: larger programs are not compared */
	bool allow_root;
	unsigned int uid_min; /**< guests of lower users are refused */
	char **allow_users; /**< by name, although their numbers are too low */
	size_t nallow_users;
	bool no_new_privs; /**< tasks that have it may be transferred */
	bool lazy; /**< threshold changes are only sent along with other messages */
	unsigned int view; /**< enum view, of tasks whose session does not choose one */
	char **view_own; /**< directories of the executor in a view of home */
	size_t nview_own;
	bool view_9p; /**< use the kernel's 9p client for files of home, not ehview */
	char **exclude; /**< fnmatch patterns of programs */
	size_t nexclude;
	struct log_levels log;
	struct config_peer *peers;
	size_t npeers;
};

#endif
