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
 * the user of this host's agent. That is whoever owns TRUST_FOLDER, which only root can have made.
 */
static inline bool trust_agent(uid_t uid)
{
	struct stat st;

	if (!uid || uid == geteuid())
		return true;
	return !lstat(TRUST_FOLDER, &st) && S_ISDIR(st.st_mode) && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       st.st_uid == uid;
}

#endif
