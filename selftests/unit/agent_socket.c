// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "helpers/common/agent_address.h"

/* What we start keeps our capabilities, as root's programs do. */
static int agent_socket_keep(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	int err = syscall(SYS_capget, &header, sets);

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].inheritable = sets[i].permitted;
	err = err ?: syscall(SYS_capset, &header, sets);
	for (int i = 0; !err && i < 32 * _LINUX_CAPABILITY_U32S_3; i++)
		if (sets[i / 32].permitted >> i % 32 & 1)
			err = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
	return err;
}

/* Becomes root of a user namespace in which only our own number is known. */
static int agent_socket_user(void)
{
	const unsigned int uid = geteuid(), gid = getegid();
	char maps[2][40];
	const char *const files[] = { "/proc/self/setgroups", "/proc/self/uid_map",
				      "/proc/self/gid_map" };
	const char *const text[] = { "deny", maps[0], maps[1] };
	int err = unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS);

	snprintf(maps[0], sizeof(maps[0]), "%u %u 1", uid, uid);
	snprintf(maps[1], sizeof(maps[1]), "%u %u 1", gid, gid);
	for (int i = 0; !err && i < 3; i++) {
		int fd = open(files[i], O_WRONLY | O_CLOEXEC);

		err = fd < 0 || write(fd, text[i], strlen(text[i])) < 0;
		close(fd);
	}
	return err ?: agent_socket_keep();
}

int agent_socket_alone(void)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) && agent_socket_user())
		return -1;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") ||
	       mkdir(AGENT_FOLDER, 0755);
}

void agent_socket_program(void)
{
	if (!agent_socket_alone())
		return;
	printf("1..0 # SKIP no namespaces can be made: %s\n", strerror(errno));
	exit(4);
}

int agent_socket_listen(int flags)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	struct sockaddr_un address;

	if (fd < 0 || agent_address(fd, AGENT_FOLDER, &address) ||
	    (unlink(address.sun_path) && errno != ENOENT) ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    chmod(address.sun_path, 0666) || listen(fd, 8))
		return -1;
	return fd;
}
