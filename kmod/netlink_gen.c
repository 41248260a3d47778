// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	uapi/ehsched.yaml */
/* YNL-GEN kernel source */
/* YNL-ARG --function-prefix ehs_nl */
/* To regenerate run: tools/net/ynl/ynl-regen.sh */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/linux/ehsched.h>

/* Integer value ranges */
static const struct netlink_range_validation ehs_a_node_threshold_range = {
	.max	= 1000000000ULL,
};

static const struct netlink_range_validation ehs_a_node_threshold_length_range = {
	.max	= 1000000000ULL,
};

static const struct netlink_range_validation ehs_a_node_weight_range = {
	.min	= 1ULL,
	.max	= 1000000ULL,
};

static const struct netlink_range_validation ehs_a_node_dwell_range = {
	.max	= 60000ULL,
};

static const struct netlink_range_validation ehs_a_node_managed_cgroup_fd_range = {
	.max	= S32_MAX,
};

static const struct netlink_range_validation ehs_a_node_guest_cgroup_fd_range = {
	.max	= S32_MAX,
};

static const struct netlink_range_validation ehs_a_node_always_cgroup_fd_range = {
	.max	= S32_MAX,
};

static const struct netlink_range_validation ehs_a_node_processors_range = {
	.max	= 1000000ULL,
};

static const struct netlink_range_validation ehs_a_agent_stub_fd_range = {
	.max	= S32_MAX,
};

static const struct netlink_range_validation ehs_a_agent_program_fd_range = {
	.max	= S32_MAX,
};

static const struct netlink_range_validation ehs_a_task_pid_range = {
	.max	= S32_MAX,
};

static const struct netlink_range_validation ehs_a_task_user_time_range = {
	.max	= 4611686018427387904ULL,
};

static const struct netlink_range_validation ehs_a_task_system_time_range = {
	.max	= 4611686018427387904ULL,
};

static const struct netlink_range_validation ehs_a_task_max_rss_range = {
	.max	= 1125899906842624ULL,
};

static const struct netlink_range_validation ehs_a_task_min_faults_range = {
	.max	= 4611686018427387904ULL,
};

static const struct netlink_range_validation ehs_a_task_maj_faults_range = {
	.max	= 4611686018427387904ULL,
};

static const struct netlink_range_validation ehs_a_task_voluntary_switches_range = {
	.max	= 4611686018427387904ULL,
};

static const struct netlink_range_validation ehs_a_task_involuntary_switches_range = {
	.max	= 4611686018427387904ULL,
};

/* EHS_CMD_NODE_SET - do */
static const struct nla_policy ehsched_node_set_nl_policy[EHS_A_NODE_PROCESSORS + 1] = {
	[EHS_A_NODE_THRESHOLD] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_node_threshold_range),
	[EHS_A_NODE_THRESHOLD_LENGTH] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_node_threshold_length_range),
	[EHS_A_NODE_LOAD_INDEX] = NLA_POLICY_MAX(NLA_U32, 2),
	[EHS_A_NODE_WEIGHT] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_node_weight_range),
	[EHS_A_NODE_TIME_LIMIT] = NLA_POLICY_RANGE(NLA_U32, 1, 10000),
	[EHS_A_NODE_DWELL] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_node_dwell_range),
	[EHS_A_NODE_MANAGED_CGROUP_FD] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_node_managed_cgroup_fd_range),
	[EHS_A_NODE_GUEST_CGROUP_FD] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_node_guest_cgroup_fd_range),
	[EHS_A_NODE_CLEAR_CGROUPS] = { .type = NLA_FLAG, },
	[EHS_A_NODE_NO_NEW_PRIVS] = NLA_POLICY_MAX(NLA_U32, 1),
	[EHS_A_NODE_ALWAYS_CGROUP_FD] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_node_always_cgroup_fd_range),
	[EHS_A_NODE_MAX_TIME_LIMIT] = NLA_POLICY_RANGE(NLA_U32, 1, 10000),
	[EHS_A_NODE_MAX_REQUESTS] = NLA_POLICY_RANGE(NLA_U32, 1, 1024),
	[EHS_A_NODE_PROCESSORS] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_node_processors_range),
};

/* EHS_CMD_AGENT_REGISTER - do */
static const struct nla_policy ehsched_agent_register_nl_policy[EHS_A_AGENT_STUB_FD + 1] = {
	[EHS_A_AGENT_STUB_FD] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_agent_stub_fd_range),
};

/* EHS_CMD_PLACE_VERDICT - do */
static const struct nla_policy ehsched_place_verdict_nl_policy[EHS_A_PLACE_TOKEN + 1] = {
	[EHS_A_PLACE_COOKIE] = { .type = NLA_U64, },
	[EHS_A_PLACE_VERDICT] = NLA_POLICY_MAX(NLA_U32, 1),
	[EHS_A_PLACE_REASON] = NLA_POLICY_MAX(NLA_U32, 48),
	[EHS_A_PLACE_TOKEN] = { .type = NLA_NUL_STRING, .len = 63, },
};

/* EHS_CMD_TASK_BYPASS - do */
static const struct nla_policy ehsched_task_bypass_nl_policy[EHS_A_TASK_PID + 1] = {
	[EHS_A_TASK_PID] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_task_pid_range),
};

/* EHS_CMD_TASK_ACCOUNT - do */
static const struct nla_policy ehsched_task_account_nl_policy[EHS_A_TASK_INVOLUNTARY_SWITCHES + 1] = {
	[EHS_A_TASK_PID] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_task_pid_range),
	[EHS_A_TASK_USER_TIME] = NLA_POLICY_FULL_RANGE(NLA_U64, &ehs_a_task_user_time_range),
	[EHS_A_TASK_SYSTEM_TIME] = NLA_POLICY_FULL_RANGE(NLA_U64, &ehs_a_task_system_time_range),
	[EHS_A_TASK_MAX_RSS] = NLA_POLICY_FULL_RANGE(NLA_U64, &ehs_a_task_max_rss_range),
	[EHS_A_TASK_MIN_FAULTS] = NLA_POLICY_FULL_RANGE(NLA_U64, &ehs_a_task_min_faults_range),
	[EHS_A_TASK_MAJ_FAULTS] = NLA_POLICY_FULL_RANGE(NLA_U64, &ehs_a_task_maj_faults_range),
	[EHS_A_TASK_VOLUNTARY_SWITCHES] = NLA_POLICY_FULL_RANGE(NLA_U64, &ehs_a_task_voluntary_switches_range),
	[EHS_A_TASK_INVOLUNTARY_SWITCHES] = NLA_POLICY_FULL_RANGE(NLA_U64, &ehs_a_task_involuntary_switches_range),
};

/* EHS_CMD_TASK_AWAY - do */
static const struct nla_policy ehsched_task_away_nl_policy[EHS_A_TASK_PID + 1] = {
	[EHS_A_TASK_PID] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_task_pid_range),
};

/* EHS_CMD_TASK_ELIGIBLE - do */
static const struct nla_policy ehsched_task_eligible_nl_policy[EHS_A_TASK_PID + 1] = {
	[EHS_A_TASK_PID] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_task_pid_range),
};

/* EHS_CMD_PROGRAMS_SET - do */
static const struct nla_policy ehsched_programs_set_nl_policy[EHS_A_AGENT_PROGRAM_FD + 1] = {
	[EHS_A_AGENT_PROGRAM_FD] = NLA_POLICY_FULL_RANGE(NLA_U32, &ehs_a_agent_program_fd_range),
};

/* Ops table for ehsched */
const struct genl_split_ops ehsched_nl_ops[11] = {
	{
		.cmd		= EHS_CMD_NODE_GET,
		.pre_doit	= ehs_nl_pre_doit,
		.doit		= ehs_nl_node_get_doit,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= EHS_CMD_NODE_GET,
		.start	= ehs_nl_node_get_start,
		.dumpit	= ehs_nl_node_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= EHS_CMD_NODE_SET,
		.pre_doit	= ehs_nl_pre_owner,
		.doit		= ehs_nl_node_set_doit,
		.policy		= ehsched_node_set_nl_policy,
		.maxattr	= EHS_A_NODE_PROCESSORS,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= EHS_CMD_AGENT_REGISTER,
		.pre_doit	= ehs_nl_pre_doit,
		.doit		= ehs_nl_agent_register_doit,
		.policy		= ehsched_agent_register_nl_policy,
		.maxattr	= EHS_A_AGENT_STUB_FD,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= EHS_CMD_PLACE_VERDICT,
		.pre_doit	= ehs_nl_pre_agent,
		.doit		= ehs_nl_place_verdict_doit,
		.policy		= ehsched_place_verdict_nl_policy,
		.maxattr	= EHS_A_PLACE_TOKEN,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= EHS_CMD_TASK_GET,
		.start	= ehs_nl_task_get_start,
		.dumpit	= ehs_nl_task_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= EHS_CMD_TASK_BYPASS,
		.pre_doit	= ehs_nl_pre_owner,
		.doit		= ehs_nl_task_bypass_doit,
		.policy		= ehsched_task_bypass_nl_policy,
		.maxattr	= EHS_A_TASK_PID,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= EHS_CMD_TASK_ACCOUNT,
		.pre_doit	= ehs_nl_pre_owner,
		.doit		= ehs_nl_task_account_doit,
		.policy		= ehsched_task_account_nl_policy,
		.maxattr	= EHS_A_TASK_INVOLUNTARY_SWITCHES,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= EHS_CMD_TASK_AWAY,
		.pre_doit	= ehs_nl_pre_agent,
		.doit		= ehs_nl_task_away_doit,
		.policy		= ehsched_task_away_nl_policy,
		.maxattr	= EHS_A_TASK_PID,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= EHS_CMD_TASK_ELIGIBLE,
		.pre_doit	= ehs_nl_pre_agent,
		.doit		= ehs_nl_task_eligible_doit,
		.policy		= ehsched_task_eligible_nl_policy,
		.maxattr	= EHS_A_TASK_PID,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= EHS_CMD_PROGRAMS_SET,
		.pre_doit	= ehs_nl_pre_agent,
		.doit		= ehs_nl_programs_set_doit,
		.policy		= ehsched_programs_set_nl_policy,
		.maxattr	= EHS_A_AGENT_PROGRAM_FD,
		.flags		= GENL_CMD_CAP_DO,
	},
};

static const struct genl_multicast_group ehsched_nl_mcgrps[] = {
	[EHSCHED_NLGRP_NODE] = { "node", },
};
