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

ssize_t ehlaunch_take(int news, void *answer, size_t size, int *fds, int most)
{
	struct iovec iov = { answer, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int got[DESCRIPTORS_MAX], n;
	union descriptors room;
	ssize_t length;

	descriptors_expect(&msg, &room, DESCRIPTORS_MAX);
	length = recvmsg(news, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (length < 0)
		return -errno;
	n = descriptors_take(&msg, &room, got);
	for (int i = 0; i < most; i++)
		fds[i] = i < n ? got[i] : -1;
	for (int i = most; i < n; i++)
		close(got[i]);
	return length;
}

int ehlaunch_receive(int news, void *answer, size_t size)
{
	const struct launch_news *told = answer;
	int fd;
	ssize_t got = ehlaunch_take(news, answer, size, &fd, 1);

	if (got < 0)
		return got;
	if ((size_t)got >= sizeof(*told) && told->stage == LAUNCH_READY && fd >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return (size_t)got >= sizeof(*told) && told->error > 0 ? -told->error : -EPROTO;
}
