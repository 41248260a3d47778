/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_ELIGIBLE_H
#define _EHS_ELIGIBLE_H

#include <linux/ehsched.h>

struct ehs_agent;
struct ehs_node;
struct ehs_subject;
struct linux_binprm;

enum ehs_reason ehs_eligible_task(struct ehs_node *node, const struct ehs_agent *agent,
				  const struct ehs_subject *subject);
enum ehs_reason ehs_eligible(struct ehs_node *node, const struct ehs_agent *agent,
			     const struct linux_binprm *bprm);

#endif /* _EHS_ELIGIBLE_H */
