/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file reason.h
 * Names and sentences for enum ehs_reason (uapi/linux/ehsched.h): why a task
 * runs where it runs. The names are those of uapi/ehsched.yaml, and after them
 * those that only agents give.
 */
#ifndef WIRE_REASON_H
#define WIRE_REASON_H

#include <stdbool.h>
#include <linux/ehsched.h>

/** Reasons of the agents alone, which the module does not know: reason_for_kernel(). */
#define REASON_OWN ((enum ehs_reason)256)
#define REASON_CREDIT REASON_OWN /**< placed by a credit (lib/eh/idle.h) */
#define REASON_CREDIT_USED ((enum ehs_reason)(REASON_OWN + 1)) /**< the credit had no value */
#define REASON_AWAY_USER ((enum ehs_reason)(REASON_OWN + 2)) /**< home keeps tasks of its user */
#define REASON_AWAY_PROGRAM ((enum ehs_reason)(REASON_OWN + 3)) /**< home keeps its program */
#define REASON_GUEST_USER \
	((enum ehs_reason)(REASON_OWN + 4)) /**< the executor does not take its user */
#define REASON_LABELS \
	((enum ehs_reason)(REASON_OWN + 5)) /**< the executor has not the labels for it */
#define REASON_USER_LIMIT \
	((enum ehs_reason)(REASON_OWN + 6)) /**< the executor has enough of its user */
#define REASON_OWNER ((enum ehs_reason)(REASON_OWN + 7)) /**< the executor's owner uses it */
#define REASON_AWAY_NODE ((enum ehs_reason)(REASON_OWN + 8)) /**< home sends nothing there */
#define REASON_GUEST_NODE \
	((enum ehs_reason)(REASON_OWN + 9)) /**< the executor takes nothing of home */
#define REASON_SHORT ((enum ehs_reason)(REASON_OWN + 10)) /**< such tasks end soon (lib/cost) */
#define REASON_STARVED \
	((enum ehs_reason)(REASON_OWN + 11)) /**< the executor killed it: memory was short */
#define REASON_UNSEEN \
	((enum ehs_reason)(REASON_OWN + 12)) /**< what confines it at home cannot be seen */
#define REASON_SLOWER \
	((enum ehs_reason)(REASON_OWN + 13)) /**< it would take longer elsewhere (lib/cost) */
#define REASON_OWN_END ((enum ehs_reason)(REASON_OWN + 14))

/** "not-sender"; "unknown" for a number of a newer module or peer. Never NULL. */
const char *reason_name(unsigned int reason);

/** A sentence for users: the meaning and, where possible, what to do. Never NULL. */
const char *reason_text(unsigned int reason);

/** Whether only the kernel gives it: it refuses such a reason in a verdict. */
bool reason_is_kernels(enum ehs_reason reason);

/** The reason to be given to the module in a verdict, instead of one of the agents' own. */
enum ehs_reason reason_for_kernel(enum ehs_reason reason, bool remote);

/** Returns 0, or -EINVAL if no reason has this name. */
int reason_parse(const char *name, enum ehs_reason *out);

#endif
