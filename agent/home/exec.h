/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file exec.h
 * Places execs that wait in the module for a verdict. The functions fit struct kernel_ops.
 */
#ifndef AGENT_HOME_EXEC_H
#define AGENT_HOME_EXEC_H

#include <stdint.h>

struct agent;
struct kernel_request;

/** Starts a placement of it, which ends in kernel_verdict(). */
void exec_place(struct agent *agent, const struct kernel_request *request);
/** The module refused the verdict on this cookie: nobody waits for it. */
void exec_too_late(struct agent *agent, uint64_t cookie);

#endif
