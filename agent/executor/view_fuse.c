// SPDX-License-Identifier: GPL-2.0-or-later
/* ehview (helpers/ehview): its devices, its start as the view's user, its end. */

#include "executor/view_fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/close_range.h>
#include <linux/fuse.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/user.h"
#include "helpers/common/companion.h"
#include "wire/view.h"

#define FUSE_HIGH 256 /* out of the way of ehview's descriptors */

const char *view_fuse_trouble(void)
{
	char path[EHS_PATH_MAX + 1];
	int fs;

	if (!companion("ehview", path, sizeof(path)))
		return "ehview is neither next to ehagent nor in ../libexec/ehsched";
	fs = fsopen("fuse", FSOPEN_CLOEXEC); /* also loads the module */
	if (fs < 0)
		return "the kernel has no FUSE support (module fuse)";
	close(fs);
	return NULL;
}

/* Nothing in it may grant rights here. Home decides what is permitted. */
static int fuse_mount(int device)
{
	int fs = fsopen("fuse", FSOPEN_CLOEXEC), mount = -1;
	char number[16];

	if (fs < 0)
		return -1;
	snprintf(number, sizeof(number), "%d", device);
	if (!fsconfig(fs, FSCONFIG_SET_STRING, "source", "ehsched", 0) &&
	    !fsconfig(fs, FSCONFIG_SET_STRING, "subtype", "ehsched", 0) &&
	    !fsconfig(fs, FSCONFIG_SET_STRING, "fd", number, 0) &&
	    !fsconfig(fs, FSCONFIG_SET_STRING, "rootmode", "40000", 0) &&
	    !fsconfig(fs, FSCONFIG_SET_STRING, "user_id", "0", 0) &&
	    !fsconfig(fs, FSCONFIG_SET_STRING, "group_id", "0", 0) &&
	    !fsconfig(fs, FSCONFIG_SET_FLAG, "allow_other", NULL, 0) &&
	    !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	close(fs);
	return mount;
}

int view_fuse_add(struct view_fuse *f, int home)
{
	size_t i = f->ntrees++;
	uint32_t device;
	int mount;

	f->homes[i] = home;
	f->forgets[i] = -1;
	f->devices[i] = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	mount = f->devices[i] < 0 ? -1 : fuse_mount(f->devices[i]);
	if (mount < 0)
		return -errno;
	device = f->devices[i];
	f->forgets[i] = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (f->forgets[i] < 0 || ioctl(f->forgets[i], FUSE_DEV_IOC_CLONE, &device)) {
		close(mount);
		return -errno;
	}
	return mount;
}

static void fuse_close(struct view_fuse *f)
{
	for (size_t i = 0; i < f->ntrees; i++) {
		const int fds[] = { f->devices[i], f->homes[i], f->forgets[i] };

		for (int n = 0; n < 3; n++)
			if (fds[n] >= 0)
				close(fds[n]);
	}
	f->ntrees = 0;
}

static bool fuse_place(int fd, int at)
{
	return dup2(fd, at) >= 0;
}

/* Gives ehview the descriptors that it expects (FD_DEVICE() and so on), and none of the agent's. */
static void __attribute__((noreturn))
fuse_run(struct agent *agent, const struct view_fuse *f, const char *program, int control,
	 const struct passwd *user)
{
	static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	const char *arguments[] = { "ehview", NULL, NULL };
	int high[3 * VIEW_TREES_MAX], ncopies = 0;
	sigset_t none;
	char count[16];

	snprintf(count, sizeof(count), "%zu", f->ntrees);
	arguments[1] = count;
	for (size_t i = 0; i < f->ntrees; i++) {
		high[ncopies++] = fcntl(f->devices[i], F_DUPFD, FUSE_HIGH);
		high[ncopies++] = fcntl(f->homes[i], F_DUPFD, FUSE_HIGH);
		high[ncopies++] = fcntl(f->forgets[i], F_DUPFD, FUSE_HIGH);
	}
	control = fcntl(control, F_DUPFD, FUSE_HIGH);
	if (!fuse_place(control, 0))
		_exit(1);
	for (int i = 0; i < ncopies; i++)
		if (!fuse_place(high[i], i + 1))
			_exit(1);
	syscall(SYS_close_range, (unsigned int)ncopies + 1, ~0u, 0u);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpriority(PRIO_PROCESS, 0, agent->nice);
	if (user_become(user->pw_uid, user->pw_gid, NULL, 0))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	execve(program, (char **)arguments, (char **)environment);
	_exit(127);
}

int view_fuse_start(struct agent *agent, struct view_fuse *f, uid_t uid)
{
	struct passwd *user = getpwuid(uid);
	char path[EHS_PATH_MAX + 1];
	int pair[2], err = 0;

	if (!user || !companion("ehview", path, sizeof(path)))
		return -ENOENT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	f->pid = fork();
	if (!f->pid)
		fuse_run(agent, f, path, pair[1], user);
	if (f->pid < 0) {
		err = -errno;
		f->pid = 0;
		close(pair[0]);
	} else {
		f->control = pair[0];
		fuse_close(f); /* only ehview holds these from now on */
	}
	close(pair[1]);
	return err;
}

int view_fuse_sync(const struct view_fuse *f, uint32_t ticket, bool ended)
{
	const struct view_sync ask = { ticket, ended };

	return send(f->control, &ask, sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(ask)
		       ? 0
		       : -EPIPE;
}

int64_t view_fuse_synced(const struct view_fuse *f)
{
	uint32_t ticket;
	ssize_t n = recv(f->control, &ticket, sizeof(ticket), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n == sizeof(ticket) ? (int64_t)ticket : -EPIPE;
}

void view_fuse_stop(struct view_fuse *f)
{
	fuse_close(f);
	if (!f->pid)
		return;
	close(f->control);
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	f->pid = 0;
}
