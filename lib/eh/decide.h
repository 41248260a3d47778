/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file decide.h  Who takes an arriving task. For lib/eh only. */
#ifndef EH_DECIDE_H
#define EH_DECIDE_H

#include "group_inside.h"

/**
 * EH_EV_ARRIVE: the paper's TaskArrive and WhoDoTask. Emits one PLACE, NONE or
 * ASK, after the THRESHOLDs if there are any. The child is present.
 * 0, -EINVAL (a value above EH_VALUE_MAX) or -ENOMEM; with an error nothing has
 * changed.
 */
int eh_decide(struct eh_group *group, const struct eh_event *event, uint64_t now, eh_emit_fn emit,
	      void *ctx);

#endif
