/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_CONFINE_H
#define _EHS_CONFINE_H

#include <linux/ehsched.h>

struct ehs_agent;
struct linux_binprm;

enum ehs_reason ehs_confine(const struct linux_binprm *bprm, const struct ehs_agent *agent);

#endif /* _EHS_CONFINE_H */
