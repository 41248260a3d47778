// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose process an executor's end becomes. Home says a name and numbers; what they are worth is known
 * on this host, and the site may have a map. A member of the cluster that names a group gets it only for a user who is in it here.
 */
#include "user.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helpers/common/lookup.h"
#include "known.h"
#include "site.h"

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

	*out = (struct identity){ here->uid, here->gid, here->ngroups, here->groups };
	/* Home's numbers of groups mean nothing where its users' do not. */
	if (rules_mapped(&rules, q->user, q->uid))
		return;
	if (names_has_group(here, q->gid))
		out->gid = q->gid;
	out->ngroups = names_keep_groups(here, r->start.groups, q->ngroups, user_groups);
	out->groups = user_groups;
}

struct user_named {
	const char *name;
	const struct user *user;
};

static int user_in_group(void *ctx, const char *group)
{
	const struct user_named *who = ctx;

	return lookup_in_group(who->name, who->user, group);
}

/* Whether the site lets tasks of this user run here: 0 or -EACCES. */
static int user_may(const char *name, const struct user *here)
{
	const struct site_who rule = rules_guests(&rules);
	/* root is in its own group only */
	struct user_named who = { here->uid ? name : "", here };

	return site_who(&rule, name, here->uid, user_in_group, &who, NULL) == SITE_MAY ? 0
										       : -EACCES;
}

/* root is in its own group, and is not looked up. */
static int user_root_may(void)
{
	const struct user root = { 0 };

	return user_may("root", &root);
}

/*
 * Looks a user up, or finds what is known of it. -ENOENT: unknown, or of another number. -EACCES: tasks
 * of this user do not run here. -EPERM: nothing is done for it. A guest may be another user here.
 */
static int user_look(const char *name, uid_t uid, bool guest, struct user *here)
{
	const char *mapped = guest ? rules_mapped(&rules, name, uid) : NULL;
	int err = 0;

	if (mapped)
		name = mapped;
	if (!known_find(name, mapped ? (uid_t)-1 : uid, guest, here)) {
		err = lookup(name, here);
		if (!err && guest)
			err = user_may(name, here);
		if (!err)
			known_tell(name, here, guest);
	}
	if (err)
		return err;
	if (mapped)
		return here->uid >= rules.uid_min && here->uid != RULES_NOBODY ? 0 : -EPERM;
	return here->uid == uid ? 0 : -ENOENT;
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
		return user_root_may() ? LAUNCH_DENIED : LAUNCH_READY;
	err = user_look(q->user, q->uid, true, &here);
	switch (err) {
	case 0:
		user_limit(r, &here, out);
		return LAUNCH_READY;
	case -EACCES:
		return LAUNCH_DENIED;
	case -EPERM:
		return LAUNCH_RULES;
	case -ENOENT:
		return LAUNCH_UNKNOWN;
	}
	errno = -err;
	return LAUNCH_LOOKUP;
}

int user_here(const char *name, uid_t uid, bool guest, struct identity *out)
{
	struct user here;
	int err;

	*out = (struct identity){ .uid = uid };
	if (geteuid())
		return uid == geteuid() ? 0 : -EPERM;
	if (!rules_admit(&rules, name, uid) && !(guest && rules_mapped(&rules, name, uid)))
		return -EPERM;
	if (!uid)
		return guest && user_root_may() ? -EPERM : 0;
	err = user_look(name, uid, guest, &here);
	if (err)
		return err == -EACCES ? -EPERM : err;
	/* Its groups stay where they are: this process ends as this user. */
	*out = (struct identity){ here.uid, here.gid, here.ngroups, here.groups };
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
