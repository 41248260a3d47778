/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What netlink_gen.c, which is generated for kernels of today, needs of generic
 * netlink and 6.1 does not have: operations whose do and dump are separate, and
 * policies with const ranges. It is compiled with this file before all others.
 */
#ifndef _EHS_COMPAT_GENL_H
#define _EHS_COMPAT_GENL_H

#include <net/genetlink.h>

#ifndef EHS_HAVE_CONST_RANGE
/* Only ever read. */
#undef NLA_POLICY_FULL_RANGE
#define NLA_POLICY_FULL_RANGE(tp, _range)                             \
	{                                                             \
		.type = NLA_ENSURE_UINT_OR_BINARY_TYPE(tp),           \
		.validation_type = NLA_VALIDATE_RANGE_PTR,            \
		.range = (struct netlink_range_validation *)(_range), \
	}
#endif

#ifndef EHS_HAVE_GENL_SPLIT_OPS
/* As in 6.2: a do or a dump of an operation. */
struct genl_split_ops {
	union {
		struct {
			int (*pre_doit)(const struct genl_split_ops *ops, struct sk_buff *skb,
					struct genl_info *info);
			int (*doit)(struct sk_buff *skb, struct genl_info *info);
			void (*post_doit)(const struct genl_split_ops *ops, struct sk_buff *skb,
					  struct genl_info *info);
		};
		struct {
			int (*start)(struct netlink_callback *cb);
			int (*dumpit)(struct sk_buff *skb, struct netlink_callback *cb);
			int (*done)(struct netlink_callback *cb);
		};
	};
	const struct nla_policy *policy;
	unsigned int maxattr;
	u8 cmd;
	u8 internal_flags;
	u8 flags;
	u8 validate;
};
#endif

int ehs_genl_set_ops(struct genl_family *family, const struct genl_split_ops *ops, unsigned int n);

#endif /* _EHS_COMPAT_GENL_H */
