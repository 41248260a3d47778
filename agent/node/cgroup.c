// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The node's directories in the cgroup v2 tree: managed/SESSION for what `ehctl run` started,
 * all/SESSION for `ehctl run --all`, guest/ID for tasks of other nodes. ehlaunch makes and removes
 * them; here they are read.
 */

#include "node/cgroup.h"

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

#include "base/agent.h"
#include "base/ehlaunch.h"
#include "base/log.h"
#include "base/process.h"
#include "wire/launch.h"
#include "wire/view.h"

#define CGROUP_NOTE 24 /* bytes of a value, with its NUL */
#define CGROUP_TEXT 1024 /* of a file of which the beginning matters */
#define CGROUP_PATH (PATH_MAX + 8) /* of a line of /proc/PID/cgroup */

enum cgroup_kind { CGROUP_MANAGED, CGROUP_ALL, CGROUP_GUEST, CGROUP_KINDS };

static const char *const cgroup_names[CGROUP_KINDS] = { "managed", "all", "guest" };

struct cgroup {
	int fds[CGROUP_KINDS]; /* -1: none */
	char mount[PATH_MAX]; /* where the tree begins */
};

int cgroup_managed_fd(struct agent *agent)
{
	return agent->cgroup->fds[CGROUP_MANAGED];
}

int cgroup_guest_fd(struct agent *agent)
{
	return agent->cgroup->fds[CGROUP_GUEST];
}

/* ---- files of a directory ---- */

/* Reads a short file of a directory. -errno: it cannot. */
static int cgroup_read(struct agent *agent, enum cgroup_kind kind, const char *directory,
		       const char *file, char text[CGROUP_TEXT])
{
	char name[320];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%s/%s", directory, file);
	fd = openat(agent->cgroup->fds[kind], name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, CGROUP_TEXT - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return n;
	text[n] = '\0';
	return 0;
}

/* Whether it has processes: 1 or 0, or -errno: not known. -ENOENT: it is not there; -EBADF: none is. */
static int cgroup_look(struct agent *agent, enum cgroup_kind kind, const char *directory)
{
	char text[CGROUP_TEXT];
	int err = cgroup_read(agent, kind, directory, "cgroup.events", text);

	return err ?: !!strstr(text, "populated 1");
}

/* Also if that is not known. */
static bool cgroup_populated(struct agent *agent, enum cgroup_kind kind, const char *directory)
{
	const int has = cgroup_look(agent, kind, directory);

	return has && has != -ENOENT && has != -EBADF;
}

/* Reads what ehlaunch has noted of a directory. False: there is no such note. */
static bool cgroup_noted(struct agent *agent, enum cgroup_kind kind, const char *directory,
			 const char *note, char value[CGROUP_NOTE])
{
	char path[320];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", agent->cgroup->fds[kind], directory);
	n = getxattr(path, note, value, CGROUP_NOTE - 1);
	if (n >= 0)
		value[n] = '\0';
	return n >= 0;
}

/* Where a process is, by its /proc/PID/cgroup, which is closed. False: not known. */
static bool cgroup_path_of(FILE *f, char path[CGROUP_PATH])
{
	bool found = false;

	while (f && !found && fgets(path, CGROUP_PATH, f))
		found = !strncmp(path, "0::", 3);
	if (f)
		fclose(f);
	if (found)
		memmove(path, path + 3, strcspn(path + 3, "\n") + 1);
	path[found ? strcspn(path, "\n") : 0] = '\0';
	return found;
}

/* Calls `call` with the name of each directory that has processes. */
static void cgroup_each(struct agent *agent, enum cgroup_kind kind,
			void (*call)(void *ctx, const char *name), void *ctx)
{
	int fd = openat(agent->cgroup->fds[kind], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (d = readdir(dir)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.' &&
		    cgroup_populated(agent, kind, d->d_name))
			call(ctx, d->d_name);
	if (dir)
		closedir(dir);
}

/* ---- guests ---- */

/*
 * Whether it is in this guest's directory, and not in one that somebody has made with the same name
 * elsewhere.
 */
static bool cgroup_proc_has(const struct cgroup *c, int proc, const char *id)
{
	char its_path[CGROUP_PATH], path[CGROUP_PATH + PATH_MAX];
	struct stat its, wanted;

	if (!cgroup_path_of(process_open(proc, "cgroup"), its_path))
		return false;
	snprintf(path, sizeof(path), "%s%s", c->mount, its_path);
	return !stat(path, &its) && !fstatat(c->fds[CGROUP_GUEST], id, &wanted, 0) &&
	       its.st_ino == wanted.st_ino && its.st_dev == wanted.st_dev;
}

bool cgroup_guest_has(struct agent *agent, const char *id, pid_t pid, uint64_t ticks)
{
	struct process process;
	char path[32];
	bool has;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	has = !process_look_at(fd, &process) && process.start && process.start <= ticks &&
	      cgroup_proc_has(agent->cgroup, fd, id);
	close(fd);
	return has;
}

/* What ehlaunch has noted of a guest, or `none`. */
static uint64_t cgroup_guest_note(struct agent *agent, const char *id, const char *note,
				  uint64_t none)
{
	char value[CGROUP_NOTE];

	return cgroup_noted(agent, CGROUP_GUEST, id, note, value) && *value
		       ? strtoull(value, NULL, 10)
		       : none;
}

uint64_t cgroup_guest_view(struct agent *agent, const char *id)
{
	return cgroup_guest_note(agent, id, LAUNCH_NOTE_NAMESPACE, 0);
}

uid_t cgroup_guest_user(struct agent *agent, const char *id, uid_t none)
{
	return cgroup_guest_note(agent, id, LAUNCH_NOTE_USER, none);
}

/* The number behind `word` in a file of a guest's directory, or in all of it without one; -1: none. */
static int64_t cgroup_guest_number(struct agent *agent, const char *id, const char *file,
				   const char *word)
{
	char text[CGROUP_TEXT], *at = text;

	if (cgroup_read(agent, CGROUP_GUEST, id, file, text) || !*text)
		return -1;
	if (word)
		at = strstr(text, word);
	return at ? strtoll(at + (word ? strlen(word) : 0), NULL, 10) : -1;
}

int cgroup_guest_usage(struct agent *agent, const char *id, double *cpu, int64_t *memory)
{
	int64_t us = cgroup_guest_number(agent, id, "cpu.stat", "usage_usec ");

	if (us < 0)
		return -ENOENT;
	*cpu = (double)us / 1e6;
	*memory = cgroup_guest_number(agent, id, "memory.current", NULL);
	return 0;
}

int64_t cgroup_guest_starved(struct agent *agent, const char *id)
{
	return cgroup_guest_number(agent, id, "memory.events", "oom_kill ");
}

void cgroup_guest_each(struct agent *agent, void (*call)(void *ctx, const char *id), void *ctx)
{
	cgroup_each(agent, CGROUP_GUEST, call, ctx);
}

bool cgroup_guest_empty(struct agent *agent, const char *id)
{
	int has;

	/* An ID is what another node says. */
	if (cgroup_guest_fd(agent) < 0 || !*id || *id == '.' || strchr(id, '/'))
		return false;
	has = cgroup_look(agent, CGROUP_GUEST, id);
	return !has || has == -ENOENT;
}

void cgroup_guest_kill(struct agent *agent, const char *id)
{
	struct launch_kill kill = { .head.kind = LAUNCH_KILL };
	const struct ehlaunch_request q = { .head = &kill.head, .size = sizeof(kill) };
	int answer;

	if (!cgroup_populated(agent, CGROUP_GUEST, id))
		return;
	snprintf(kill.id, sizeof(kill.id), "%s", id);
	answer = ehlaunch_ask(agent, &q);
	if (answer >= 0)
		close(answer);
	else
		log_warning("guest %s: cannot have it killed by ehlaunch: %s", id,
			    strerror(-answer));
}

/* ---- where a process is ---- */

/* The directory of a session or guest: `name` in that of this kind. */
struct cgroup_place {
	enum cgroup_kind kind;
	char name[64];
};

/*
 * Finds a directory of ours in a path of /proc/PID/cgroup. There may be directories above ours, and the
 * task's own below.
 */
static bool cgroup_find_place(struct agent *agent, const char *path, enum cgroup_kind kind,
			      struct cgroup_place *out)
{
	const size_t n = strlen(cgroup_names[kind]);
	struct stat st;

	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		size_t length;

		if (strncmp(at + 1, cgroup_names[kind], n) || at[n + 1] != '/')
			continue;
		length = strcspn(at + n + 2, "/");
		if (!length || length >= sizeof(out->name))
			continue;
		memcpy(out->name, at + n + 2, length);
		out->name[length] = '\0';
		out->kind = kind;
		if (!fstatat(agent->cgroup->fds[kind], out->name, &st, AT_SYMLINK_NOFOLLOW))
			return true;
	}
	return false;
}

/* Where this process is. False: in no session, and no guest. */
static bool cgroup_place_of(struct agent *agent, pid_t pid, struct cgroup_place *out)
{
	char name[40], path[CGROUP_PATH];

	if (agent->cgroup->fds[CGROUP_MANAGED] < 0)
		return false;
	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	if (!cgroup_path_of(fopen(name, "re"), path))
		return false;
	for (int i = 0; i < CGROUP_KINDS; i++)
		if (cgroup_find_place(agent, path, i, out))
			return true;
	return false;
}

struct cgroup_session cgroup_session_of(struct agent *agent, pid_t pid)
{
	struct cgroup_session s = { .view = VIEW_UNSET };
	struct cgroup_place at;
	char value[CGROUP_NOTE];

	if (!cgroup_place_of(agent, pid, &at))
		return s;
	s.guest = at.kind == CGROUP_GUEST;
	if (s.guest)
		return s;
	s.leaves = at.kind == CGROUP_ALL;
	s.retries = cgroup_noted(agent, at.kind, at.name, LAUNCH_NOTE_RETRY, value);
	if (cgroup_noted(agent, at.kind, at.name, LAUNCH_NOTE_VIEW, value))
		s.view = view_parse(value);
	return s;
}

bool cgroup_session_name(struct agent *agent, pid_t pid, char name[64])
{
	struct cgroup_place at;

	if (!cgroup_place_of(agent, pid, &at) || at.kind == CGROUP_GUEST)
		return false;
	strcpy(name, at.name);
	return true;
}

struct cgroup_seen {
	struct agent *agent;
	uint64_t view;
	bool found;
};

static void cgroup_see(void *ctx, const char *id)
{
	struct cgroup_seen *s = ctx;

	s->found = s->found || cgroup_guest_view(s->agent, id) == s->view;
}

bool cgroup_guest_sees(struct agent *agent, uint64_t view)
{
	struct cgroup_seen s = { .agent = agent, .view = view };

	cgroup_each(agent, CGROUP_GUEST, cgroup_see, &s);
	return s.found;
}

void cgroup_session_each(struct agent *agent, void (*call)(void *ctx, const char *name), void *ctx)
{
	if (agent->cgroup->fds[CGROUP_MANAGED] < 0)
		return;
	cgroup_each(agent, CGROUP_MANAGED, call, ctx);
	cgroup_each(agent, CGROUP_ALL, call, ctx);
}

void cgroup_session_processes(struct agent *agent, const char *name,
			      void (*call)(void *ctx, pid_t pid), void *ctx)
{
	char path[320];
	FILE *f;
	int pid;

	if (agent->cgroup->fds[CGROUP_MANAGED] < 0 || strchr(name, '/') || *name == '.')
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", name);
	for (int kind = CGROUP_MANAGED; kind <= CGROUP_ALL; kind++) {
		f = process_open(agent->cgroup->fds[kind], path);
		while (f && fscanf(f, "%d", &pid) == 1)
			call(ctx, pid);
		if (f)
			fclose(f);
	}
}

/* ---- start ---- */

static int cgroup_open(struct agent *agent, const char *root, enum cgroup_kind kind)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", root, cgroup_names[kind]) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	agent->cgroup->fds[kind] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return agent->cgroup->fds[kind] < 0 ? -errno : 0;
}

/* The directory furthest up that is in the same file system; "" is /. */
static int cgroup_find_mount(struct cgroup *c, const char *root)
{
	struct stat top, above;
	char *at;

	if (snprintf(c->mount, sizeof(c->mount), "%s", root) >= (int)sizeof(c->mount))
		return -ENAMETOOLONG;
	if (stat(root, &top))
		return -errno;
	while ((at = strrchr(c->mount, '/'))) {
		*at = '\0';
		if (stat(at == c->mount ? "/" : c->mount, &above))
			return -errno;
		if (above.st_dev != top.st_dev) {
			*at = '/';
			break;
		}
	}
	return 0;
}

/* On error the caller frees what is open, with cgroup_close(). 0 or -errno. */
static int cgroup_start(struct agent *agent, const char *root)
{
	struct statfs fs;
	int err;

	if (statfs(root, &fs))
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return -EMEDIUMTYPE;
	err = cgroup_find_mount(agent->cgroup, root);
	for (int i = 0; i < CGROUP_KINDS && !err; i++)
		err = cgroup_open(agent, root, i);
	return err;
}

static void cgroup_close(struct agent *agent)
{
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
	*agent->cgroup = (struct cgroup){ .fds = { -1, -1, -1 } };
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
