// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operations of a family, for all kernels: as they are since 6.2, with what
 * some of those kernels forget, and before 6.2 those that there are. For one
 * family.
 */

#include "genl.h"

#define EHS_GENL_MAX 32

#ifdef EHS_HAVE_GENL_SPLIT_OPS

/* Written once, before the family is registered. */
static struct genl_split_ops ehs_genl_ops[EHS_GENL_MAX] __ro_after_init;

/*
 * An operation without a policy refuses all attributes. 6.12 does so for whole
 * operations only; split ones have to say it.
 */
static const struct nla_policy ehs_genl_reject_all[] = {
	[1] = { .type = NLA_REJECT },
};

/**
 * ehs_genl_set_ops - give a family its operations, before it is registered
 * @family: family
 * @ops: table, as the kernel's generator writes it
 * @n: its length
 *
 * Return: 0, -EINVAL if there are too many.
 */
int ehs_genl_set_ops(struct genl_family *family, const struct genl_split_ops *ops, unsigned int n)
{
	unsigned int i;

	if (n > EHS_GENL_MAX)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		ehs_genl_ops[i] = ops[i];
		if (ops[i].policy)
			continue;
		ehs_genl_ops[i].policy = ehs_genl_reject_all;
		ehs_genl_ops[i].maxattr = ARRAY_SIZE(ehs_genl_reject_all) - 1;
	}
	family->split_ops = ehs_genl_ops;
	family->n_split_ops = n;
	return 0;
}

#else

/* Written once, before the family is registered. */
static struct genl_ops ehs_genl_ops[EHS_GENL_MAX] __ro_after_init;
static const struct genl_split_ops *ehs_genl_split __ro_after_init;

/* The number of the do is in the internal flags of its operation. */
static int ehs_genl_pre_doit(const struct genl_ops *op, struct sk_buff *skb, struct genl_info *info)
{
	const struct genl_split_ops *split = &ehs_genl_split[op->internal_flags];

	return split->pre_doit ? split->pre_doit(split, skb, info) : 0;
}

static void ehs_genl_post_doit(const struct genl_ops *op, struct sk_buff *skb,
			       struct genl_info *info)
{
	const struct genl_split_ops *split = &ehs_genl_split[op->internal_flags];

	if (split->post_doit)
		split->post_doit(split, skb, info);
}

static void ehs_genl_add(struct genl_ops *op, const struct genl_split_ops *split,
			 unsigned int number)
{
	op->cmd = split->cmd;
	op->policy = split->policy;
	op->maxattr = split->maxattr;
	op->validate |= split->validate;
	/* GENL_CMD_CAP_* are of the functions there are */
	op->flags |= split->flags & ~(GENL_CMD_CAP_DO | GENL_CMD_CAP_DUMP);
	if (split->flags & GENL_CMD_CAP_DO) {
		op->doit = split->doit;
		op->internal_flags = number;
	} else {
		op->start = split->start;
		op->dumpit = split->dumpit;
		op->done = split->done;
	}
}

/* The dump of an operation follows its do, and has the same policy and rights here. */
static bool ehs_genl_fits(const struct genl_ops *op, const struct genl_split_ops *split)
{
	const u8 cap = GENL_CMD_CAP_DO | GENL_CMD_CAP_DUMP;

	return op->doit && !op->dumpit && (split->flags & cap) == GENL_CMD_CAP_DUMP &&
	       op->policy == split->policy && op->flags == (split->flags & ~cap);
}

/**
 * ehs_genl_set_ops - give a family its operations, before it is registered
 * @family: family
 * @ops: table, as the kernel's generator writes it
 * @n: its length
 *
 * Return: 0, -EINVAL if these operations cannot be said without split ones.
 */
int ehs_genl_set_ops(struct genl_family *family, const struct genl_split_ops *ops, unsigned int n)
{
	unsigned int i, made = 0;

	if (n > EHS_GENL_MAX)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (made && ehs_genl_ops[made - 1].cmd == ops[i].cmd) {
			if (!ehs_genl_fits(&ehs_genl_ops[made - 1], &ops[i]))
				return -EINVAL;
			made--;
		}
		ehs_genl_add(&ehs_genl_ops[made++], &ops[i], i);
	}
	ehs_genl_split = ops;
	family->ops = ehs_genl_ops;
	family->n_ops = made;
	family->pre_doit = ehs_genl_pre_doit;
	family->post_doit = ehs_genl_post_doit;
	return 0;
}

#endif
