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

#define CONFIG_GANGS_MAX 64

/** How execs are placed. */
enum config_policy { CONFIG_ETA, CONFIG_IDLE };

/** Files that the configuration names, and whose content is checked too. */
enum { CONFIG_CERTIFICATE, CONFIG_KEY, CONFIG_AUTHORITY, CONFIG_AUTHORITY_KEY, CONFIG_FILES };

struct config {
	char *file;
	int lines[CONFIG_FILES]; /**< where the files are named */
	char *cluster, *certificate, *key, *authority, *cgroup, *stub, *state;
	char *authority_key; /**< "": this host signs no certificates */
	char *launcher; /* "": see ehlaunch.c */
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
	unsigned int dwell, time_limit, time_limit_max, lease, heartbeat;
	unsigned int job_limit; /**< a job whose ends are not connected for this long is lost */
	unsigned int link_idle; /**< an unused link closes after it, unless it is pinned */
	unsigned int guests; /**< maximum number */
	unsigned int guests_per_user, guests_per_node; /**< likewise; 0: no limit */
	unsigned int peer_streams; /**< of jobs and files, that one other host may have open */
	unsigned int peer_memory; /**< MiB that are held for one other host */
	unsigned int guest_pids, guest_memory,
		guest_cpu; /**< of each; in MiB; in per cent of a processor; 0: no limit */
	unsigned int guest_oom_score; /**< the least oom_score_adj of a guest */
	unsigned int gangs; /**< that may occupy this node at the same time */
	unsigned int gang_lease; /**< ms that a gang keeps a host it does not hear from */
	char *usage; /**< file that tells the processor time used */
	uint64_t headroom; /**< MiB of memory that must stay available */
	unsigned int memory_pressure; /**< per cent of time that tasks may wait for it; 0: any */
	char *memory; /**< directory that tells of it: /proc, or of a cgroup */
	uint64_t digest_limit; /**< MiB: larger programs are not compared */
	bool allow_root;
	bool guest_pid_namespace;
	unsigned int uid_min; /**< guests of lower users are refused */
	char **allow_users; /**< by name, although their numbers are too low */
	size_t nallow_users;
	/* rules of the site: users, groups and programs (lib/site/) */
	char **guest_allow, **guest_deny, **away_allow, **away_deny;
	size_t nguest_allow, nguest_deny, naway_allow, naway_deny;
	char **user_map;
	size_t nuser_map;
	char **away_allow_programs, **away_deny_programs;
	size_t naway_allow_programs, naway_deny_programs;
	char **guest_allow_nodes, **guest_deny_nodes, **away_allow_nodes, **away_deny_nodes;
	size_t nguest_allow_nodes, nguest_deny_nodes, naway_allow_nodes, naway_deny_nodes;
	char *admin_group; /**< "": none */
	char **owners; /**< who may say that they need this node */
	size_t nowners;
	unsigned int owner_idle; /**< seconds; 0: what owners type is not looked at */
	char **labels, **only_on, **never_on; /**< the last two: "LABEL:PATH" */
	size_t nlabels, nonly_on, nnever_on;
	bool no_new_privs; /**< tasks that have it may be transferred */
	unsigned int policy; /**< enum config_policy */
	bool learn; /**< what programs cost is remembered, and short tasks stay */
	bool lazy; /**< threshold changes are only sent along with other messages */
	bool history; /**< what ran is kept in a file beside `state` */
	bool audit; /**< each task is told to the journal */
	unsigned int view; /**< enum view, of tasks whose session does not choose one */
	char **view_own; /**< directories of the executor in a view of home */
	size_t nview_own;
	char **exclude; /**< fnmatch patterns of programs */
	size_t nexclude;
	unsigned int history_rows, history_size, history_age; /**< the last two in MiB and days */
	unsigned int history_arguments; /**< bytes of a task's arguments that are kept */
	char *history_group; /**< whose members see the tasks of all; "": none */
	struct log_levels log;
	struct config_peer *peers;
	size_t npeers;
	unsigned int code_days; /**< a host dead for longer may lose its code; 0: never */
};

#endif
