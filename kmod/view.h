/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_VIEW_H
#define _EHS_VIEW_H

#include <linux/types.h>

struct ehs_agent;

bool ehs_view_is_agents(const struct ehs_agent *agent);

#endif /* _EHS_VIEW_H */
