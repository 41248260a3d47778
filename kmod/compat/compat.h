/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel versions, with one name for each. Kbuild.include
 * finds out which form this kernel has; no other file has an #if for it.
 */
#ifndef _EHS_COMPAT_H
#define _EHS_COMPAT_H

#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/mm.h>
#include <linux/path.h>
#include <linux/sched/coredump.h>
#include <linux/security.h>

struct task_struct;

/* Parameters of a probe on sched_process_exit. */
#ifdef EHS_HAVE_EXIT_GROUP_DEAD
#define ehs_exit_probe_args(data, task) void *data, struct task_struct *task, bool group_dead
#else
#define ehs_exit_probe_args(data, task) void *data, struct task_struct *task
#endif

/* Since 6.10 __assign_str() takes the source from __string(). */
#ifdef EHS_HAVE_ASSIGN_STR_1
#define ehs_assign_str(dst, src) __assign_str(dst)
#else
#define ehs_assign_str(dst, src) __assign_str(dst, src)
#endif

/*
 * What the kernel calls before it executes a file, and to undo it: since 6.13, and in
 * stable kernels of before.
 */
#ifdef EHS_HAVE_EXE_FILE_DENY
#define ehs_exe_deny_write(file) exe_file_deny_write_access(file)
#define ehs_exe_allow_write(file) exe_file_allow_write_access(file)
#else
#define ehs_exe_deny_write(file) deny_write_access(file)
#define ehs_exe_allow_write(file) allow_write_access(file)
#endif

/*
 * The domain of the current credentials, as the security modules have it: since 6.13 not one
 * number, but what each of them calls it. Comparable with memcmp().
 */
struct ehs_lsm_id {
#ifdef EHS_HAVE_LSM_PROP
	struct lsm_prop prop;
#else
	u32 secid;
#endif
};

static inline void ehs_lsm_current_id(struct ehs_lsm_id *id)
{
#ifdef EHS_HAVE_LSM_PROP
	security_current_getlsmprop_subj(&id->prop);
#else
	security_current_getsecid_subj(&id->secid);
#endif
}

/* Whether @root is the root directory of tasks: its lock is part of a seqlock since 6.17. */
static inline bool ehs_fs_root_is(struct fs_struct *fs, const struct path *root)
{
	bool is;

#ifdef EHS_HAVE_FS_SEQLOCK
	read_seqlock_excl(&fs->seq);
	is = path_equal(&fs->root, root);
	read_sequnlock_excl(&fs->seq);
#else
	spin_lock(&fs->lock);
	is = path_equal(&fs->root, root);
	spin_unlock(&fs->lock);
#endif
	return is;
}

/*
 * PR_SET_MDWE, since 6.3: nothing that was written becomes executable. The flags
 * have functions since 6.18.
 */
static inline bool ehs_mm_has_mdwe(struct mm_struct *mm)
{
#ifdef EHS_HAVE_MM_FLAGS_TEST
	return mm_flags_test(MMF_HAS_MDWE, mm);
#elif defined(MMF_HAS_MDWE)
	return test_bit(MMF_HAS_MDWE, &mm->flags);
#else
	return false;
#endif
}

/* When the inode was changed last: a function since 6.6, and in stable kernels of before. */
static inline struct timespec64 ehs_inode_ctime(const struct inode *inode)
{
#ifdef EHS_HAVE_INODE_GET_CTIME
	return inode_get_ctime(inode);
#else
	return inode->i_ctime;
#endif
}

/* PR_SCHED_CORE: not a difference of versions, but the field is there only if it is configured. */
static inline bool ehs_task_has_core_cookie(struct task_struct *task)
{
#ifdef CONFIG_SCHED_CORE
	return READ_ONCE(task->core_cookie);
#else
	return false;
#endif
}

/*
 * Since 6.7 a Landlock domain may have no rules for files, and then no exported
 * function tells of it.
 */
#if defined(EHS_HAVE_LANDLOCK_NET) && IS_ENABLED(CONFIG_SECURITY_LANDLOCK)
#define EHS_LANDLOCK_HIDES true
#else
#define EHS_LANDLOCK_HIDES false
#endif

#endif /* _EHS_COMPAT_H */
