// SPDX-License-Identifier: GPL-2.0-or-later
#include "confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/landlock.h>
#include <pwd.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONFINE_NOBODY 65534 /* where there is no such name */

int confine_user(const char **what)
{
	const struct passwd *user;
	uid_t uid = CONFINE_NOBODY;
	gid_t gid = CONFINE_NOBODY;

	if (geteuid())
		return 0;
	*what = "becoming the user nobody";
	user = getpwnam("nobody");
	if (user && user->pw_uid) {
		uid = user->pw_uid;
		gid = user->pw_gid;
	}
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

/* All of the first version; what later ones add needs a file that is open. */
#define CONFINE_FILE_ACCESS (LANDLOCK_ACCESS_FS_MAKE_SYM | (LANDLOCK_ACCESS_FS_MAKE_SYM - 1))

static int confine_files(void)
{
	const struct landlock_ruleset_attr all = { CONFINE_FILE_ACCESS };
	int rules = syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0), err = 0;

	/* An older kernel, or one where it is off: the filter refuses to open files anyway. */
	if (rules < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	if (syscall(SYS_landlock_restrict_self, rules, 0))
		err = -errno;
	close(rules);
	return err;
}

/* Unknown to an old libseccomp or kernel: left out. */
static const char *const confine_calls[] = {
	/* connections */
	"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt",
	"listen", "recvfrom", "recvmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
	/* descriptors */
	"close", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "fcntl", "fcntl64",
	"fstat", "fstat64", "ioctl", "poll", "ppoll", "read", "readv", "timerfd_settime",
	"timerfd_settime64", "write", "writev",
	/* whose the agent is (helpers/common/agent_address.h) */
	"lstat", "lstat64", "fstatat64", "newfstatat", "statx", "geteuid", "geteuid32",
	/* memory, time, the end */
	"brk", "clock_gettime", "clock_gettime64", "exit", "exit_group", "futex", "futex_time64",
	"getpid", "getrandom", "gettid", "gettimeofday", "madvise", "mmap", "mmap2", "mprotect",
	"mremap", "munmap", "nanosleep", "clock_nanosleep", "restart_syscall", "rseq",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sched_yield", "sigaltstack", "tgkill"
};

static int confine_allow(scmp_filter_ctx filter, const char *name)
{
	int call = seccomp_syscall_resolve_name(name), err;

	if (call == __NR_SCMP_ERROR)
		return 0;
	err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
	/* This architecture has no such call. */
	return err == -EDOM || err == -EOPNOTSUPP ? 0 : err;
}

static int confine_seccomp(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = filter ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < sizeof(confine_calls) / sizeof(confine_calls[0]); i++)
		err = confine_allow(filter, confine_calls[i]);
	/* To the agent, and nowhere else. */
	err = err
		      ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
					  SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	/* Its own limits. */
	err = err
		      ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
					  SCMP_A0(SCMP_CMP_EQ, 0));
	err = err ?: seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

int confine(const char **what)
{
	const struct rlimit none = { 0, 0 },
			    files = { CONFINE_FILES - CONFINE_KEPT, CONFINE_FILES };
	int err;

	*what = "limits";
	/* Its memory has what the agent told of the user's tasks. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none) ||
	    setrlimit(RLIMIT_NOFILE, &files) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	*what = "Landlock";
	err = confine_files();
	if (err)
		return err;
	*what = "seccomp";
	return confine_seccomp();
}
