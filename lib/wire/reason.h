/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file reason.h
 * Names and sentences for enum ehs_reason (uapi/linux/ehsched.h): why a task
 * runs where it runs. The names are those of uapi/ehsched.yaml.
 */
#ifndef WIRE_REASON_H
#define WIRE_REASON_H

#include <stdbool.h>
#include <linux/ehsched.h>

/** "not-sender"; "unknown" for a number of a newer module or peer. Never NULL. */
const char *reason_name(unsigned int reason);

/** A sentence for users: the meaning and, where possible, what to do. Never NULL. */
const char *reason_text(unsigned int reason);

/** Whether only the kernel gives it: it refuses such a reason in a verdict. */
bool reason_is_kernels(enum ehs_reason reason);

/** Returns 0, or -EINVAL if no reason has this name. */
int reason_parse(const char *name, enum ehs_reason *out);

#endif
