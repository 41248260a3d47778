// SPDX-License-Identifier: GPL-2.0-or-later
#include "rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "helpers/common/lookup.h"

#define RIGHTS_GROUPS_MAX 65536
#define RIGHTS_NOBODY 65534 /* of a user without a name here */

#define RIGHTS_KEPT_S 10
#define RIGHTS_USERS 8 /* that are kept: to ask who one is costs two processes */

struct rights {
	struct user user;
	time_t until; /* of CLOCK_MONOTONIC: these are the user's, as this host has said; 0: they are not */
};

static struct rights rights_kept[RIGHTS_USERS];
static struct user *rights; /* found last */
static bool rights_taken;

static pid_t rights_parent;

/* A change of ids takes it away. */
static void rights_end_with_parent(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != rights_parent)
		_exit(1);
}

void rights_begin(void)
{
	rights_parent = getppid();
	rights_end_with_parent();
}

int rights_open_process(const struct look_request *q)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)q->pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The numbers behind this name in /proc/PID/status; how many there are. */
static int rights_numbers(const char *status, const char *name, gid_t *to, int most)
{
	const char *at = strstr(status, name);
	int n = 0;
	char *end;

	if (!at)
		return 0;
	for (at += strlen(name); n < most; at = end) {
		at += strspn(at, " \t");
		to[n] = strtoul(at, &end, 10);
		if (end == at)
			break;
		n++;
	}
	return n;
}

/* Of the process, which may be in other groups than its user. */
static int rights_of_process(uid_t uid, int process)
{
	static char status[RIGHTS_GROUPS_MAX * 12];
	static gid_t groups[RIGHTS_GROUPS_MAX];
	static struct user user;
	gid_t ids[4];
	ssize_t n = 1;
	size_t have = 0;
	int fd;

	fd = openat(process, "status", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (have < sizeof(status) - 1 &&
	       (n = read(fd, status + have, sizeof(status) - 1 - have)) > 0)
		have += n;
	close(fd);
	if (n < 0)
		return -EIO;
	status[have] = '\0';
	/* Perhaps the number is that of another process now. */
	if (rights_numbers(status, "\nUid:", ids, 4) != 4 || ids[1] != uid)
		return -ESRCH;
	if (rights_numbers(status, "\nGid:", ids, 4) != 4)
		return -ESRCH;
	user = (struct user){ uid, ids[1], 0, groups };
	user.ngroups = rights_numbers(status, "\nGroups:", groups, RIGHTS_GROUPS_MAX);
	rights = &user;
	return 0;
}

/* Asks this host. A user without a name here has no groups. */
static int rights_ask(struct user *to, uid_t uid)
{
	int err;

	if (to->groups)
		lookup_free(to);
	err = lookup_uid(uid, to);
	if (err)
		*to = (struct user){ .uid = uid, .gid = RIGHTS_NOBODY };
	return err == -ENOENT ? 0 : err;
}

static int rights_of_user(uid_t uid)
{
	struct rights *to = &rights_kept[0];
	struct timespec now;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (struct rights *r = rights_kept; r < rights_kept + RIGHTS_USERS; r++) {
		if (r->until > now.tv_sec && r->user.uid == uid) {
			rights = &r->user;
			return 0;
		}
		if (r->until < to->until)
			to = r;
	}
	to->until = 0;
	err = rights_ask(&to->user, uid);
	if (err)
		return err;
	clock_gettime(CLOCK_MONOTONIC, &now);
	to->until = now.tv_sec + RIGHTS_KEPT_S;
	rights = &to->user;
	return 0;
}

int rights_find(const struct look_request *q, int process)
{
	rights = NULL;
	/* Without root it looks for its own user only. */
	if (geteuid())
		return q->uid == geteuid() ? 0 : -EPERM;
	return process < 0 ? rights_of_user(q->uid) : rights_of_process(q->uid, process);
}

int rights_take(void)
{
	if (geteuid())
		return 0;
	if (!rights)
		return -EPERM;
	if (!rights->uid)
		return 0;
	rights_taken = true;
	/* The effective ones: so that it can go back, and no process of the user may touch it. */
	if (setgroups(rights->ngroups, rights->groups) || setegid(rights->gid) ||
	    seteuid(rights->uid))
		return -errno;
	rights_end_with_parent();
	return 0;
}

void rights_drop(void)
{
	if (!rights_taken)
		return;
	if (seteuid(0) || setegid(0) || setgroups(0, NULL))
		_exit(1);
	rights_taken = false;
	rights_end_with_parent();
}
