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

static int cgroup_make_path(const char *root)
{
	char path[PATH_MAX];
	size_t n = strlen(root);

	if (n >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, root, n + 1);
	for (char *at = path + 1;; at++) {
		char end = *at;

		if (end && end != '/')
			continue;
		*at = '\0';
		if (mkdir(path, 0755) && errno != EEXIST && access(path, F_OK))
			return -errno;
		*at = end;
		if (!end)
			return 0;
	}
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

static void cgroup_enable_path(const char *root)
{
	char path[PATH_MAX];
	struct statfs fs;

	snprintf(path, sizeof(path), "%s", root);
	for (char *at = path + 1;; at++) {
		char end = *at;
		int fd;

		if (end && end != '/')
			continue;
		*at = '\0';
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
			cgroup_enable(fd);
		if (fd >= 0)
			close(fd);
		*at = end;
		if (!end)
			return;
	}
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
	char text[24] = "", wanted[24];

	snprintf(wanted, sizeof(wanted), "%u", (unsigned int)uid);
	if (fgetxattr(fd, LAUNCH_NOTE_USER, text, sizeof(text) - 1) < 0)
		return errno == EOPNOTSUPP;
	return !strcmp(text, wanted);
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
	fd = openat(cgroup_guests, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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
	char text[LAUNCH_NOTE_PROCESS] = "";

	/* Kernels before 5.7 have no such attributes: there each stays for its own. */
	if (fgetxattr(cgroup_guests, LAUNCH_NOTE_LAUNCHER, text, sizeof(text) - 1) > 0 &&
	    strcmp(text, cgroup_launcher))
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
	fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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
	static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs fs;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		int fd = open(mounts[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
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

/* The path in the line of cgroup 2, without its '/', into `line`. 0 or -errno. */
static int cgroup_path(int process, char line[PATH_MAX + 8], char **path)
{
	int fd = openat(process, "cgroup", O_RDONLY | O_CLOEXEC), err = -ENOENT;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (err && fgets(line, PATH_MAX + 8, f)) {
		if (strncmp(line, "0::/", 4))
			continue;
		line[strcspn(line, "\n")] = '\0';
		*path = line + 4;
		err = 0;
	}
	fclose(f);
	return err;
}

int cgroup_folder(int process)
{
	char line[PATH_MAX + 8] = "", *path = line;
	int top, fd, err = cgroup_path(process, line, &path);

	if (err)
		return err;
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
	char text[24] = "", wanted[24];

	snprintf(wanted, sizeof(wanted), "%llu", (unsigned long long)space);
	return fgetxattr(fd, LAUNCH_NOTE_NAMESPACE, text, sizeof(text) - 1) > 0 &&
	       !strcmp(text, wanted);
}

void cgroup_kill_in(ino_t space)
{
	int fd = cgroup_guests < 0 ? -1
				   : openat(cgroup_guests, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	int guest;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((d = readdir(dir))) {
		if (d->d_type != DT_DIR || *d->d_name == '.')
			continue;
		guest = openat(cgroup_guests, d->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (guest < 0)
			continue;
		if (cgroup_is_in(guest, space))
			folder_write(guest, "cgroup.kill", "1");
		close(guest);
	}
	closedir(dir);
}

/* ---- start ---- */

/* The user of a session that an earlier launcher has made. */
static uid_t cgroup_user(int above, const char *id)
{
	int fd = above == cgroup_guests
			 ? -1
			 : openat(above, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uid_t uid = FOLDER_NOBODY;
	char text[24] = "";

	if (fd < 0)
		return uid;
	if (fgetxattr(fd, LAUNCH_NOTE_USER, text, sizeof(text) - 1) > 0)
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
	int fd = openat(above, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	struct folder *f;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((d = readdir(dir))) {
		if (d->d_type != DT_DIR || *d->d_name == '.' || strlen(d->d_name) >= LAUNCH_ID_MAX)
			continue;
		f = folder_watch(above, d->d_name, cgroup_user(above, d->d_name));
		if (!f)
			continue;
		if (above == cgroup_guests)
			folder_end_again(f);
		folder_look(f);
	}
	closedir(dir);
}

int cgroup_open(const char *root, int *changes)
{
	struct statfs fs;

	*changes = -1;
	if (cgroup_make_path(root) || statfs(root, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
		return 0;
	cgroup_enable_path(root);
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
	cgroup_enable(cgroup_guests);
	cgroup_enable(cgroup_sessions[false]);
	cgroup_enable(cgroup_sessions[true]);
	cgroup_take_over(cgroup_sessions[false]);
	cgroup_take_over(cgroup_sessions[true]);
	cgroup_take_over(cgroup_guests);
	caller_say(getpid(), cgroup_launcher);
	fsetxattr(cgroup_guests, LAUNCH_NOTE_LAUNCHER, cgroup_launcher, strlen(cgroup_launcher), 0);
	return 0;
}
