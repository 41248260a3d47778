// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/common/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wire/job.h"

#define LOOKUP_GETENT "/usr/bin/getent"
#define LOOKUP_MS 5000 /* a directory service may be slow; the job's home waits not much longer */
#define LOOKUP_SECONDS 5 /* of processor time */
#define LOOKUP_NOT_FOUND 2 /* exit status, see getent(1) */
/* Of nobody else: other processes of the user nobody could trace one of theirs. */
#define LOOKUP_ID 0xfffffff0u
#define LOOKUP_NOBODY 65534 /* where that is no number */

enum { LOOKUP_PASSWD, LOOKUP_GROUPS, LOOKUPS };

struct lookup {
	gid_t groups[JOB_GROUPS_MAX];
	struct lookup_child {
		pid_t pid;
		int out; /* -1: it has said all */
		size_t length;
		char text[12 * JOB_GROUPS_MAX]; /* room for JOB_GROUPS_MAX groups */
	} child[LOOKUPS];
};

static const char *const lookup_tables[LOOKUPS] = { "passwd", "initgroups" };

static int lookup_limit(int which, rlim_t value)
{
	const struct rlimit limit = { value, value };

	return setrlimit(which, &limit);
}

static int lookup_drop(uid_t id)
{
	return syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, id, id, id) ||
			       syscall(SYS_setresuid, id, id, id)
		       ? -1
		       : 0;
}

static void __attribute__((noreturn))
lookup_run(const char *table, const char *name, int out, pid_t parent)
{
	char *argv[] = { (char *)"getent", (char *)table, (char *)name, NULL }, *none[] = { NULL };
	const uint64_t no_signal = 0; /* also none that musl does not tell of */
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0 || syscall(SYS_close_range, 3u, ~0u, 0u) || chdir("/") ||
	    lookup_limit(RLIMIT_CORE, 0) || lookup_limit(RLIMIT_CPU, LOOKUP_SECONDS))
		_exit(127);
	/* A user namespace may not have that number. */
	if ((lookup_drop(LOOKUP_ID) && (errno != EINVAL || lookup_drop(LOOKUP_NOBODY))) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    getppid() != parent)
		_exit(127);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signal, NULL, sizeof(no_signal));
	execve(LOOKUP_GETENT, argv, none);
	_exit(127);
}

static int lookup_start(struct lookup_child *c, const char *table, const char *name)
{
	const pid_t self = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	c->pid = fork();
	if (!c->pid)
		lookup_run(table, name, ends[1], self);
	close(ends[1]);
	if (c->pid < 0) {
		close(ends[0]);
		return -errno;
	}
	c->out = ends[0];
	return 0;
}

/* Takes what it has said. */
static void lookup_read(struct lookup_child *c)
{
	ssize_t n = read(c->out, c->text + c->length, sizeof(c->text) - c->length);

	if (n > 0)
		c->length += n;
	if (n > 0 || (n < 0 && errno == EINTR))
		return;
	close(c->out);
	c->out = -1;
}

static int64_t lookup_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* Until all have said all. 0 or -errno. */
static int lookup_wait(struct lookup *l)
{
	const int64_t end = lookup_now() + LOOKUP_MS;

	for (;;) {
		struct pollfd fds[LOOKUPS];
		int64_t left = end - lookup_now();
		int open = 0;

		for (int i = 0; i < LOOKUPS; i++) {
			fds[i] = (struct pollfd){ .fd = l->child[i].out, .events = POLLIN };
			open += l->child[i].out >= 0;
		}
		if (!open)
			return 0;
		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(fds, LOOKUPS, left) < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < LOOKUPS; i++)
			if (fds[i].fd >= 0 && fds[i].revents)
				lookup_read(&l->child[i]);
	}
}

/* Whether it has said something: 0, -ENOENT: there is no such user, or another error. */
static int lookup_end(struct lookup_child *c, bool kill_it)
{
	int status = 0;

	if (c->out >= 0)
		close(c->out);
	if (c->pid <= 0)
		return -EIO;
	if (kill_it)
		kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == LOOKUP_NOT_FOUND ? -ENOENT : -EIO;
}

/* Asks this of `n` tables at once. */
static int lookup_ask(struct lookup *l, const char *const *tables, int n, const char *name)
{
	int err = 0, ends[LOOKUPS];

	for (int i = 0; i < LOOKUPS; i++)
		l->child[i].out = -1;
	/* Ignored, it would take the children's ends. */
	signal(SIGCHLD, SIG_DFL);
	for (int i = 0; i < n && !err; i++)
		err = lookup_start(&l->child[i], tables[i], name);
	if (!err)
		err = lookup_wait(l);
	for (int i = 0; i < n; i++)
		ends[i] = lookup_end(&l->child[i], err);
	for (int i = 0; i < n && !err; i++)
		err = ends[i];
	return err;
}

static int lookup_user(struct lookup *l, const char *name, struct user *out)
{
	int err = lookup_ask(l, lookup_tables, LOOKUPS, name);

	if (err)
		return err;
	err = names_parse_passwd(l->child[LOOKUP_PASSWD].text, l->child[LOOKUP_PASSWD].length, name,
				 out);
	if (err)
		return err;
	out->groups = l->groups;
	return names_parse_groups(l->child[LOOKUP_GROUPS].text, l->child[LOOKUP_GROUPS].length,
				  name, JOB_GROUPS_MAX, out);
}

static struct lookup *lookup_new(void)
{
	struct lookup *l =
		mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return l == MAP_FAILED ? NULL : l;
}

int lookup(const char *name, struct user *out)
{
	struct lookup *l = lookup_new();
	int err;

	if (!l)
		return -errno;
	err = lookup_user(l, name, out);
	if (err)
		munmap(l, sizeof(*l));
	return err;
}

/* The name that the host has for this number. */
static int lookup_name(uid_t uid, char name[LAUNCH_USER_MAX])
{
	static const char *const table = "passwd";
	struct lookup *l = lookup_new();
	char text[16];
	int err;

	if (!l)
		return -errno;
	snprintf(text, sizeof(text), "%u", (unsigned int)uid);
	err = lookup_ask(l, &table, 1, text);
	if (!err)
		err = names_parse_name(l->child[0].text, l->child[0].length, name);
	munmap(l, sizeof(*l));
	return err;
}

int lookup_uid(uid_t uid, struct user *out)
{
	char name[LAUNCH_USER_MAX];
	int err = lookup_name(uid, name);

	if (!err)
		err = lookup(name, out);
	if (err || out->uid == uid)
		return err;
	lookup_free(out);
	return -ENOENT;
}

int lookup_in_group(const char *name, const struct user *user, const char *group)
{
	static const char *const table = "group";
	struct lookup *l;
	gid_t gid;
	int ret;

	if (names_is_number(group, &gid) && names_has_group(user, gid))
		return 1;
	l = lookup_new();
	if (!l)
		return -errno;
	ret = lookup_ask(l, &table, 1, group);
	if (!ret)
		ret = names_parse_group(l->child[0].text, l->child[0].length, group, name, &gid);
	munmap(l, sizeof(*l));
	return ret ? ret : names_has_group(user, gid);
}

void lookup_free(struct user *user)
{
	munmap(user->groups, sizeof(struct lookup));
}
