/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_CONFINE_H
#define _EHS_CONFINE_H

#include <linux/ehsched.h>

struct ehs_agent;
struct ehs_node;
struct ehs_subject;
struct linux_binprm;

enum ehs_reason ehs_confine(struct ehs_node *node, const struct ehs_agent *agent,
			    const struct ehs_subject *subject);
enum ehs_reason ehs_confine_program(const struct linux_binprm *bprm,
				    const struct ehs_subject *subject);

#endif /* _EHS_CONFINE_H */
