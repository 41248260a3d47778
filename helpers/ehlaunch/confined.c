// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All of this is answered by the kernel at once: no file system is asked, and nothing waits for what a user can hold. Not to
 * be seen here: Landlock domains, memory that never becomes executable (PR_SET_MDWE), securebits.
 */
#include "confined.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "caller.h"
#include "cgroup.h"
#include "origin.h"
#include "site.h"

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62 /* of Linux 5.14 */
#define PR_SCHED_CORE_GET 0
#endif
#define CONFINED_THREAD 0 /* PIDTYPE_PID of the kernel */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#define CONFINED_LANDLOCK_VERSION 1u
#define CONFINED_ROOT (STATX_INO | STATX_MNT_ID) /* which directory it is */

/* Lines of /proc/PID/status, with up to four numbers. */
enum confined_line {
	CONFINED_TRACER,
	CONFINED_UID,
	CONFINED_GID,
	CONFINED_PERMITTED,
	CONFINED_BOUNDING,
	CONFINED_AMBIENT,
	CONFINED_NO_NEW_PRIVS,
	CONFINED_SECCOMP, /* the last one: a kernel without it has no such line */
	CONFINED_LINES
};

static const struct {
	const char *name;
	int base;
} confined_lines[CONFINED_LINES] = {
	[CONFINED_TRACER] = { "TracerPid:", 10 },
	[CONFINED_UID] = { "Uid:", 10 },
	[CONFINED_GID] = { "Gid:", 10 },
	[CONFINED_PERMITTED] = { "CapPrm:", 16 },
	[CONFINED_BOUNDING] = { "CapBnd:", 16 },
	[CONFINED_AMBIENT] = { "CapAmb:", 16 },
	[CONFINED_NO_NEW_PRIVS] = { "NoNewPrivs:", 10 },
	[CONFINED_SECCOMP] = { "Seccomp:", 10 },
};

/* Of Uid and Gid. */
enum { REAL, EFFECTIVE, SAVED, FILES, IDS };

struct confined_status {
	uint64_t of[CONFINED_LINES][IDS];
	bool forced; /* speculation is off for good */
};

static int confined_because(struct confined *found, enum ehs_reason reason, const char *format, ...)
{
	va_list args;

	found->reason = reason;
	va_start(args, format);
	vsnprintf(found->text, sizeof(found->text), format, args);
	va_end(args);
	return 0;
}

/* ---- its status ---- */

static void confined_take_line(char *line, struct confined_status *s, unsigned int *seen)
{
	char *at;

	for (int i = 0; i < CONFINED_LINES; i++) {
		const size_t n = strlen(confined_lines[i].name);

		if (strncmp(line, confined_lines[i].name, n))
			continue;
		at = line + n;
		for (int id = 0; id < IDS; id++)
			s->of[i][id] = strtoull(at, &at, confined_lines[i].base);
		*seen |= 1u << i;
	}
	if (!strncmp(line, "Speculation", 11))
		s->forced |= !!strstr(line, "force");
}

/* 0 or -errno. The name of a program cannot begin a line. */
static int confined_read_status(int folder, struct confined_status *s)
{
	char *text = caller_read(folder, "status"), *rest = text, *line;
	const unsigned int needed = (1u << CONFINED_SECCOMP) - 1;
	unsigned int seen = 0;

	if (!text)
		return -errno;
	*s = (struct confined_status){ 0 };
	while ((line = strsep(&rest, "\n")))
		confined_take_line(line, s, &seen);
	free(text);
	return (seen & needed) == needed ? 0 : -ENOENT;
}

/* ---- what ehlaunch is itself ---- */

#define CONFINED_LINK 64

static const struct {
	const char *link, *name;
} confined_spaces[] = {
	{ "ns/user", "user" },
	{ "ns/mnt", "mount" },
	{ "ns/net", "network" },
	{ "ns/pid", "PID" },
	{ "ns/pid_for_children", "PID (of its children)" },
	{ "ns/uts", "UTS" },
	{ "ns/ipc", "IPC" },
	{ "ns/cgroup", "cgroup" },
	{ "ns/time", "time" },
	{ "ns/time_for_children", "time (of its children)" },
};
#define CONFINED_SPACES (sizeof(confined_spaces) / sizeof(confined_spaces[0]))

/* A security module's name for a thread. Each may have a folder of its own, or none; without any, reading fails. */
static const char *const confined_domains[] = { "attr/current", "attr/apparmor/current",
						"attr/smack/current" };
#define CONFINED_DOMAINS (sizeof(confined_domains) / sizeof(confined_domains[0]))

/*
 * What threads are compared with. ehlaunch changes none of it. If the host does (another root, a renamed domain),
 * threads differ from it and stay until ehlaunch is restarted. Its cgroup, which others may change, is read each time.
 */
static struct {
	bool known;
	int folder; /* /proc/self */
	struct confined_status status;
	struct statx root;
	char spaces[CONFINED_SPACES][CONFINED_LINK]; /* "": there is no such link */
	struct confined_domain {
		char *text;
		int none; /* without a text: errno */
	} domains[CONFINED_DOMAINS];
	bool has_landlock;
} self;

/*
 * Where there is Landlock, no_new_privs is how a process without rights gets into a domain, which nobody sees
 * from outside.
 */
static bool confined_has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, CONFINED_LANDLOCK_VERSION) >= 0 ||
	       (errno != ENOSYS && errno != EOPNOTSUPP);
}

/* 0 or -errno. After an error the next call looks again. */
static int confined_know_self(void)
{
	int err;

	if (self.known)
		return 0;
	self.folder = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self.folder < 0)
		return -errno;
	err = confined_read_status(self.folder, &self.status);
	if (err)
		goto close_folder;
	for (size_t i = 0; i < CONFINED_SPACES; i++) {
		memset(self.spaces[i], 0, CONFINED_LINK);
		if (readlinkat(self.folder, confined_spaces[i].link, self.spaces[i],
			       CONFINED_LINK - 1) < 0 &&
		    errno != ENOENT)
			goto failed;
	}
	if (syscall(SYS_statx, AT_FDCWD, "/", AT_STATX_DONT_SYNC, CONFINED_ROOT, &self.root))
		goto failed;
	for (size_t i = 0; i < CONFINED_DOMAINS; i++) {
		free(self.domains[i].text);
		self.domains[i].text = caller_read(self.folder, confined_domains[i]);
		self.domains[i].none = self.domains[i].text ? 0 : errno;
		if (self.domains[i].none == ENOMEM)
			goto failed;
	}
	self.has_landlock = confined_has_landlock();
	self.known = true;
	return 0;
failed:
	err = -errno;
close_folder:
	close(self.folder);
	return err;
}

/* ---- what it sees ---- */

/* Whether a link says the same, or is not there as ours is not. 0, 1 or -errno. */
static int confined_same_link(int folder, const char *name, const char *ours)
{
	char its[CONFINED_LINK] = "";

	if (readlinkat(folder, name, its, sizeof(its) - 1) < 0 && errno != ENOENT)
		return -errno;
	return !strcmp(its, ours);
}

/*
 * Whether its root is ours: the same place of the same mount. The name is looked at first: of another root, which may be in a
 * file system that does not answer, nothing is asked.
 */
static int confined_same_root(int folder)
{
	const struct statx *ours = &self.root;
	struct statx its;
	char name[2];
	const ssize_t n = readlinkat(folder, "root", name, sizeof(name));

	if (n < 0)
		return -errno;
	if (n != 1)
		return false;
	if (syscall(SYS_statx, folder, "root", AT_STATX_DONT_SYNC, CONFINED_ROOT, &its))
		return -errno;
	if (!(its.stx_mask & ours->stx_mask & STATX_MNT_ID))
		return -ENOSYS;
	return its.stx_mnt_id == ours->stx_mnt_id && its.stx_ino == ours->stx_ino;
}

static int confined_look_view(int folder, struct confined *found)
{
	int same = 1;

	for (size_t i = 0; i < CONFINED_SPACES; i++) {
		same = confined_same_link(folder, confined_spaces[i].link, self.spaces[i]);
		if (same < 0)
			return same;
		if (!same)
			return confined_because(found, EHS_REASON_NAMESPACE,
						"it is in another %s namespace than ehlaunch",
						confined_spaces[i].name);
	}
	same = confined_same_root(folder);
	if (same < 0)
		return same;
	return same ? 0
		    : confined_because(found, EHS_REASON_NAMESPACE,
				       "its root directory is not that of ehlaunch");
}

/* ---- what it cannot undo ---- */

/* What shares processor cores with few others has a cookie. 0, 1 or -errno. */
static int confined_has_cookie(pid_t tid)
{
	uint64_t cookie = 0;

	if (!prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET, tid, CONFINED_THREAD, &cookie))
		return !!cookie;
	/* A kernel, or a processor, without it. */
	return errno == EINVAL || errno == ENODEV ? 0 : -errno;
}

const char *confined_legacy(const char *its, const char *ours)
{
	static const char *const controllers[] = { "devices", "net_cls", "net_prio" };

	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		size_t n = 0, m = 0;
		const char *at = caller_cgroup(its, controllers[i], &n);
		const char *own = caller_cgroup(ours, controllers[i], &m);
		/* The root of devices forbids nothing that those below allow. */
		const bool none = !i && (!at || n == 1);

		if (!none && (!at != !own || n != m || (at && memcmp(at, own, n))))
			return controllers[i];
	}
	return NULL;
}

static int confined_look_legacy(int folder, struct confined *found)
{
	char *its = caller_read(folder, "cgroup"), *ours = NULL;
	const char *controller;
	int err = 0;

	if (its)
		ours = caller_read(self.folder, "cgroup");
	if (!ours) {
		/* A kernel without cgroups. */
		err = !its && errno == ENOENT && faccessat(self.folder, "cgroup", F_OK, 0) ? 0
											   : -errno;
		free(its);
		return err;
	}
	controller = confined_legacy(its, ours);
	if (controller)
		confined_because(found, EHS_REASON_CONFINED,
				 "it is in another cgroup of version 1 of %s than ehlaunch",
				 controller);
	free(its);
	free(ours);
	return 0;
}

static int confined_look_limits(int folder, pid_t tid, const struct confined_status *s,
				struct confined *found)
{
	int cookie;

	if (s->of[CONFINED_SECCOMP][0])
		return confined_because(found, EHS_REASON_CONFINED,
					"seccomp limits its system calls");
	if (s->forced)
		return confined_because(found, EHS_REASON_CONFINED,
					"its speculation is off for good");
	cookie = confined_has_cookie(tid);
	if (cookie < 0)
		return cookie;
	if (cookie)
		return confined_because(
			found, EHS_REASON_CONFINED,
			"it shares processor cores with few others (PR_SCHED_CORE)");
	return confined_look_legacy(folder, found);
}

/* ---- what it may ---- */

static void confined_look_rights(const struct confined_status *s, struct confined *found)
{
	const uint64_t *uid = s->of[CONFINED_UID], *gid = s->of[CONFINED_GID];
	const uint64_t bounding = s->of[CONFINED_BOUNDING][0];

	if (s->of[CONFINED_NO_NEW_PRIVS][0] && !rules.no_new_privs)
		confined_because(found, EHS_REASON_NO_NEW_PRIVS, "it has no_new_privs");
	else if (s->of[CONFINED_NO_NEW_PRIVS][0] && self.has_landlock)
		confined_because(found, EHS_REASON_NO_NEW_PRIVS,
				 "it has no_new_privs, and may be in a Landlock domain");
	else if (uid[REAL] != uid[EFFECTIVE] || uid[EFFECTIVE] != uid[FILES] ||
		 gid[REAL] != gid[EFFECTIVE] || gid[EFFECTIVE] != gid[FILES])
		confined_because(found, EHS_REASON_SECUREEXEC,
				 "its real, effective and file user or group differ");
	else if (self.status.of[CONFINED_BOUNDING][0] & ~bounding)
		confined_because(found, EHS_REASON_CAPABILITIES,
				 "its bounding set has fewer capabilities than that of ehlaunch");
	else if (s->of[CONFINED_AMBIENT][0])
		confined_because(found, EHS_REASON_CAPABILITIES, "it has ambient capabilities");
	else if (!uid[REAL] && bounding & ~s->of[CONFINED_PERMITTED][0])
		confined_because(found, EHS_REASON_CAPABILITIES,
				 "it is root and has given up capabilities");
}

static void confined_look_domain(int folder, struct confined *found)
{
	for (size_t i = 0; i < CONFINED_DOMAINS; i++) {
		const struct confined_domain *ours = &self.domains[i];
		char *its = caller_read(folder, confined_domains[i]);

		if (ours->text ? !its || strcmp(its, ours->text) : its || errno != ours->none)
			confined_because(
				found, EHS_REASON_LSM,
				"a security module has another domain for it than for ehlaunch");
		free(its);
	}
}

/* Whether it is in the cgroup of version 2 that we are in. */
static bool confined_is_beside(int folder)
{
	char *its = caller_read(folder, "cgroup"), *ours = caller_read(self.folder, "cgroup");
	size_t n = 0, m = 0;
	const char *at = its ? caller_cgroup(its, "", &n) : NULL;
	const char *mine = ours ? caller_cgroup(ours, "", &m) : NULL;
	const bool is = its && ours && !at == !mine && n == m && (!at || !memcmp(at, mine, n));

	free(its);
	free(ours);
	return is;
}

/*
 * Guests have the BPF programs of their cgroup; those of an ehlaunch without cgroups, or without rights, which sees no
 * programs, are where it is.
 */
static void confined_look_programs(int folder, struct confined *found)
{
	const int guests = geteuid() ? -1 : cgroup_guests_folder();
	int its, ours;

	if (guests < 0 && confined_is_beside(folder))
		return;
	its = cgroup_folder(folder);
	ours = guests < 0 ? cgroup_folder(self.folder) : guests;
	if (its < 0 || ours < 0 || origin_programs(its, ours))
		confined_because(
			found, EHS_REASON_CGROUP_BPF,
			"its cgroup has BPF programs that guests are not under, or they cannot be seen");
	if (its >= 0)
		close(its);
	if (ours >= 0 && ours != guests)
		close(ours);
}

int confined_look(int folder, pid_t tid, uid_t uid, struct confined *found)
{
	struct confined_status s;
	int err = confined_know_self() ?: confined_read_status(folder, &s);

	*found = (struct confined){ .reason = EHS_REASON_NONE };
	if (err)
		return err;
	/* It may have executed a set-user-ID program. */
	if (s.of[CONFINED_UID][EFFECTIVE] != uid)
		return -ESRCH;
	/* In the module's order, so that both give the same reason. */
	if (s.of[CONFINED_TRACER][0])
		confined_because(found, EHS_REASON_TRACED, "it is traced");
	if (found->reason == EHS_REASON_NONE)
		err = confined_look_view(folder, found);
	if (!err && found->reason == EHS_REASON_NONE)
		err = confined_look_limits(folder, tid, &s, found);
	if (!err && found->reason == EHS_REASON_NONE)
		confined_look_rights(&s, found);
	if (!err && found->reason == EHS_REASON_NONE)
		confined_look_domain(folder, found);
	if (!err && found->reason == EHS_REASON_NONE)
		confined_look_programs(folder, found);
	return err;
}
