// SPDX-License-Identifier: GPL-2.0-or-later
#include "directory.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>

static bool directory_name(struct directory_answer *a, const char *name)
{
	const size_t length = strnlen(name, sizeof(a->name));

	if (length == sizeof(a->name))
		return false;
	memcpy(a->name, name, length + 1);
	return true;
}

static void directory_user(const struct passwd *pw, struct directory_answer *a)
{
	if (!pw || !directory_name(a, pw->pw_name))
		return;
	a->number = pw->pw_uid;
	a->group = pw->pw_gid;
	a->error = 0;
}

static void directory_group(const struct group *gr, const char *member, struct directory_answer *a)
{
	if (!gr || !directory_name(a, gr->gr_name))
		return;
	a->number = gr->gr_gid;
	for (char **m = gr->gr_mem; *member && *m; m++)
		a->is_member |= !strcmp(*m, member);
	a->error = 0;
}

static void directory_groups_of(const struct directory_question *q, struct directory_answer *a)
{
	int n = DIRECTORY_GROUPS;

	if (getgrouplist(q->name, q->number, a->groups, &n) < 0)
		return;
	a->ngroups = n;
	a->error = 0;
}

void directory_look(const struct directory_question *q, struct directory_answer *a)
{
	*a = (struct directory_answer){ .serial = q->serial, .error = -ENOENT };
	if (q->kind == DIRECTORY_UID)
		directory_user(getpwuid(q->number), a);
	else if (q->kind == DIRECTORY_USER)
		directory_user(getpwnam(q->name), a);
	else if (q->kind == DIRECTORY_GID)
		directory_group(getgrgid(q->number), q->member, a);
	else if (q->kind == DIRECTORY_GROUP)
		directory_group(getgrnam(q->name), q->member, a);
	else if (q->kind == DIRECTORY_GROUPS_OF)
		directory_groups_of(q, a);
}

size_t directory_size(const struct directory_answer *a)
{
	return offsetof(struct directory_answer, groups) + a->ngroups * sizeof(a->groups[0]);
}
