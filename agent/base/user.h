/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file user.h
 * Names of users. The name service may be slow, so answers are kept for a while.
 */
#ifndef AGENT_BASE_USER_H
#define AGENT_BASE_USER_H

#include <sys/types.h>

/** NULL: this uid has no name here. Valid until the next call. */
const char *user_name(uid_t uid);

/** Digest of the local users' numbers and names, to compare with other nodes'. */
const char *user_digest(void);

/** Takes on a user's ids, for good; for a forked child of root's: by the calls themselves, as glibc's
 *  would try to tell the threads that are not there. 0 or -1 with errno. */
int user_become(uid_t uid, gid_t gid, const gid_t *groups, size_t n);

#endif
