// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The node's directories in the cgroup v2 tree: managed/SESSION for what `ehctl run` started,
 * guest/ID for tasks of other nodes. Each is removed when it is empty, which the kernel reports
 * through cgroup.events.
 */

#include "node/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/log.h"
#include "wire/view.h"

#define CGROUP_WEIGHT_MANAGED "100"
#define CGROUP_WEIGHT_GUEST "50" /* the owner's own work goes first */
/* on a session's directory, so that it outlives the agent */
#define CGROUP_RETRY "user.ehsched.retry"
#define CGROUP_VIEW "user.ehsched.view" /* likewise; a view_name() */
#define CGROUP_NOTE 16 /* bytes of a value, with its NUL */

enum cgroup_kind { CGROUP_MANAGED, CGROUP_GUEST, CGROUP_KINDS };

static const char *const cgroup_names[CGROUP_KINDS] = { "managed", "guest" };

/* A directory that is removed when it is empty. */
struct cgroup_folder {
	struct cgroup_folder *next;
	enum cgroup_kind kind;
	int watch; /* inotify descriptor of its cgroup.events */
	bool used; /* by a guest of this agent: stays when it is empty, too */
	char name[];
};

struct cgroup {
	int fds[CGROUP_KINDS]; /* -1: none */
	int inotify;
	struct event *event;
	struct cgroup_folder *folders;
	unsigned int counter; /* makes session names unique */
};

int cgroup_managed_fd(struct agent *agent)
{
	return agent->cgroup->fds[CGROUP_MANAGED];
}

int cgroup_guest_fd(struct agent *agent)
{
	return agent->cgroup->fds[CGROUP_GUEST];
}

/* ---- files of a folder ---- */

static int cgroup_write(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static bool cgroup_populated(struct agent *agent, enum cgroup_kind kind, const char *folder)
{
	char name[320], text[128];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%s/cgroup.events", folder);
	fd = openat(agent->cgroup->fds[kind], name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return true;
	text[n] = '\0';
	return strstr(text, "populated 1");
}

/* Kernels before 5.14 have no cgroup.kill. Several rounds catch tasks that fork meanwhile. */
static void cgroup_kill_each(struct agent *agent, enum cgroup_kind kind, const char *folder)
{
	char name[320];

	snprintf(name, sizeof(name), "%s/cgroup.procs", folder);
	for (int round = 0; round < 16; round++) {
		int fd = openat(agent->cgroup->fds[kind], name, O_RDONLY | O_CLOEXEC), pid, n = 0;
		FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

		if (!f) {
			if (fd >= 0)
				close(fd);
			return;
		}
		while (fscanf(f, "%d", &pid) == 1 && pid > 0) {
			n++;
			kill(pid, SIGKILL);
		}
		fclose(f);
		if (!n)
			return;
	}
}

static void cgroup_kill(struct agent *agent, enum cgroup_kind kind, const char *folder)
{
	char name[320];

	snprintf(name, sizeof(name), "%s/cgroup.kill", folder);
	if (cgroup_write(agent->cgroup->fds[kind], name, "1"))
		cgroup_kill_each(agent, kind, folder);
}

/* ---- watched folders ---- */

static struct cgroup_folder *cgroup_find(struct agent *agent, enum cgroup_kind kind,
					 const char *name)
{
	struct cgroup_folder *f;

	for (f = agent->cgroup->folders; f; f = f->next)
		if (f->kind == kind && !strcmp(f->name, name))
			return f;
	return NULL;
}

static void cgroup_forget(struct agent *agent, struct cgroup_folder *f)
{
	struct cgroup_folder **at;

	for (at = &agent->cgroup->folders; *at != f; at = &(*at)->next)
		;
	*at = f->next;
	inotify_rm_watch(agent->cgroup->inotify, f->watch);
	free(f);
}

static struct cgroup_folder *cgroup_watch(struct agent *agent, enum cgroup_kind kind,
					  const char *name)
{
	struct cgroup_folder *f = malloc(sizeof(*f) + strlen(name) + 1);
	char path[400];

	if (!f)
		return NULL;
	f->kind = kind;
	f->used = false;
	strcpy(f->name, name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s/cgroup.events", agent->cgroup->fds[kind],
		 name);
	f->watch = inotify_add_watch(agent->cgroup->inotify, path, IN_MODIFY);
	if (f->watch < 0) {
		free(f);
		return NULL;
	}
	f->next = agent->cgroup->folders;
	agent->cgroup->folders = f;
	return f;
}

/* Removes it if it is empty and not in use; otherwise the next event tries again. */
static void cgroup_try_remove(struct agent *agent, struct cgroup_folder *f)
{
	if (f->used || cgroup_populated(agent, f->kind, f->name))
		return;
	if (unlinkat(agent->cgroup->fds[f->kind], f->name, AT_REMOVEDIR) && errno != ENOENT) {
		/* The task made directories of its own inside it. */
		log_debug("%s/%s: %s", cgroup_names[f->kind], f->name, strerror(errno));
		if (errno == EBUSY)
			return;
	}
	cgroup_forget(agent, f);
}

static void cgroup_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *e;
	ssize_t n;

	while ((n = read(agent->cgroup->inotify, buf, sizeof(buf))) > 0) {
		for (char *at = buf; at < buf + n; at += sizeof(*e) + e->len) {
			struct cgroup_folder *f, *next;

			e = (const struct inotify_event *)at;
			for (f = agent->cgroup->folders; f; f = next) {
				next = f->next;
				/* On overflow check all of them. This call may free f. */
				if (f->watch == e->wd || e->mask & IN_Q_OVERFLOW)
					cgroup_try_remove(agent, f);
			}
		}
	}
}

/* ---- guests ---- */

int cgroup_guest_begin(struct agent *agent, const char *id)
{
	struct cgroup_folder *f = cgroup_find(agent, CGROUP_GUEST, id);
	int fd, err;

	/* Its first end has found that it needs home's files: this is for the second one. */
	if (f && f->used) {
		fd = openat(agent->cgroup->fds[CGROUP_GUEST], id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	if (mkdirat(agent->cgroup->fds[CGROUP_GUEST], id, 0755))
		return -errno;
	fd = openat(agent->cgroup->fds[CGROUP_GUEST], id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		goto remove_folder;
	f = cgroup_watch(agent, CGROUP_GUEST, id);
	if (f) {
		f->used = true;
		return fd;
	}
	close(fd);
	errno = ENOMEM;
remove_folder:
	err = -errno;
	unlinkat(agent->cgroup->fds[CGROUP_GUEST], id, AT_REMOVEDIR);
	return err;
}

bool cgroup_guest_has(struct agent *agent, const char *id, pid_t pid)
{
	char name[320];
	long member;
	bool has = false;
	FILE *f;
	int fd;

	snprintf(name, sizeof(name), "%s/cgroup.procs", id);
	fd = openat(agent->cgroup->fds[CGROUP_GUEST], name, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!has && fscanf(f, "%ld", &member) == 1)
		has = member == pid;
	fclose(f);
	return has;
}

bool cgroup_guest_adopt(struct agent *agent, const char *id)
{
	struct cgroup_folder *f = cgroup_find(agent, CGROUP_GUEST, id);

	if (f)
		f->used = true;
	return f;
}

void cgroup_guest_kill(struct agent *agent, const char *id)
{
	cgroup_kill(agent, CGROUP_GUEST, id);
}

void cgroup_guest_end(struct agent *agent, const char *id)
{
	struct cgroup_folder *f = cgroup_find(agent, CGROUP_GUEST, id);

	if (!f)
		return;
	f->used = false;
	if (cgroup_populated(agent, CGROUP_GUEST, id))
		cgroup_kill(agent, CGROUP_GUEST, id);
	cgroup_try_remove(agent, f);
}

void cgroup_guest_end_orphans(struct agent *agent)
{
	struct cgroup_folder *f, *next;

	for (f = agent->cgroup->folders; f; f = next) {
		next = f->next;
		if (f->kind != CGROUP_GUEST || f->used)
			continue;
		log_info("guest %s of an earlier agent did not come back: killing it", f->name);
		cgroup_guest_end(agent, f->name);
	}
}

/* ---- sessions ---- */

/* Characters of the user's choice that suit a file name, then the pid and a number. */
static void cgroup_session_name(struct agent *agent, char name[64], const char *wish, pid_t pid)
{
	size_t n = 0;

	for (; wish && *wish && n < 40; wish++)
		name[n++] = isalnum((unsigned char)*wish) || strchr("-_", *wish) ? *wish : '-';
	snprintf(name + n, 64 - n, "%s%d.%u", n ? "." : "s", (int)pid, ++agent->cgroup->counter);
}

/* Kernels before 5.7 have no such attributes; the session's tasks then get the defaults. */
static void cgroup_note(struct agent *agent, const char *name, const char *attribute,
			const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", agent->cgroup->fds[CGROUP_MANAGED],
		 name);
	if (setxattr(path, attribute, value, strlen(value), 0))
		log_warning("session %s: cannot store %s, its tasks run without it: %s", name,
			    attribute, strerror(errno));
}

/* Returns the length of the NUL-terminated value, or -1 if there is none. */
static ssize_t cgroup_read_note(struct agent *agent, const char *name, size_t length,
				const char *attribute, char value[CGROUP_NOTE])
{
	char path[128];
	ssize_t n;

	if (!length || length >= 64)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%.*s", agent->cgroup->fds[CGROUP_MANAGED],
		 (int)length, name);
	n = getxattr(path, attribute, value, CGROUP_NOTE - 1);
	if (n >= 0)
		value[n] = '\0';
	return n;
}

/* Reads a note of the session that this process is in. False: no session, or no such note. */
static bool cgroup_noted(struct agent *agent, pid_t pid, const char *attribute,
			 char value[CGROUP_NOTE])
{
	static const char below[] = "/managed/";
	char path[40], line[PATH_MAX + 8];
	bool found = false;
	const char *at;
	FILE *f;

	if (agent->cgroup->fds[CGROUP_MANAGED] < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::", 3))
			continue;
		/* There may be directories above ours, and the task's own below. */
		for (at = strstr(line, below); at && !found; at = strstr(at, below)) {
			at += strlen(below) - 1;
			found = cgroup_read_note(agent, at + 1, strcspn(at + 1, "/\n"), attribute,
						 value) >= 0;
		}
	}
	fclose(f);
	return found;
}

bool cgroup_session_retries(struct agent *agent, pid_t pid)
{
	char value[CGROUP_NOTE];

	return cgroup_noted(agent, pid, CGROUP_RETRY, value);
}

enum view cgroup_session_view(struct agent *agent, pid_t pid)
{
	char value[CGROUP_NOTE];

	return cgroup_noted(agent, pid, CGROUP_VIEW, value) ? view_parse(value) : VIEW_UNSET;
}

int cgroup_session(struct agent *agent, pid_t pid, const char *wish, bool retry, enum view view,
		   char name[64])
{
	char path[96], text[16];
	struct cgroup_folder *f;
	int err;

	if (agent->cgroup->fds[CGROUP_MANAGED] < 0)
		return -ENOENT;
	cgroup_session_name(agent, name, wish, pid);
	if (mkdirat(agent->cgroup->fds[CGROUP_MANAGED], name, 0755))
		return -errno;
	snprintf(path, sizeof(path), "%s/cgroup.procs", name);
	snprintf(text, sizeof(text), "%d", (int)pid);
	err = cgroup_write(agent->cgroup->fds[CGROUP_MANAGED], path, text);
	f = err ? NULL : cgroup_watch(agent, CGROUP_MANAGED, name);
	if (f && retry)
		cgroup_note(agent, name, CGROUP_RETRY, "");
	if (f && view != VIEW_UNSET)
		cgroup_note(agent, name, CGROUP_VIEW, view_name(view));
	if (!f) {
		/* Without a watch, or with a process in it, it stays until the next start. */
		unlinkat(agent->cgroup->fds[CGROUP_MANAGED], name, AT_REMOVEDIR);
		return err;
	}
	/* The process may have died before the watch was set. */
	cgroup_try_remove(agent, f);
	return 0;
}

/* ---- start ---- */

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
 * cpu.weight needs the cpu controller in each directory from the top of the tree down. The
 * kernel refuses where a directory in between has processes. Guests then have the same weight
 * as other tasks, which is no reason to fail.
 */
static void cgroup_enable_cpu(const char *root)
{
	char path[PATH_MAX];
	struct statfs fs;
	int fd, err;

	snprintf(path, sizeof(path), "%s", root);
	for (char *at = path + 1;; at++) {
		char end = *at;

		if (end && end != '/')
			continue;
		*at = '\0';
		if (!statfs(path, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC) {
			fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			err = fd < 0 ? -errno : cgroup_write(fd, "cgroup.subtree_control", "+cpu");
			if (err)
				log_debug("%s: cannot enable the cpu controller: %s", path,
					  strerror(-err));
			if (fd >= 0)
				close(fd);
		}
		*at = end;
		if (!end)
			return;
	}
}

/* Guests of an earlier agent may connect to this one. Sessions continue. */
static void cgroup_clean(struct agent *agent, enum cgroup_kind kind)
{
	int fd = openat(agent->cgroup->fds[kind], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct cgroup_folder *f;
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((d = readdir(dir))) {
		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		f = cgroup_watch(agent, kind, d->d_name);
		if (!f)
			continue;
		cgroup_try_remove(agent, f);
	}
	closedir(dir);
}

static int cgroup_open(struct agent *agent, const char *root, enum cgroup_kind kind,
		       const char *weight)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", root, cgroup_names[kind]) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	agent->cgroup->fds[kind] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (agent->cgroup->fds[kind] < 0)
		return -errno;
	cgroup_write(agent->cgroup->fds[kind], "cpu.weight", weight);
	return 0;
}

/* On error the caller frees what is open, with cgroup_close(). 0 or -errno. */
static int cgroup_start(struct agent *agent, const char *root)
{
	struct statfs fs;
	int err;

	err = cgroup_make_path(root);
	if (err)
		return err;
	if (statfs(root, &fs))
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return -EMEDIUMTYPE;
	cgroup_enable_cpu(root);
	agent->cgroup->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (agent->cgroup->inotify < 0)
		return -errno;
	agent->cgroup->event = event_new(agent->base, agent->cgroup->inotify, EV_READ | EV_PERSIST,
					 cgroup_on_event, agent);
	if (!agent->cgroup->event || event_add(agent->cgroup->event, NULL))
		return -ENOMEM;
	err = cgroup_open(agent, root, CGROUP_MANAGED, CGROUP_WEIGHT_MANAGED);
	if (err)
		return err;
	err = cgroup_open(agent, root, CGROUP_GUEST, CGROUP_WEIGHT_GUEST);
	if (err)
		return err;
	cgroup_clean(agent, CGROUP_MANAGED);
	cgroup_clean(agent, CGROUP_GUEST);
	return 0;
}

static void cgroup_close(struct agent *agent)
{
	struct cgroup_folder *f;

	while ((f = agent->cgroup->folders)) {
		agent->cgroup->folders = f->next;
		free(f);
	}
	if (agent->cgroup->event)
		event_free(agent->cgroup->event);
	agent->cgroup->event = NULL;
	if (agent->cgroup->inotify >= 0)
		close(agent->cgroup->inotify);
	agent->cgroup->inotify = -1;
	for (int i = 0; i < CGROUP_KINDS; i++) {
		if (agent->cgroup->fds[i] >= 0)
			close(agent->cgroup->fds[i]);
		agent->cgroup->fds[i] = -1;
	}
}

int cgroup_init(struct agent *agent, const char *root)
{
	int err;

	agent->cgroup = malloc(sizeof(*agent->cgroup));
	if (!agent->cgroup)
		return -ENOMEM;
	*agent->cgroup = (struct cgroup){ .fds = { -1, -1 }, .inotify = -1 };
	err = cgroup_start(agent, root);
	if (err)
		cgroup_close(agent);
	return err;
}

void cgroup_exit(struct agent *agent)
{
	if (!agent->cgroup)
		return;
	cgroup_close(agent);
	free(agent->cgroup);
	agent->cgroup = NULL;
}
