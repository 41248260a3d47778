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

#include "site/map.h"
#include "site/who.h"

#define RULES_OWN_MAX 16
#define RULES_NOBODY 65534 /**< of many users that have no other number */

struct rules {
	const char *agent, *configuration; /**< make these rules again; NULL: nothing does */
	bool allow_root;
	uid_t uid_min; /**< users below it are of the system */
	char *const *users; /**< taken although their number is not, by name; `nusers` of them */
	int nusers;
	/** directories of this host in each view of another's files */
	const char *own[RULES_OWN_MAX];
	unsigned int owned;
	const char *stub; /**< registered with the module; NULL: the one beside ehlaunch */
	const char *cgroup; /**< managed/, all/ and guest/ are below it; NULL: no cgroups */
	bool no_new_privs; /**< tasks that have it may leave */
	unsigned int time_limit_max; /**< ms that the agent may let an exec wait at most */
	char *guest_allow[SITE_ITEMS_MAX], *guest_deny[SITE_ITEMS_MAX]; /**< see rules_guests() */
	size_t nguest_allow, nguest_deny;
	char *user_map[SITE_ITEMS_MAX]; /**< see rules_mapped() */
	size_t nuser_map;
	bool guest_pid_namespace; /**< each guest has its own */
	unsigned int guest_pids; /**< processes and threads of a guest; 0: no limit */
	unsigned int guest_memory; /**< MiB of a guest; 0: no limit */
	unsigned int guest_cpu; /**< per cent of one processor for a guest; 0: no limit */
};

/**
 * Reads the arguments. `users` of the rules has to have room for all of them, and keeps pointers to
 * them. Returns 0, or -EINVAL after a message.
 */
int rules_parse(struct rules *rules, char **users, int argc, char **argv);
/** Whether tasks of this user run here, if the name is that of the number. */
bool rules_admit(const struct rules *rules, const char *user, uid_t uid);
/**
 * The name here of a user of another host; NULL: name and number must be the same here. root is never
 * another one, and nobody becomes one below uid_min.
 */
const char *rules_mapped(const struct rules *rules, const char *user, uid_t uid);
/** Whose tasks run here, of those that are admitted. */
struct site_who rules_guests(const struct rules *rules);

#endif
