// SPDX-License-Identifier: GPL-2.0-or-later
/* What ehlaunch answers. */
#include "base/ehlaunch.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/descriptors.h"

static const char *const ehlaunch_stages[LAUNCH_STAGES] = {
	[LAUNCH_REQUEST] = "ehlaunch does not understand this agent",
	[LAUNCH_FORK] = "cannot start a process for it",
	[LAUNCH_DESCRIPTORS] = "cannot set up its descriptors",
	[LAUNCH_LOGIN] = "cannot set its login user id, by which audit knows who it is",
	[LAUNCH_LIMITS] = "cannot set its limits",
	[LAUNCH_ENTER] = "cannot enter the mount namespace of home's files",
	[LAUNCH_USER] = "cannot change to its user",
	[LAUNCH_RULES] =
		"ehlaunch may not run tasks of its user (allow-root, uid-min, allow-users)",
	[LAUNCH_DENIED] =
		"ehlaunch may not run tasks of its user (guest-allow-users, guest-deny-users)",
	[LAUNCH_LOOKUP] = "getent(1) does not say who its user is",
	[LAUNCH_UNKNOWN] = "its user is not known here, or has another number",
	[LAUNCH_CGROUP] = "cannot make its cgroup",
	[LAUNCH_CONFINED] = "the cgroup of the process confines it as a session would not",
	[LAUNCH_UNSEEN] = "what confines its process cannot be seen",
	[LAUNCH_FOREIGN] = "ehlaunch has not made this mount namespace for its user",
	[LAUNCH_NAMESPACE] = "cannot create a mount namespace, or mount its /proc",
	[LAUNCH_ACCOUNT] = "nothing is mounted or served for this user",
	[LAUNCH_FUSE] = "the kernel cannot mount files of other nodes",
	[LAUNCH_SERVER] = "cannot start its file server",
	[LAUNCH_ROOT] = "cannot make home's tree the root",
	[LAUNCH_OWN] = "cannot mount a directory of this node in home's tree",
};

const char *ehlaunch_trouble(const struct launch_news *news)
{
	return news->stage < LAUNCH_STAGES && ehlaunch_stages[news->stage]
		       ? ehlaunch_stages[news->stage]
		       : "ehlaunch does not say what is wrong";
}

int ehlaunch_receive(int news, void *answer, size_t size)
{
	struct iovec iov = { answer, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	const struct launch_news *told = answer;
	int fds[DESCRIPTORS_MAX], n;
	union descriptors room;
	ssize_t got;

	descriptors_expect(&msg, &room, DESCRIPTORS_MAX);
	got = recvmsg(news, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0)
		return -errno;
	n = descriptors_take(&msg, &room, fds);
	for (int i = 1; i < n; i++)
		close(fds[i]);
	if ((size_t)got >= sizeof(*told) && told->stage == LAUNCH_READY && n > 0)
		return fds[0];
	if (n > 0)
		close(fds[0]);
	return (size_t)got >= sizeof(*told) && told->error > 0 ? -told->error : -EPROTO;
}
