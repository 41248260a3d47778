/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file user.h
 * Names of users. The name service may be slow, so answers are cached for a while.
 */
#ifndef AGENT_BASE_USER_H
#define AGENT_BASE_USER_H

#include <sys/types.h>

/** NULL: this uid has no name here. Valid until the next call. */
const char *user_name(uid_t uid);

/** Digest of the numbers and names of local users, to compare with other nodes. Valid until the
 *  next call. "": unknown. */
const char *user_digest(void);

#endif
