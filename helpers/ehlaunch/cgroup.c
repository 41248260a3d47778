// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The node's directories in the cgroup v2 tree: managed/SESSION for what `ehctl run` started,
 * all/SESSION for `ehctl run --all`, guest/ID for tasks of other nodes. Each is made with its first
 * process, and removed when it is empty, which the kernel reports through cgroup.events. Nothing is
 * kept that the tree does not have: the next launcher goes on with what it finds there.
 */
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "caller.h"
#include "folder.h"
#include "helpers/common/names.h"
#include "limits.h"
#include "site.h"

#define CGROUP_WEIGHT_MANAGED "100"
#define CGROUP_WEIGHT_GUEST "50" /* the owner's own work goes first */
/* Each takes a descriptor here, and memory of the kernel: one user must not have them all. root may. */
#define CGROUP_SESSIONS_A_USER 512

/* managed/ and all/, and guest/; -1: there are no cgroups */
static int cgroup_sessions[] = { -1, -1 }, cgroup_guests = -1;
static char cgroup_launcher[LAUNCH_NOTE_PROCESS]; /* this one, as caller_say() says it */

/* ---- the tree ---- */

/* For each directory from the top down to this one. 0, or the first error. */
static int cgroup_each(const char *root, int (*each)(const char *path))
{
	char path[PATH_MAX];
	int err = 0;

	if (snprintf(path, sizeof(path), "%s", root) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	for (char *at = path + 1; !err; at++) {
		char end = *at;

		if (end && end != '/')
			continue;
		*at = '\0';
		err = each(path);
		*at = end;
		if (!end)
			break;
	}
	return err;
}

static int cgroup_make_one(const char *path)
{
	return mkdir(path, 0755) && errno != EEXIST && access(path, F_OK) ? -errno : 0;
}

/* -1: it is not there, or not of version 2. */
static int cgroup_open_one(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * A file of a controller needs the controller in each directory from the top of the tree down. The
 * kernel refuses where a directory in between has processes, or the controller is not there at all.
 * Guests then do without, which is not a reason to fail.
 */
static void cgroup_enable(int folder)
{
	static const char *const controllers[] = { "+cpu", "+pids", "+memory", "+io" };

	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++)
		folder_write(folder, "cgroup.subtree_control", controllers[i]);
}

static int cgroup_enable_one(const char *path)
{
	int fd = cgroup_open_one(path);

	if (fd >= 0) {
		cgroup_enable(fd);
		close(fd);
	}
	return 0;
}

static int cgroup_make(const char *root, const char *name, const char *weight)
{
	char path[PATH_MAX], io[32];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", root, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(io, sizeof(io), "default %s", weight);
	folder_write(fd, "cpu.weight", weight);
	folder_write(fd, "io.weight", io);
	cgroup_enable(fd);
	return fd;
}

/* ---- guests ---- */

static void cgroup_limit(int folder)
{
	char text[LIMITS_CPU_TEXT] = "max";

	if (rules.guest_pids)
		snprintf(text, sizeof(text), "%u", rules.guest_pids);
	folder_write(folder, "pids.max", text);
	if (rules.guest_cpu) {
		limits_cpu(rules.guest_cpu, text);
		folder_write(folder, "cpu.max", text);
	}
	if (!rules.guest_memory)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)rules.guest_memory << 20);
	folder_write(folder, "memory.max", text);
}

/* Kernels before 5.7 have no such attributes: there any guest may be joined. */
static int cgroup_note_user(int fd, uid_t uid)
{
	char text[24];

	return fsetxattr(fd, LAUNCH_NOTE_USER, text,
			 snprintf(text, sizeof(text), "%u", (unsigned int)uid), 0) &&
			       errno != EOPNOTSUPP
		       ? -errno
		       : 0;
}

static bool cgroup_is_of(int fd, uid_t uid)
{
	char text[LAUNCH_NOTE_PROCESS], wanted[24];

	snprintf(wanted, sizeof(wanted), "%u", (unsigned int)uid);
	return folder_note(fd, LAUNCH_NOTE_USER, text) ? !strcmp(text, wanted)
						       : errno == EOPNOTSUPP;
}

int cgroup_begin(const char *id, uid_t uid, bool again, int *out)
{
	bool made;
	int fd, err;

	*out = -1;
	if (cgroup_guests < 0)
		return 0;
	made = !mkdirat(cgroup_guests, id, 0755);
	if (!made && (!again || errno != EEXIST))
		return -errno;
	fd = folder_open(cgroup_guests, id);
	err = fd < 0 ? -errno : 0;
	if (!err)
		err = made ? cgroup_note_user(fd, uid) : cgroup_is_of(fd, uid) ? 0 : -EEXIST;
	if (!err && made && !folder_watch(cgroup_guests, id, FOLDER_NOBODY))
		err = -ENOMEM;
	if (err) {
		if (fd >= 0)
			close(fd);
		if (made)
			unlinkat(cgroup_guests, id, AT_REMOVEDIR);
		return err;
	}
	if (made)
		cgroup_limit(fd);
	*out = fd;
	return 0;
}

void cgroup_begun(const char *id, int fd, pid_t pid, int pidfd)
{
	struct folder *f = fd < 0 ? NULL : folder_find(cgroup_guests, id);

	if (fd >= 0)
		close(fd);
	if (f && pidfd >= 0)
		folder_end(f, pid, pidfd);
	else if (pidfd >= 0)
		close(pidfd);
	/* There may be no process in it, or none any more. */
	if (f)
		folder_look(f);
}

bool cgroup_has_guests(void)
{
	char text[LAUNCH_NOTE_PROCESS];

	/* Where there are no such notes each stays for its own. */
	if (folder_note(cgroup_guests, LAUNCH_NOTE_LAUNCHER, text) && strcmp(text, cgroup_launcher))
		return false;
	return folders_count(cgroup_guests, FOLDER_NOBODY);
}

/* ---- sessions ---- */

static bool cgroup_may_have_more(uid_t uid)
{
	return !uid || folders_count(cgroup_sessions[false], uid) +
				       folders_count(cgroup_sessions[true], uid) <
			       CGROUP_SESSIONS_A_USER;
}

int cgroup_session(const char *name, bool leaves, uid_t uid)
{
	const int above = cgroup_sessions[leaves];
	int fd;

	if (above < 0)
		return -ENOENT;
	if (!cgroup_may_have_more(uid))
		return -EUSERS;
	if (mkdirat(above, name, 0755))
		return -errno;
	fd = folder_open(above, name);
	if (fd < 0 || cgroup_note_user(fd, uid) || !folder_watch(above, name, uid)) {
		unlinkat(above, name, AT_REMOVEDIR);
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	return fd;
}

void cgroup_session_made(const char *name, bool leaves, int fd)
{
	struct folder *f = folder_find(cgroup_sessions[leaves], name);

	close(fd);
	if (f)
		folder_look(f);
}

int cgroup_above(int fd)
{
	int above = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat it, other;

	if (above >= 0 && !fstat(fd, &it) && !fstat(above, &other) && it.st_dev == other.st_dev &&
	    it.st_ino != other.st_ino)
		return above;
	if (above >= 0)
		close(above);
	return -1;
}

/* Where hosts have the tree. -1: nowhere. */
static int cgroup_mount(void)
{
	int fd = cgroup_open_one("/sys/fs/cgroup");

	return fd < 0 ? cgroup_open_one("/sys/fs/cgroup/unified") : fd;
}

/* The top of the tree, where all paths of /proc/PID/cgroup begin. -1: it is not there. */
static int cgroup_top(void)
{
	int fd = cgroup_sessions[false] < 0 ? cgroup_mount()
					    : fcntl(cgroup_sessions[false], F_DUPFD_CLOEXEC, 0);
	int above;

	while (fd >= 0 && (above = cgroup_above(fd)) >= 0) {
		close(fd);
		fd = above;
	}
	return fd;
}

/* Whether this directory is guest/, or below it. */
static bool cgroup_is_guest(int folder)
{
	int fd = fcntl(folder, F_DUPFD_CLOEXEC, 0), above;
	struct stat it, guests;
	bool is = fd < 0 || fstat(cgroup_guests, &guests);

	for (; fd >= 0; fd = above) {
		is = is || fstat(fd, &it) ||
		     (it.st_ino == guests.st_ino && it.st_dev == guests.st_dev);
		above = cgroup_above(fd);
		close(fd);
	}
	return is;
}

/* `path` is without its first '/'. */
static int cgroup_at(const char *path)
{
	int top, fd, err;

	/* Outside of what this process sees of the tree. */
	if (!strncmp(path, "..", 2) && (!path[2] || path[2] == '/'))
		return -EPERM;
	top = cgroup_top();
	if (top < 0)
		return -ENOENT;
	fd = openat(top, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = -errno;
	close(top);
	return fd < 0 ? err : fd;
}

int cgroup_folder(int process)
{
	char *text = caller_read(process, "cgroup");
	int fd = text ? -ENOENT : -errno;
	size_t n = 0;
	const char *path = text ? caller_cgroup(text, "", &n) : NULL;

	if (path && *path == '/') {
		text[path - text + n] = '\0';
		fd = cgroup_at(path + 1);
	}
	free(text);
	return fd;
}

int cgroup_of(int process)
{
	int fd = cgroup_sessions[false] < 0 ? -ENOENT : cgroup_folder(process);

	if (fd < 0 || !cgroup_is_guest(fd))
		return fd;
	close(fd);
	return -EPERM;
}

/* ---- LAUNCH_KILL ---- */

bool cgroup_kill_is_good(const struct request *r)
{
	return r->length == sizeof(r->kill) && r->nfds == LAUNCH_FD_NEWS + 1 &&
	       names_is_id(r->kill.id);
}

int cgroup_kill(const struct request *r)
{
	int err = cgroup_guests < 0 ? -ENOENT : folder_kill(cgroup_guests, r->kill.id);

	request_tell(r->fds[LAUNCH_FD_NEWS], err ? LAUNCH_CGROUP : LAUNCH_READY, -err);
	return 0;
}

int cgroup_guests_folder(void)
{
	return cgroup_guests;
}

static bool cgroup_is_in(int fd, ino_t space)
{
	char text[LAUNCH_NOTE_PROCESS], wanted[24];

	snprintf(wanted, sizeof(wanted), "%llu", (unsigned long long)space);
	return folder_note(fd, LAUNCH_NOTE_NAMESPACE, text) && !strcmp(text, wanted);
}

void cgroup_kill_in(ino_t space)
{
	DIR *dir = cgroup_guests < 0 ? NULL : folder_list(cgroup_guests, ".");
	struct dirent *d;
	int guest;

	while (dir && (d = readdir(dir))) {
		if (d->d_type != DT_DIR || *d->d_name == '.')
			continue;
		guest = folder_open(cgroup_guests, d->d_name);
		if (guest < 0)
			continue;
		if (cgroup_is_in(guest, space))
			folder_write(guest, "cgroup.kill", "1");
		close(guest);
	}
	if (dir)
		closedir(dir);
}

/* ---- start ---- */

/* The user of a session that an earlier launcher has made. */
static uid_t cgroup_user(int above, const char *id)
{
	int fd = above == cgroup_guests ? -1 : folder_open(above, id);
	uid_t uid = FOLDER_NOBODY;
	char text[LAUNCH_NOTE_PROCESS];

	if (fd < 0)
		return uid;
	if (folder_note(fd, LAUNCH_NOTE_USER, text))
		uid = strtoul(text, NULL, 10);
	close(fd);
	return uid;
}

/*
 * Cgroups that an earlier launcher has left are watched again, and removed when they are empty. A guest whose
 * end has gone meanwhile is killed.
 */
static void cgroup_take_over(int above)
{
	DIR *dir = folder_list(above, ".");
	struct dirent *d;
	struct folder *f;

	while (dir && (d = readdir(dir))) {
		if (d->d_type != DT_DIR || *d->d_name == '.' || strlen(d->d_name) >= LAUNCH_ID_MAX)
			continue;
		f = folder_watch(above, d->d_name, cgroup_user(above, d->d_name));
		if (!f)
			continue;
		if (above == cgroup_guests)
			folder_end_again(f);
		folder_look(f);
	}
	if (dir)
		closedir(dir);
}

int cgroup_open(const char *root, int *changes)
{
	struct statfs fs;

	*changes = -1;
	if (cgroup_each(root, cgroup_make_one) || statfs(root, &fs) ||
	    fs.f_type != CGROUP2_SUPER_MAGIC)
		return 0;
	cgroup_each(root, cgroup_enable_one);
	cgroup_sessions[false] = cgroup_make(root, "managed", CGROUP_WEIGHT_MANAGED);
	cgroup_sessions[true] = cgroup_make(root, "all", CGROUP_WEIGHT_MANAGED);
	cgroup_guests = cgroup_make(root, "guest", CGROUP_WEIGHT_GUEST);
	if (cgroup_sessions[false] < 0 || cgroup_sessions[true] < 0 || cgroup_guests < 0) {
		cgroup_sessions[false] = cgroup_sessions[true] = cgroup_guests = -1;
		return 0;
	}
	*changes = folders_open();
	if (*changes < 0)
		return *changes;
	cgroup_take_over(cgroup_sessions[false]);
	cgroup_take_over(cgroup_sessions[true]);
	cgroup_take_over(cgroup_guests);
	caller_say(getpid(), cgroup_launcher);
	fsetxattr(cgroup_guests, LAUNCH_NOTE_LAUNCHER, cgroup_launcher, strlen(cgroup_launcher), 0);
	return 0;
}
