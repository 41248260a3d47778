/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	uapi/ehsched.yaml */
/* YNL-GEN kernel header */
/* YNL-ARG --function-prefix ehs_nl */
/* To regenerate run: tools/net/ynl/ynl-regen.sh */

#ifndef _LINUX_EHSCHED_GEN_H
#define _LINUX_EHSCHED_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/ehsched.h>

/* Ops table for ehsched */
extern const struct genl_split_ops ehsched_nl_ops[11];

int ehs_nl_pre_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
		    struct genl_info *info);
int ehs_nl_pre_owner(const struct genl_split_ops *ops, struct sk_buff *skb,
		     struct genl_info *info);
int ehs_nl_pre_agent(const struct genl_split_ops *ops, struct sk_buff *skb,
		     struct genl_info *info);
int ehs_nl_node_get_start(struct netlink_callback *cb);
int ehs_nl_task_get_start(struct netlink_callback *cb);

int ehs_nl_node_get_doit(struct sk_buff *skb, struct genl_info *info);
int ehs_nl_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int ehs_nl_node_set_doit(struct sk_buff *skb, struct genl_info *info);
int ehs_nl_agent_register_doit(struct sk_buff *skb, struct genl_info *info);
int ehs_nl_place_verdict_doit(struct sk_buff *skb, struct genl_info *info);
int ehs_nl_task_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int ehs_nl_task_bypass_doit(struct sk_buff *skb, struct genl_info *info);
int ehs_nl_task_account_doit(struct sk_buff *skb, struct genl_info *info);
int ehs_nl_task_away_doit(struct sk_buff *skb, struct genl_info *info);
int ehs_nl_task_eligible_doit(struct sk_buff *skb, struct genl_info *info);
int ehs_nl_programs_set_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	EHSCHED_NLGRP_NODE,
};

#endif /* _LINUX_EHSCHED_GEN_H */
