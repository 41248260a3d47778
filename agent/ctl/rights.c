// SPDX-License-Identifier: GPL-2.0-or-later
/* What the caller of a local connection may do, by what the kernel says of it. */
#include "ctl/rights.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/user.h"
#include "ctl/socket.h"

pid_t ctl_pid(const struct ctl_conn *c)
{
	return ctl_who(c)->pid;
}

uid_t ctl_uid(const struct ctl_conn *c)
{
	return ctl_who(c)->uid;
}

bool ctl_is_admin(const struct ctl_conn *c)
{
	return !ctl_uid(c) || ctl_uid(c) == geteuid();
}

bool ctl_in_group(const struct ctl_conn *c, const char *name)
{
	gid_t group, groups[256];
	socklen_t size = sizeof(groups);

	if (!*name || user_group(name, &group))
		return false;
	if (ctl_who(c)->gid == group)
		return true;
	if (getsockopt(ctl_socket(c), SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

bool ctl_is_operator(const struct ctl_conn *c)
{
	return ctl_is_admin(c) || ctl_in_group(c, ctl_agent(c)->config->admin_group);
}

bool ctl_may_see(const struct ctl_conn *c, uid_t uid)
{
	return ctl_uid(c) == uid || ctl_is_operator(c);
}
