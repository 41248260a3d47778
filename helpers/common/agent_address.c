// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/common/agent_address.h"
#include "helpers/common/number.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* of asm-generic/socket.h, which C libraries learn late */
#endif

int agent_cookie(int socket, uint64_t *cookie)
{
	socklen_t length = sizeof(*cookie);

	return getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &length) ? -errno : 0;
}

int agent_address(int socket, const char *folder, struct sockaddr_un *out)
{
	uint64_t cookie;
	int err = agent_cookie(socket, &cookie);
	char *to;

	if (err)
		return err;
	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(folder) + AGENT_NAME_MAX > sizeof(out->sun_path))
		return -ENAMETOOLONG;
	to = stpcpy(out->sun_path, folder);
	to = stpcpy(to, *folder ? "/agent." : "agent.");
	number_text(cookie, to);
	return 0;
}

void agent_folder_of(uid_t uid, char out[AGENT_FOLDER_SIZE])
{
	/* Not by XDG_RUNTIME_DIR: ends of jobs have the environment of their task, or none. */
	stpcpy(number_text(uid, stpcpy(out, "/run/user/")), "/ehsched");
}

uid_t agent_owner(void)
{
	struct stat st;

	return !lstat(AGENT_FOLDER, &st) && S_ISDIR(st.st_mode) &&
			       !(st.st_mode & (S_IWGRP | S_IWOTH))
		       ? st.st_uid
		       : (uid_t)-1;
}

static int address_connect(int socket, const struct sockaddr_un *to, socklen_t length,
			   struct ucred *who)
{
	socklen_t size = sizeof(*who);

	return connect(socket, (const struct sockaddr *)to, length) ||
			       getsockopt(socket, SOL_SOCKET, SO_PEERCRED, who, &size)
		       ? -errno
		       : 0;
}

int agent_reach(int socket, const char *folder, struct ucred *who)
{
	struct sockaddr_un to;
	int err = agent_address(socket, folder, &to);

	return err ? err : address_connect(socket, &to, sizeof(to), who);
}

bool agent_believes(uid_t uid, uid_t owner)
{
	return !uid || uid == geteuid() || uid == owner;
}

int agent_connect(int socket, uid_t owner, struct ucred *who)
{
	const uid_t own = geteuid();
	char folder[AGENT_FOLDER_SIZE];
	struct stat st;
	int err;

	*who = (struct ucred){ 0 };
	err = agent_reach(socket, AGENT_FOLDER, who);

	if (own && (err == -ENOENT || err == -ECONNREFUSED)) {
		agent_folder_of(own, folder);
		if (!agent_reach(socket, folder, who))
			err = 0;
	}
	/* No agent has been there yet. */
	if (err == -ENOENT && !lstat(AGENT_FOLDER, &st))
		err = -ECONNREFUSED;
	if (err)
		return err;
	return agent_believes(who->uid, owner) ? 0 : -EPERM;
}

socklen_t agent_address_earlier(struct sockaddr_un *out)
{
	static const char name[] = "ehsched";

	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(out->sun_path + 1, name, sizeof(name) - 1);
	return offsetof(struct sockaddr_un, sun_path) + sizeof(name);
}

int agent_connect_earlier(int socket, uid_t owner)
{
	struct ucred who;
	struct sockaddr_un to;
	socklen_t length = agent_address_earlier(&to);
	int err = address_connect(socket, &to, length, &who);

	if (err)
		return err;
	return agent_believes(who.uid, owner) ? 0 : -EPERM;
}
