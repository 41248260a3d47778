/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file rerun.h
 * A lost task is run again at home, where the user allows it and nothing of its input is missing.
 */
#ifndef AGENT_HOME_RERUN_H
#define AGENT_HOME_RERUN_H

struct handoff;

/**
 * Gives a lost task back to its stub, behind the text `lost`. NULL: the stub runs it again; else
 * why it does not, "" when it may not.
 */
const char *rerun_start(struct handoff *h, const char *lost);

#endif
