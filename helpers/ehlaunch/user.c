// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose process an executor's end becomes. Home says a name and numbers; what they are worth is known
 * on this host. A member of the cluster that names a group gets it only for a user who is in it here.
 */
#include "launch.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static gid_t user_groups[JOB_GROUPS_MAX];

bool user_is_named(const char name[LAUNCH_USER_MAX], uid_t uid)
{
	return names_is_good(name) || ((geteuid() || !uid) && memchr(name, 0, LAUNCH_USER_MAX));
}

/* Without root it runs its own user's tasks only, with its own groups. */
static enum launch_stage user_own(const struct launch_start *q)
{
	return q->uid == geteuid() && q->gid == getegid() ? LAUNCH_READY : LAUNCH_RULES;
}

static void user_limit(const struct request *r, const struct user *here, struct identity *out)
{
	const struct launch_start *q = &r->start.q;

	out->uid = here->uid;
	out->gid = names_has_group(here, q->gid) ? q->gid : here->gid;
	out->ngroups = names_keep_groups(here, r->start.groups, q->ngroups, user_groups);
	out->groups = user_groups;
}

/* Looks a user up, or finds what is known of it. It may be another number's. */
static int user_look(const char *name, uid_t uid, struct user *here)
{
	int err;

	if (known_find(name, uid, here))
		return 0;
	err = lookup(name, here);
	if (!err)
		known_tell(name, here);
	return err;
}

enum launch_stage user_find(const struct request *r, struct identity *out)
{
	const struct launch_start *q = &r->start.q;
	struct user here;
	int err;

	*out = (struct identity){ q->uid, q->gid, q->ngroups, r->start.groups };
	errno = 0;
	if (geteuid())
		return user_own(q);
	/* root is root everywhere, in each group. It was admitted. */
	if (!q->uid)
		return LAUNCH_READY;
	err = user_look(q->user, q->uid, &here);
	errno = err && err != -ENOENT ? -err : 0;
	if (errno)
		return LAUNCH_LOOKUP;
	if (err || here.uid != q->uid)
		return LAUNCH_UNKNOWN;
	user_limit(r, &here, out);
	return LAUNCH_READY;
}

int user_here(const char *name, uid_t uid, struct identity *out)
{
	struct user here;
	int err;

	*out = (struct identity){ .uid = uid };
	if (geteuid())
		return uid == geteuid() ? 0 : -EPERM;
	if (!rules_admit(&rules, name, uid))
		return -EPERM;
	if (!uid)
		return 0;
	err = user_look(name, uid, &here);
	if (err)
		return err;
	if (here.uid != uid)
		return -ENOENT;
	/* Its groups stay where they are: this process ends as this user. */
	*out = (struct identity){ uid, here.gid, here.ngroups, here.groups };
	return 0;
}

/* The calls bypass libc, which would look for other threads. */
int user_become(const struct identity *who)
{
	if (geteuid())
		return who->uid == geteuid() ? 0 : -EPERM;
	if (syscall(SYS_setgroups, who->ngroups, who->groups) ||
	    syscall(SYS_setresgid, who->gid, who->gid, who->gid) ||
	    syscall(SYS_setresuid, who->uid, who->uid, who->uid))
		return -errno;
	return 0;
}
