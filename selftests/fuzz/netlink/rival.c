// SPDX-License-Identifier: GPL-2.0-or-later
#include "rival.h"

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/netlink.h>

#include "message.h"

static struct {
	struct scene scene;
	int flags;
} rival; /* one in a child */

static void *rival_run(void *arg)
{
	struct scene *scene = &rival.scene;
	pid_t self = syscall(SYS_gettid), group = getpid();

	(void)arg;
	/* some cannot be left by one thread of several; the network's always can */
	if (unshare(rival.flags) && unshare(CLONE_NEWNET))
		return NULL;
	scene->sockets[0] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	message_overload_now(scene, 0);
	for (;;) {
		message_bypass(scene, 0, self);
		message_bypass(scene, 0, group);
		/* its answers are of no interest, but need room */
		scene_receive(scene, 0, 4);
	}
}

void rival_begin(const struct scene *scene, int flags)
{
	pthread_t thread;

	rival.scene = *scene;
	rival.flags = flags | CLONE_NEWNET;
	if (!pthread_create(&thread, NULL, rival_run, NULL))
		pthread_detach(thread);
}
