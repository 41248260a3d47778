/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file trust.h  Which user's agent a program listens to. */
#ifndef HELPERS_TRUST_H
#define HELPERS_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRUST_FOLDER "/run/ehsched" /**< made by root, for the agent's own user */

/**
 * Anybody can take an abstract name, so clients ask SO_PEERCRED who listens: root, our own user, or
 * the user of this host's agent. That is whoever owns TRUST_FOLDER, which only root can have made:
 * in this host's files. In a view of another host's it means nothing. (uid_t)-1: there is none.
 */
static inline uid_t trust_owner(void)
{
	struct stat st;

	return !lstat(TRUST_FOLDER, &st) && S_ISDIR(st.st_mode) &&
			       !(st.st_mode & (S_IWGRP | S_IWOTH))
		       ? st.st_uid
		       : (uid_t)-1;
}

/** Whether we listen to a process of this user. */
static inline bool trust_agent(uid_t uid)
{
	return !uid || uid == geteuid() || uid == trust_owner();
}

#endif
