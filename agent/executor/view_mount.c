// SPDX-License-Identifier: GPL-2.0-or-later
/* The mount namespace of a view: home's tree as the root, with this node's devices and processes */

#include "executor/view_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/close_range.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/agent.h"
#include "wire/descriptors.h"
#include "wire/view.h"

#define VIEW_OWN_MAX 16 /* directories that stay the executor's */

enum mount_stage {
	MOUNT_READY,
	MOUNT_NAMESPACE,
	MOUNT_CLIENT,
	MOUNT_ATTACH,
	MOUNT_ROOT,
	MOUNT_OWN,
	MOUNT_STAGES
};

static const char *const mount_stages[MOUNT_STAGES] = {
	[MOUNT_NAMESPACE] = "cannot create a mount namespace",
	[MOUNT_CLIENT] = "the kernel has no 9p support (modules 9p and 9pnet_fd)",
	[MOUNT_ATTACH] = "home does not serve its files",
	[MOUNT_ROOT] = "cannot make home's tree the root",
	[MOUNT_OWN] = "cannot mount a directory of this node in home's tree",
};

/*
 * 9p caches nothing here, so each component of a path costs two or three requests. Descriptors of
 * these directories keep the first component looked up while the view is mounted; no system renames
 * them.
 */
static const char *const mount_pinned[VIEW_PINS] = {
	"/bin",	 "/etc", "/home", "/lib", "/lib64", "/opt",
	"/root", "/run", "/sbin", "/srv", "/tmp",   "/var",
};

/* With MOUNT_READY come descriptors of mount_pinned. */
struct mount_message {
	int32_t stage, error;
};

/*
 * Nothing is cached, because all answers must be home's current ones. But programs map files for
 * writing, which kernels before 6.4 allow only with "mmap"; there that caches mapped pages only.
 * Later kernels write those back late.
 */
static const char *mount_cache(void)
{
	struct utsname name;
	unsigned int major, minor;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return "none";
	return major < 6 || (major == 6 && minor < 4) ? "mmap" : "none";
}

static int mount_set(int fs, const char *name, const char *value)
{
	return fsconfig(fs, FSCONFIG_SET_STRING, name, value, 0);
}

/*
 * Returns a detached mount, or -1. Nothing in it may grant rights here: home's user decides what is
 * set-user-ID or a device.
 */
static int mount_attach(const char *number, const char *path, const char *user, const char *cache,
			int32_t *stage)
{
	int fs = fsopen("9p", FSOPEN_CLOEXEC);

	*stage = MOUNT_CLIENT;
	if (fs < 0)
		return -1;
	*stage = MOUNT_ATTACH;
	if (mount_set(fs, "source", "ehsched") || mount_set(fs, "trans", "fd") ||
	    mount_set(fs, "rfdno", number) || mount_set(fs, "wfdno", number) ||
	    mount_set(fs, "version", "9p2000.L") || mount_set(fs, "uname", user) ||
	    mount_set(fs, "aname", path) || mount_set(fs, "access", "any") ||
	    mount_set(fs, "msize", "65536") || mount_set(fs, "cache", cache) ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* What the child needs, prepared by the parent. */
struct mount_plan {
	char numbers[VIEW_TREES_MAX][24]; /* descriptors of the sockets in the child */
	const struct view_tree *trees;
	size_t ntrees;
	const char *user, *cache;
	const char *own[VIEW_OWN_MAX];
	size_t owned;
};

static int mount_tree(const struct mount_plan *plan, size_t i, int32_t *stage)
{
	if (plan->trees[i].is_mount)
		return i + 1; /* its descriptor in the child */
	return mount_attach(plan->numbers[i], plan->trees[i].path, plan->user, plan->cache, stage);
}

/* Home's other file systems and this node's directories. Those without a place stay invisible. */
static int mount_place(const int *mounts, size_t n, const struct mount_plan *plan)
{
	for (size_t i = 0; i < n; i++)
		if (move_mount(mounts[i], "", AT_FDCWD,
			       i < plan->owned ? plan->own[i]
					       : plan->trees[i - plan->owned + 1].path,
			       MOVE_MOUNT_F_EMPTY_PATH) &&
		    i < 3)
			return -1;
	return 0;
}

static int mount_make(const struct mount_plan *plan, int32_t *stage)
{
	int root, mounts[VIEW_OWN_MAX + VIEW_TREES_MAX];
	size_t n = 0;

	*stage = MOUNT_NAMESPACE;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	*stage = MOUNT_OWN;
	for (; n < plan->owned; n++) {
		mounts[n] = open_tree(AT_FDCWD, plan->own[n],
				      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		if (mounts[n] < 0)
			return -1;
	}
	root = mount_tree(plan, 0, stage);
	if (root < 0)
		return -1;
	for (size_t i = 1; i < plan->ntrees; i++, n++) {
		mounts[n] = mount_tree(plan, i, stage);
		/* The user may not enter it, or home has hidden it below another mount. */
		if (mounts[n] < 0 && errno != EACCES && errno != EPERM && errno != ENOENT)
			return -1;
	}
	/* pivot_root(2): both roots may be the same directory. /proc exists everywhere. */
	*stage = MOUNT_ROOT;
	if (move_mount(root, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) || fchdir(root) ||
	    syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
		return -1;
	*stage = MOUNT_OWN;
	if (mount_place(mounts, n, plan))
		return -1;
	*stage = MOUNT_READY;
	return 0;
}

/* System calls only: another thread may have held a lock at the fork. */
static void __attribute__((noreturn)) mount_child(const struct mount_plan *plan, int control)
{
	struct mount_message news;
	struct iovec iov = { &news, sizeof(news) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union descriptors room;
	int high[VIEW_TREES_MAX], pins[VIEW_PINS], npins = 0;
	char over;

	/* Its only descriptors are the control and the sockets; the agent's are closed. */
	control = fcntl(control, F_DUPFD, VIEW_TREES_MAX + 1);
	for (size_t i = 0; i < plan->ntrees; i++)
		high[i] = fcntl(plan->trees[i].socket, F_DUPFD, VIEW_TREES_MAX + 1);
	if (dup2(control, 0) < 0)
		_exit(1);
	for (size_t i = 0; i < plan->ntrees; i++)
		if (dup2(high[i], i + 1) < 0)
			_exit(1);
	syscall(SYS_close_range, (unsigned int)plan->ntrees + 1, ~0u, 0u);
	memset(&news, 0, sizeof(news));
	if (mount_make(plan, &news.stage))
		news.error = errno;
	for (int i = 0; i < VIEW_PINS && !news.stage && !plan->trees->is_mount; i++) {
		pins[npins] = open(mount_pinned[i], O_PATH | O_NOFOLLOW);
		if (pins[npins] >= 0)
			npins++;
	}
	descriptors_put(&msg, &room, pins, npins);
	if (sendmsg(0, &msg, MSG_NOSIGNAL) == sizeof(news))
		recv(0, &over, 1, 0); /* the agent opens the namespace meanwhile */
	_exit(0);
}

int view_mount_start(struct agent *agent, struct view_mount *m, const struct view_tree *trees,
		     size_t ntrees, const char *user)
{
	struct mount_plan plan = {
		.trees = trees,
		.ntrees = ntrees,
		.user = user,
		.cache = mount_cache(),
		.own = { "/proc", "/sys", "/dev" },
		.owned = 3,
	};
	int pair[2], err = 0;

	for (size_t i = 0; i < agent->config->nview_own && plan.owned < VIEW_OWN_MAX; i++)
		plan.own[plan.owned++] = agent->config->view_own[i];
	for (size_t i = 0; i < ntrees; i++)
		snprintf(plan.numbers[i], sizeof(plan.numbers[i]), "%zu", i + 1);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	m->pid = fork();
	if (!m->pid)
		mount_child(&plan, pair[1]);
	if (m->pid < 0)
		err = -errno;
	close(pair[1]);
	if (err) {
		m->pid = 0;
		close(pair[0]);
		return err;
	}
	m->control = pair[0];
	return 0;
}

void view_mount_cancel(struct view_mount *m)
{
	if (!m->pid)
		return;
	close(m->control);
	m->control = -1;
	kill(m->pid, SIGKILL);
	waitpid(m->pid, NULL, 0);
	m->pid = 0;
}

void view_mount_unpin(struct view_mount *m)
{
	while (m->npins)
		close(m->pins[--m->npins]);
}

int view_mount_finish(struct view_mount *m, char *why, size_t size)
{
	struct mount_message news;
	struct iovec iov = { &news, sizeof(news) };
	union descriptors room;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	char path[40];
	int ns = -1;

	descriptors_expect(&msg, &room, VIEW_PINS);
	if (recvmsg(m->control, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof(news)) {
		snprintf(why, size, "the process that mounts home's files was killed");
	} else if (news.stage != MOUNT_READY) {
		snprintf(why, size, "%s: %s",
			 news.stage > 0 && news.stage < MOUNT_STAGES ? mount_stages[news.stage]
								     : "mount",
			 strerror(news.error));
	} else {
		m->npins = descriptors_take(&msg, &room, m->pins);
		snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)m->pid);
		ns = open(path, O_RDONLY | O_CLOEXEC);
		if (ns < 0)
			snprintf(why, size, "%s: %s", path, strerror(errno));
	}
	return ns;
}
