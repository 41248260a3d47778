/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file user.h
 * Names of users. The name service may be slow, so answers are kept for a while.
 */
#ifndef AGENT_USER_H
#define AGENT_USER_H

#include <sys/types.h>

/** NULL: this uid has no name here. Valid until the next call. */
const char *user_name(uid_t uid);

/** Digest of the local users' numbers and names, to compare with other nodes'. */
const char *user_digest(void);

#endif
