// SPDX-License-Identifier: GPL-2.0-or-later
/* The child that becomes an executor's end. */
#include "end.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attributes.h"
#include "cgroup.h"
#include "helpers/common/names.h"
#include "helpers/ehguest/main.h"
#include "helpers/ehguest/program.h"
#include "known.h"
#include "limits.h"
#include "site.h"
#include "user.h"
#include "view.h"

/* Descriptors of the child beside its socket, until it is set up. */
struct end_files {
	int news, view; /* -1: none */
	bool alone; /* in a pid namespace of its own */
};

/*
 * The socket of the end becomes descriptor LAUNCH_SOCKET, and those that are needed for a moment follow. All
 * others are the launcher's, which may have many: of each guest one, and that of its agent.
 */
static int end_descriptors(int socket, struct end_files *f)
{
	int *kept[] = { &socket, &f->news, &f->view };
	const int n = sizeof(kept) / sizeof(kept[0]);

	for (int i = 0; i < n; i++) {
		if (*kept[i] < 0)
			continue;
		*kept[i] = fcntl(*kept[i], F_DUPFD_CLOEXEC, 64);
		if (*kept[i] < 0)
			return -1;
	}
	for (int i = 0; i < n; i++) {
		if (*kept[i] < 0) {
			close(LAUNCH_SOCKET + i);
			continue;
		}
		if (dup3(*kept[i], LAUNCH_SOCKET + i, O_CLOEXEC) < 0)
			return -1;
		*kept[i] = LAUNCH_SOCKET + i;
	}
	return syscall(SYS_close_range, 0u, LAUNCH_SOCKET - 1u, 0u) ||
			       syscall(SYS_close_range, (unsigned int)(LAUNCH_SOCKET + n), ~0u, 0u)
		       ? -1
		       : 0;
}

static int end_reduce(struct launch_start *q)
{
	uint64_t hard[JOB_RLIMITS];

	for (int i = 0; i < JOB_RLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit(i, &limit))
			return -1;
		hard[i] = limit.rlim_max;
	}
	limits_reduce(q, hard, rules.allow_root);
	return 0;
}

/*
 * Limits are raised here, where that is permitted. The end, which needs descriptors and memory of its
 * own, lowers them for the program.
 */
static int end_limits(const struct launch_start *q)
{
	char oom[16];
	int fd, n;

	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = snprintf(oom, sizeof(oom), "%d", q->oom_score);
		if (write(fd, oom, n) < 0)
			errno = 0; /* the default is acceptable */
		close(fd);
	}
	if (setpriority(PRIO_PROCESS, 0, q->nice) && errno != EACCES && errno != EPERM)
		return -1;
	if (attributes_take(q))
		return -1;
	for (int i = 0; i < JOB_RLIMITS; i++) {
		struct rlimit limit;

		if (getrlimit(i, &limit))
			return -1;
		if (limit.rlim_max >= q->rlimit[i][1] && limit.rlim_cur >= q->rlimit[i][0])
			continue;
		if (limit.rlim_max < q->rlimit[i][1])
			limit.rlim_max = q->rlimit[i][1];
		if (limit.rlim_cur < q->rlimit[i][0])
			limit.rlim_cur = q->rlimit[i][0];
		/* More than this kernel, or a launcher without root, allows. */
		if (setrlimit(i, &limit) && errno != EPERM)
			return -1;
	}
	return 0;
}

static int end_user(const struct launch_start *q, const struct identity *who)
{
	if (!geteuid() &&
	    (attributes_take_bounding(q) || user_become(who) || attributes_take_capabilities(q)))
		return -1;
	/* What a view shows is its user's, or of a host that is not trusted. */
	if (q->flags & (LAUNCH_NO_NEW_PRIVS | LAUNCH_VIEW) &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return 0;
}

/* The child is the first of its namespace: its number is what the /proc of this host says. */
static int end_outside(void)
{
	char text[16] = "";

	if (readlink("/proc/self", text, sizeof(text) - 1) < 0)
		return -1;
	program_outside = strtol(text, NULL, 10);
	return 0;
}

/*
 * /proc of the namespace, in place of this host's. Mounts of the host, or of the view, go on to come
 * here, and none of this goes there.
 */
static int end_proc(void)
{
	return unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) ||
	       mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

static void __attribute__((noreturn)) end_run(const struct request *r, struct end_files f)
{
	struct launch_news news = { .stage = LAUNCH_DESCRIPTORS };
	struct launch_start q = r->start.q;
	struct identity who;

	prctl(PR_SET_NAME, "ehguest");
	/* Without the launcher's terminal, and before the launcher may have ended. */
	if (setsid() < 0 || (f.alone && end_outside()))
		goto tell;
	if (end_reduce(&q))
		goto tell;
	news.stage = user_find(r, &who);
	if (news.stage != LAUNCH_READY)
		goto tell;
	news.stage = LAUNCH_DESCRIPTORS;
	known_close();
	/* Home's login user id would be somebody else's. */
	if (who.uid != q.uid && q.loginuid != JOB_LOGINUID_UNSET)
		q.loginuid = who.uid;
	if (end_descriptors(r->fds[LAUNCH_FD_END], &f))
		goto tell;
	news.stage = LAUNCH_LOGIN;
	if (attributes_take_login(&q))
		goto tell;
	news.stage = LAUNCH_LIMITS;
	if (end_limits(&q))
		goto tell;
	news.stage = LAUNCH_ENTER;
	if (f.view >= 0) {
		/* The view's /run says what its host likes. */
		hop_know();
		if (setns(f.view, CLONE_NEWNS) || close(f.view))
			goto tell;
	}
	news.stage = LAUNCH_NAMESPACE;
	if (f.alone && end_proc())
		goto tell;
	news.stage = LAUNCH_USER;
	if (end_user(&q, &who))
		goto tell;
	news = (struct launch_news){ .stage = LAUNCH_READY, .pid = program_outside ?: getpid() };
	if (send(f.news, &news, sizeof(news), MSG_NOSIGNAL) != sizeof(news))
		_exit(0); /* the agent has dropped it */
	close(f.news);
	_exit(guest_main(&q));
tell:
	news.error = errno;
	send(f.news, &news, sizeof(news), MSG_NOSIGNAL);
	_exit(1);
}

/* So that the next agent knows which view it is in. Kernels before 5.7 have no such attributes. */
static void end_note_view(int cgroup, int view)
{
	struct stat st;
	char text[24];

	if (cgroup < 0 || view < 0 || fstat(view, &st))
		return;
	fsetxattr(cgroup, LAUNCH_NOTE_NAMESPACE, text,
		  snprintf(text, sizeof(text), "%llu", (unsigned long long)st.st_ino), 0);
}

bool end_is_good(const struct request *r)
{
	const struct launch_start *q = &r->start.q;

	return r->length >= sizeof(*q) && q->ngroups <= JOB_GROUPS_MAX &&
	       !(q->flags & ~LAUNCH_FLAGS) && user_is_named(q->user, q->uid) &&
	       names_is_id(q->id) && r->length == sizeof(*q) + q->ngroups * sizeof(gid_t) &&
	       r->nfds == LAUNCH_FD_FIRST_OPTION + !!(q->flags & LAUNCH_VIEW);
}

int end_start(const struct request *r)
{
	const struct launch_start *q = &r->start.q;
	struct end_files f = { .news = r->fds[LAUNCH_FD_NEWS],
			       .view = -1,
			       .alone = rules.guest_pid_namespace && !geteuid() };
	int cgroup, err, pidfd = -1;
	struct clone_args args = { .flags = CLONE_PIDFD,
				   .pidfd = (uintptr_t)&pidfd,
				   .exit_signal = SIGCHLD };
	pid_t pid;

	if (!geteuid() && !rules_admit(&rules, q->user, q->uid) &&
	    !rules_mapped(&rules, q->user, q->uid)) {
		request_tell(f.news, LAUNCH_RULES, 0);
		return 0;
	}
	if (q->flags & LAUNCH_VIEW)
		f.view = r->fds[LAUNCH_FD_FIRST_OPTION];
	if (f.view >= 0 && !view_is_ours(f.view, q->user, q->uid)) {
		request_tell(f.news, LAUNCH_FOREIGN, 0);
		return 0;
	}
	/* The first end of a guest may find that it needs home's files; the next one is in their view. */
	err = cgroup_begin(q->id, q->uid, f.view >= 0, &cgroup);
	if (err) {
		request_tell(f.news, LAUNCH_CGROUP, -err);
		return 0;
	}
	end_note_view(cgroup, f.view);
	/* In the guest's cgroup from the start, so that all it does is counted there. */
	if (f.alone)
		args.flags |= CLONE_NEWPID;
	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = cgroup;
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		end_run(r, f);
	err = pid < 0 ? -errno : 0;
	cgroup_begun(q->id, cgroup, pid, pidfd);
	return err;
}
