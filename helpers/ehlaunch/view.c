// SPDX-License-Identifier: GPL-2.0-or-later
/* Views of home's files: a child in a mount namespace of its own mounts each, then keeps its ehview. */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "keep.h"
#include "site.h"
#include "view_fuse.h"

#define VIEW_MADE_MAX 256 /* views; an older one must be mounted again for new tasks */

/*
 * Numbers of namespaces that were made here. Descriptors would keep them forever. A number may be used
 * again when its view was refused or has ended; a process that asks needs a descriptor of the new
 * namespace, which of this host's own users only root's programs have.
 */
static struct view_made {
	dev_t dev;
	ino_t ino;
	uid_t uid; /* of home, as the name: who that is here is decided by both */
	char user[LAUNCH_USER_MAX];
} view_made[VIEW_MADE_MAX];
static unsigned int view_next;

bool view_is_good(const struct request *r)
{
	const struct launch_mount *q = &r->mount.q;
	const char *at = r->mount.paths, *end = (const char *)q + r->length, *path;

	if (r->length < sizeof(*q) || q->zero || q->ntrees > VIEW_TREES_MAX ||
	    r->nfds != LAUNCH_FD_NEWS + 1 + (int)q->ntrees || !user_is_named(q->user, q->uid) ||
	    !keep_is_good(&q->stay))
		return false;
	for (uint32_t i = 0; i < q->ntrees; i++) {
		path = request_path(&at, end);
		/* The first is the root, and no other. */
		if (!path || !i == !!path[1])
			return false;
	}
	return at == end;
}

/* ---- in the child ---- */

/* Whether this kernel can mount them. */
static void __attribute__((noreturn)) view_try(const struct request *r)
{
	int error = 0;

	if (!site.ehview[0])
		error = ENOENT;
	else if (view_fuse_open() < 0)
		error = errno;
	request_tell(r->fds[LAUNCH_FD_NEWS], error ? LAUNCH_FUSE : LAUNCH_READY, error);
	_exit(0);
}

static int view_make(struct mounting *v, int fds[LAUNCH_MOUNTED], pid_t *pid)
{
	int err;

	v->stage = LAUNCH_NAMESPACE;
	fds[LAUNCH_FD_NAMESPACE] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (fds[LAUNCH_FD_NAMESPACE] < 0)
		return -errno;
	v->stage = LAUNCH_ACCOUNT;
	err = user_here(v->q->user, v->q->uid, true, &v->who);
	if (err)
		return err;
	*pid = view_fuse_start(v, &fds[LAUNCH_FD_CONTROL]);
	if (*pid < 0)
		return *pid;
	if (view_mount(v))
		return -errno;
	v->stage = LAUNCH_READY;
	return 0;
}

static void __attribute__((noreturn)) view_run(const struct request *r)
{
	struct mounting v = { .q = &r->mount.q };
	const char *at = r->mount.paths, *end = (const char *)v.q + r->length;
	const int socket = r->fds[LAUNCH_FD_NEWS];
	int fds[LAUNCH_MOUNTED], error;
	const struct keeping kept = { .stay = v.q->stay,
				      .executor = true,
				      .uid = v.q->uid,
				      .number = v.q->ntrees,
				      .fds = fds,
				      .nfds = LAUNCH_MOUNTED };
	pid_t pid = 0;

	keep_begin(r);
	for (uint32_t i = 0; i < v.q->ntrees; i++)
		v.trees[i] = (struct tree){ .path = request_path(&at, end),
					    .socket = r->fds[LAUNCH_FD_NEWS + 1 + i],
					    .mount = -1 };
	error = -view_make(&v, fds, &pid);
	/* Only the view's tasks are in its namespace. */
	if (!error && setns(site.namespace, CLONE_NEWNS)) {
		error = errno;
		v.stage = LAUNCH_NAMESPACE;
	}
	if (error) {
		request_tell(socket, v.stage, error);
		_exit(1);
	}
	if (keep_ready(socket, &kept))
		_exit(1);
	for (uint32_t i = 0; i < v.q->ntrees; i++)
		close(v.trees[i].mount);
	keep_stay(pid, socket, &kept);
}

/* ---- in the launcher ---- */

/* Whether it belongs to the same users: the numbers of namespaces that have ended are used again. */
static bool view_owner_is_ours(int namespace)
{
	int theirs = ioctl(namespace, NS_GET_USERNS), ours = ioctl(site.namespace, NS_GET_USERNS);
	struct stat a, b;
	bool same = theirs >= 0 && ours >= 0 && !fstat(theirs, &a) && !fstat(ours, &b) &&
		    a.st_dev == b.st_dev && a.st_ino == b.st_ino;

	if (theirs >= 0)
		close(theirs);
	if (ours >= 0)
		close(ours);
	return same;
}

bool view_is_ours(int namespace, const char *user, uid_t uid)
{
	struct stat st;

	/* Before it is asked anything: other files would answer as they like, or not at all. */
	if (!request_fd_is(namespace, "mnt:[") || ioctl(namespace, NS_GET_NSTYPE) != CLONE_NEWNS ||
	    fstat(namespace, &st) || !view_owner_is_ours(namespace))
		return false;
	for (unsigned int i = 0; i < VIEW_MADE_MAX; i++)
		if (view_made[i].ino == st.st_ino && view_made[i].dev == st.st_dev &&
		    view_made[i].uid == uid && !strcmp(view_made[i].user, user))
			return true;
	return false;
}

static int view_remember(pid_t pid, const struct launch_mount *q)
{
	struct view_made *made;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	if (stat(path, &st))
		return -errno;
	made = &view_made[view_next++ % VIEW_MADE_MAX];
	*made = (struct view_made){ .dev = st.st_dev, .ino = st.st_ino, .uid = q->uid };
	strcpy(made->user, q->user);
	return 0;
}

int view_start(const struct request *r)
{
	const struct launch_mount *q = &r->mount.q;
	struct clone_args args = { .exit_signal = SIGCHLD, .flags = q->ntrees ? CLONE_NEWNS : 0 };
	int go[2], err = 0;
	char word = 0;
	pid_t pid;

	/* It begins when its namespace is known here. */
	if (pipe2(go, O_CLOEXEC))
		return -errno;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid) {
		close(go[1]);
		if (read(go[0], &word, 1) != 1)
			_exit(1);
		close(go[0]);
		if (q->ntrees)
			view_run(r);
		view_try(r);
	}
	if (pid < 0)
		err = -errno;
	else if (q->ntrees)
		err = view_remember(pid, q);
	if (!err && write(go[1], &word, 1) != 1)
		err = -errno;
	close(go[0]);
	close(go[1]);
	if (err)
		request_tell(r->fds[LAUNCH_FD_NEWS], LAUNCH_NAMESPACE, -err);
	return 0;
}
