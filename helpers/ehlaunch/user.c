// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose process an executor's end becomes. Home says a name and numbers; what they are worth is known
 * on this host. A member of the cluster that names a group gets it only for a user who is in it here.
 */
#include "launch.h"

#include <errno.h>
#include <unistd.h>

static gid_t user_groups[JOB_GROUPS_MAX];

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
	if (known_find(q->user, q->uid, &here)) {
		user_limit(r, &here, out);
		return LAUNCH_READY;
	}
	err = lookup(q->user, &here);
	if (err) {
		errno = err == -ENOENT ? 0 : -err;
		return err == -ENOENT ? LAUNCH_UNKNOWN : LAUNCH_LOOKUP;
	}
	known_tell(q->user, &here);
	errno = 0;
	if (here.uid == q->uid)
		user_limit(r, &here, out);
	lookup_free(&here);
	return here.uid == q->uid ? LAUNCH_READY : LAUNCH_UNKNOWN;
}
