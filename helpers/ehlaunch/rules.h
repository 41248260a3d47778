/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file rules.h
 * What the site has told ehlaunch when it was started: which users' tasks run here. Nothing that comes
 * in a request changes this.
 */
#ifndef EHLAUNCH_RULES_H
#define EHLAUNCH_RULES_H

#include <stdbool.h>
#include <sys/types.h>

#define RULES_OWN_MAX 16
#define RULES_NOBODY 65534 /**< of many users that have no other number */

struct rules {
	bool allow_root;
	uid_t uid_min; /**< users below it are of the system */
	char *const *users; /**< taken although their number is not, by name; `nusers` of them */
	int nusers;
	const char *own[RULES_OWN_MAX]; /**< directories of this host in each view of another's files */
	unsigned int nown;
	const char *stub; /**< registered with the module; NULL: the one beside ehlaunch */
	const char *cgroup; /**< managed/, all/ and guest/ are below it; NULL: no cgroups */
	unsigned int guest_pids; /**< processes and threads of a guest; 0: no limit */
	unsigned int guest_memory; /**< MiB of a guest; 0: no limit */
};

/**
 * Reads the arguments. `users` of the rules has to have room for all of them, and keeps pointers to
 * them. Returns 0, or -EINVAL after a message.
 */
int rules_parse(struct rules *rules, char **users, int argc, char **argv);
/** Whether tasks of this user run here, if the name is that of the number. */
bool rules_admit(const struct rules *rules, const char *user, uid_t uid);

#endif
