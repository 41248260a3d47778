// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The node's directories in the cgroup v2 tree: managed/SESSION for what `ehctl run` started,
 * all/SESSION for `ehctl run --all`, guest/ID for tasks of other nodes. Each is made with its first
 * process, and removed when it is empty, which the kernel reports through cgroup.events. Nothing is
 * kept that the tree does not have: the next launcher goes on with what it finds there.
 */
#include "launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CGROUP_WEIGHT_MANAGED "100"
#define CGROUP_WEIGHT_GUEST "50" /* the owner's own work goes first */

/* The directory of a session or guest. */
struct cgroup_folder {
	struct cgroup_folder *next;
	int above; /* descriptor of managed/, all/ or guest/ */
	int watch; /* inotify descriptor of its cgroup.events */
	char id[LAUNCH_ID_MAX];
};

/* managed/ and all/, and guest/; -1: there are no cgroups */
static int cgroup_sessions[] = { -1, -1 }, cgroup_guests = -1;
static int cgroup_inotify = -1;
static struct cgroup_folder *cgroup_folders;

int cgroup_write(int folder, const char *name, const char *text)
{
	int fd = openat(folder, name, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

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
 * Guests then do without, which is no reason to fail.
 */
static void cgroup_enable(int folder)
{
	static const char *const controllers[] = { "+cpu", "+pids", "+memory", "+io" };

	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++)
		cgroup_write(folder, "cgroup.subtree_control", controllers[i]);
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
	cgroup_write(fd, "cpu.weight", weight);
	cgroup_write(fd, "io.weight", io);
	return fd;
}

/* ---- guests ---- */

static bool cgroup_is_empty(int above, const char *id)
{
	char name[LAUNCH_ID_MAX + 16], text[128];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%s/cgroup.events", id);
	fd = openat(above, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	return !strstr(text, "populated 1");
}

static struct cgroup_folder *cgroup_watch(int above, const char *id)
{
	char path[LAUNCH_ID_MAX + 64];
	struct cgroup_folder *f = malloc(sizeof(*f));

	if (!f)
		return NULL;
	f->above = above;
	strcpy(f->id, id);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s/cgroup.events", above, id);
	f->watch = inotify_add_watch(cgroup_inotify, path, IN_MODIFY);
	if (f->watch < 0) {
		free(f);
		return NULL;
	}
	f->next = cgroup_folders;
	cgroup_folders = f;
	return f;
}

static void cgroup_forget(struct cgroup_folder *f)
{
	struct cgroup_folder **at;

	for (at = &cgroup_folders; *at != f; at = &(*at)->next)
		;
	*at = f->next;
	inotify_rm_watch(cgroup_inotify, f->watch);
	free(f);
}

/* Removes it if it is empty; otherwise the next event tries again. */
static void cgroup_try_remove(struct cgroup_folder *f)
{
	if (!cgroup_is_empty(f->above, f->id))
		return;
	/* Busy: one has been moved there. Not empty: a guest of root has made directories there. */
	if (unlinkat(f->above, f->id, AT_REMOVEDIR) && errno == EBUSY)
		return;
	cgroup_forget(f);
}

void cgroup_take(void)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *e;
	ssize_t n;

	while ((n = read(cgroup_inotify, buf, sizeof(buf))) > 0)
		for (char *at = buf; at < buf + n; at += sizeof(*e) + e->len) {
			struct cgroup_folder *f, *next;

			e = (const struct inotify_event *)at;
			for (f = cgroup_folders; f; f = next) {
				next = f->next;
				/* After an overflow all of them are looked at. */
				if (f->watch == e->wd || e->mask & IN_Q_OVERFLOW)
					cgroup_try_remove(f);
			}
		}
}

static void cgroup_limit(int folder)
{
	char text[24] = "max";

	if (rules.guest_pids)
		snprintf(text, sizeof(text), "%u", rules.guest_pids);
	cgroup_write(folder, "pids.max", text);
	if (!rules.guest_memory)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)rules.guest_memory << 20);
	cgroup_write(folder, "memory.max", text);
}

/* Kernels before 5.7 have no such attributes: there any guest may be joined. */
static int cgroup_note_user(int fd, uid_t uid)
{
	char text[24];

	return fsetxattr(fd, LAUNCH_NOTE_USER, text,
			 snprintf(text, sizeof(text), "%u", (unsigned int)uid), 0) &&
			       errno != EOPNOTSUPP ?
		       -errno :
		       0;
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
	if (!err && made && !cgroup_watch(cgroup_guests, id))
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

/* There may be no process in it, or none any more. */
static void cgroup_look(int above, const char *id)
{
	for (struct cgroup_folder *f = cgroup_folders; f; f = f->next)
		if (f->above == above && !strcmp(f->id, id)) {
			cgroup_try_remove(f);
			return;
		}
}

void cgroup_begun(const char *id, int fd)
{
	if (fd < 0)
		return;
	close(fd);
	cgroup_look(cgroup_guests, id);
}

/* ---- sessions ---- */

int cgroup_session(const char *name, bool leaves)
{
	const int above = cgroup_sessions[leaves];
	int fd;

	if (above < 0)
		return -ENOENT;
	if (mkdirat(above, name, 0755))
		return -errno;
	fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !cgroup_watch(above, name)) {
		unlinkat(above, name, AT_REMOVEDIR);
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	return fd;
}

void cgroup_session_made(const char *name, bool leaves, int fd)
{
	close(fd);
	cgroup_look(cgroup_sessions[leaves], name);
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

/* The top of the tree, where all paths of /proc/PID/cgroup begin. */
static int cgroup_top(void)
{
	int fd = fcntl(cgroup_sessions[false], F_DUPFD_CLOEXEC, 0), above;

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
		is = is || fstat(fd, &it) || (it.st_ino == guests.st_ino && it.st_dev == guests.st_dev);
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

int cgroup_of(int process)
{
	char line[PATH_MAX + 8], *path;
	int top, fd, err;

	if (cgroup_sessions[false] < 0)
		return -ENOENT;
	err = cgroup_path(process, line, &path);
	if (err)
		return err;
	/* Outside of what this process sees of the tree. */
	if (!strncmp(path, "..", 2) && (!path[2] || path[2] == '/'))
		return -EPERM;
	top = cgroup_top();
	fd = openat(top, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = -errno;
	close(top);
	if (fd < 0)
		return err;
	if (!cgroup_is_guest(fd))
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
	char name[LAUNCH_ID_MAX + 16];
	int err = -ENOENT;

	snprintf(name, sizeof(name), "%s/cgroup.kill", r->kill.id);
	if (cgroup_guests >= 0)
		err = cgroup_write(cgroup_guests, name, "1");
	tell(r->fds[LAUNCH_FD_NEWS], err ? LAUNCH_CGROUP : LAUNCH_READY, -err);
	return 0;
}

/* ---- start ---- */

/* What an earlier launcher has left goes on. */
static void cgroup_take_over(int above)
{
	int fd = openat(above, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct cgroup_folder *f;
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((d = readdir(dir))) {
		if (d->d_type != DT_DIR || *d->d_name == '.' || strlen(d->d_name) >= LAUNCH_ID_MAX)
			continue;
		f = cgroup_watch(above, d->d_name);
		if (f)
			cgroup_try_remove(f);
	}
	closedir(dir);
}

int cgroup_open(const char *root)
{
	struct statfs fs;

	if (cgroup_make_path(root) || statfs(root, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
		return -1;
	cgroup_enable_path(root);
	cgroup_sessions[false] = cgroup_make(root, "managed", CGROUP_WEIGHT_MANAGED);
	cgroup_sessions[true] = cgroup_make(root, "all", CGROUP_WEIGHT_MANAGED);
	cgroup_guests = cgroup_make(root, "guest", CGROUP_WEIGHT_GUEST);
	cgroup_inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (cgroup_sessions[false] < 0 || cgroup_sessions[true] < 0 || cgroup_guests < 0 ||
	    cgroup_inotify < 0) {
		cgroup_sessions[false] = cgroup_sessions[true] = cgroup_guests = -1;
		return -1;
	}
	cgroup_enable(cgroup_guests);
	cgroup_enable(cgroup_sessions[false]);
	cgroup_enable(cgroup_sessions[true]);
	cgroup_take_over(cgroup_sessions[false]);
	cgroup_take_over(cgroup_sessions[true]);
	cgroup_take_over(cgroup_guests);
	return cgroup_inotify;
}
