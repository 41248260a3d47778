// SPDX-License-Identifier: GPL-2.0-only
/* Whether the kernel that runs is a bad one: see bad.h. */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "bad.h"

#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mm_types.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/utsname.h>

#include "release.h"

/**
 * struct ehs_bad - versions that are bad
 * @from: the first of them
 * @until: the first that is good again
 * @is_good: asks the kernel that runs, whose word counts more than its name; NULL
 *	if that cannot be asked
 * @why: of the message
 */
struct ehs_bad {
	u32 from, until;
	bool (*is_good)(void);
	const char *why;
};

/*
 * Whether writes to the program of this process are denied, which is what the kernels of
 * this row do not do. The process is the one that loads the module, and holds the file.
 * Another thread of it, with CAP_SYS_RESOURCE, may change /proc/self/exe meanwhile: then
 * RCU keeps memory that may be another file's, or one's that has no inode yet.
 */
static bool __init ehs_bad_denies_write(void)
{
	const struct inode *inode = NULL;
	const struct file *file;
	bool denies = false;

	if (!current->mm)
		return false;
	rcu_read_lock();
	file = rcu_dereference(current->mm->exe_file);
	if (file)
		inode = READ_ONCE(file->f_inode);
	if (inode)
		denies = atomic_read(&inode->i_writecount) < 0;
	rcu_read_unlock();
	return denies;
}

static const struct ehs_bad ehs_bad_kernels[] __initconst = {
	{ 0, EHS_BAD_OLD_UNTIL, NULL, "older than 6.1, the oldest that was tested" },
	{ EHS_BAD_EXEC_611_FROM, EHS_BAD_EXEC_611_UNTIL, ehs_bad_denies_write,
	  "writes to a program that runs are not denied: use 6.11.11, 6.12.2 or later" },
	{ EHS_BAD_EXEC_612_FROM, EHS_BAD_EXEC_612_UNTIL, ehs_bad_denies_write,
	  "writes to a program that runs are not denied: use 6.12.2 or later" },
#ifdef EHS_BAD_TEST
	/* selftests/kmod/67-bad.sh: all kernels */
	{ 0, U32_MAX, ehs_bad_denies_write, "test of what the kernel is asked" },
	{ 0, U32_MAX, NULL, "test of a row" },
#endif
};

/**
 * ehs_bad_check - whether the module must not run on this kernel
 *
 * When the module is loaded, in process context; does not sleep. A kernel that does
 * not say which version of a line it is counts as bad if one of that line is.
 *
 * Return: 0, -EOPNOTSUPP after a message that says why.
 */
int __init ehs_bad_check(void)
{
	/* only the names of the host and domain differ between UTS namespaces */
	const struct new_utsname *name = utsname();
	struct ehs_release release = ehs_release_of(name->release, name->version);
	const struct ehs_bad *bad;

	/* a part of the kernel is of just the version that it was built for */
	if (!__is_defined(MODULE))
		return 0;
	for (bad = ehs_bad_kernels; bad < ehs_bad_kernels + ARRAY_SIZE(ehs_bad_kernels); bad++) {
		if (!ehs_release_may_be(&release, bad->from, bad->until) ||
		    (bad->is_good && bad->is_good()))
			continue;
		pr_err("refuses to run on Linux %s: %s\n", name->release, bad->why);
		return -EOPNOTSUPP;
	}
	return 0;
}
