/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file eligible.h  LAUNCH_ELIGIBLE. */
#ifndef EHLAUNCH_ELIGIBLE_H
#define EHLAUNCH_ELIGIBLE_H

#include "request.h"

bool eligible_is_good(const struct request *r);
/** Says whether the process that has connected may leave. Always 0. */
int eligible_answer(const struct request *r);

#endif
