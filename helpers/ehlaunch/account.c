// SPDX-License-Identifier: GPL-2.0-or-later
/* Users of this host whose files are shown or served, and how a child becomes one. */
#include "launch.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int account_find(const char *name, uid_t uid, struct account *out)
{
	int n = sizeof(out->groups) / sizeof(out->groups[0]);
	const struct passwd *user;

	if (geteuid() ? uid != geteuid() : !uid && !site.allow_root)
		return -EPERM;
	errno = 0;
	user = getpwnam(name);
	if (!user || user->pw_uid != uid)
		return -ENOENT;
	out->uid = uid;
	out->gid = user->pw_gid;
	if (getgrouplist(name, out->gid, out->groups, &n) < 0)
		return -E2BIG;
	out->ngroups = n;
	return 0;
}

/* The calls bypass libc, which would look for other threads. */
int account_become(const struct account *a)
{
	if (geteuid())
		return a->uid == geteuid() ? 0 : -EPERM;
	if (syscall(SYS_setgroups, a->ngroups, a->groups) ||
	    syscall(SYS_setresgid, a->gid, a->gid, a->gid) ||
	    syscall(SYS_setresuid, a->uid, a->uid, a->uid))
		return -errno;
	return 0;
}
