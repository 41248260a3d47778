/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file rerun.h
 * Runs a lost task again at home, if the user allows it and none of its input is missing.
 */
#ifndef AGENT_HOME_RERUN_H
#define AGENT_HOME_RERUN_H

struct handoff;

/**
 * Lets the stub run a lost task again; `lost` says what happened. NULL: it does; otherwise why not,
 * "" if that is not allowed.
 */
const char *rerun_start(struct handoff *h, const char *lost);

#endif
