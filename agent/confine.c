// SPDX-License-Identifier: GPL-2.0-or-later
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "base/log.h"

/* All that a version of Landlock knows; reading stays free, as any program may have to be digested. */
#define CONFINE_NEVER                                                                              \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                             \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |                             \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR)
#define CONFINE_STATE                                                  \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE)

/*
 * What systemd's filters keep from services (@privileged, @mount, @module, @debug, ...), and besides
 * that whatever starts a program. Unknown to an old libseccomp or kernel: left out.
 */
/* clang-format off */
static const char *const confine_calls[] = {
	"execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
	"process_madvise", "pidfd_getfd", "kcmp",
	"mount", "umount2", "umount", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen",
	"fsconfig", "fsmount", "fspick", "mount_setattr", "setns", "unshare",
	"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
	"swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "iopl", "ioperm", "bpf",
	"perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"add_key", "request_key", "keyctl", "open_by_handle_at", "name_to_handle_at",
	"lookup_dcookie", "fanotify_init", "syslog", "vhangup", "personality", "modify_ldt",
	"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups",
	"setfsuid", "setfsgid", "capset", "chown", "fchown", "lchown", "fchownat", "mknod",
	"mknodat", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "sethostname",
	"setdomainname", "memfd_secret", "shmat", "shmget", "semget", "msgget",
};
/* clang-format on */

/* A thread may be started, a process not. */
static int confine_clone(scmp_filter_ctx filter)
{
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				   SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));

	/* Its flags are in memory. The C library then uses the older call. */
	return err ?: seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int confine_seccomp(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err = filter ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < sizeof(confine_calls) / sizeof(confine_calls[0]); i++) {
		int call = seccomp_syscall_resolve_name(confine_calls[i]);

		if (call == __NR_SCMP_ERROR)
			continue;
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
		/* This architecture has no such call. */
		if (err == -EDOM || err == -EOPNOTSUPP)
			err = 0;
	}
	err = err ?: confine_clone(filter);
	/* Threads that are there already, too. */
	err = err ?: seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	err = err ?: seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

static int confine_allow(int rules, const char *folder, uint64_t access)
{
	struct landlock_path_beneath_attr beneath = { .allowed_access = access };
	int err = 0;

	beneath.parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (beneath.parent_fd < 0)
		return -errno;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0))
		err = -errno;
	close(beneath.parent_fd);
	return err;
}

static int confine_files(const char *state)
{
	const struct landlock_ruleset_attr all = { CONFINE_NEVER | CONFINE_STATE };
	char folder[EHS_PATH_MAX + 1];
	int err, rules;
	char *slash;

	rules = syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (rules < 0) {
		log_debug("no Landlock in this kernel: %s", strerror(errno));
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	}
	snprintf(folder, sizeof(folder), "%s", state);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	err = confine_allow(rules, folder, CONFINE_STATE);
	/* A configured place needs no such directory. */
	if (err == -ENOENT)
		err = 0;
	if (!err && syscall(SYS_landlock_restrict_self, rules, 0))
		err = -errno;
	close(rules);
	return err;
}

int confine(const struct agent *agent)
{
	const struct rlimit none = { 0, 0 };
	int err;

	/* Its memory has the key of the node's certificate, and tokens of jobs. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	err = confine_files(agent->config->state);
	return err ?: confine_seccomp();
}
