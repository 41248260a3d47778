// SPDX-License-Identifier: GPL-2.0-only
/* Which execs may be transferred: those that another node would run the same way. */

#include "eligible.h"

#include <linux/binfmts.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/sched.h>
#include <linux/security.h>

#include "agent.h"
#include "confine.h"
#include "format.h"
#include "view.h"

/* Descriptors 0 to 2 are handed over, the others are not. */
#define EHS_STDIO_MASK 7UL

static bool ehs_eligible_keeps_files(void)
{
	struct files_struct *files = current->files;
	unsigned long kept = 0;
	struct fdtable *fdt;
	unsigned int i;

	/* other threads may open and close files meanwhile */
	spin_lock(&files->file_lock);
	fdt = files_fdtable(files);
	for (i = 0; i < fdt->max_fds / BITS_PER_LONG && !kept; i++) {
		kept = fdt->open_fds[i] & ~fdt->close_on_exec[i];
		if (!i)
			kept &= ~EHS_STDIO_MASK;
	}
	spin_unlock(&files->file_lock);
	return kept;
}

/*
 * Whether the path leads every process to this file. A magic link of /proc does
 * not: /proc/self/exe is another file in each process, and a link of /proc/self/fd
 * may be the only way to a file in memory or one that was removed.
 */
static bool ehs_eligible_has_path(const struct linux_binprm *bprm)
{
	struct path path;
	bool same;

	if (kern_path(bprm->filename, LOOKUP_FOLLOW | LOOKUP_NO_MAGICLINKS, &path))
		return false;
	same = d_backing_inode(path.dentry) == file_inode(bprm->file);
	path_put(&path);
	return same;
}

/**
 * ehs_eligible - whether the exec under way may be transferred
 * @bprm: the exec, in its first round
 * @agent: agent of the node
 *
 * May sleep. Nothing can begin to trace the task until the exec is over, because
 * it holds its cred_guard_mutex. What other threads of the task change meanwhile
 * is not guarded against.
 *
 * Return: EHS_REASON_NONE if it may, else why not.
 */
enum ehs_reason ehs_eligible(const struct linux_binprm *bprm, const struct ehs_agent *agent)
{
	enum ehs_reason reason;

	/*
	 * execveat() relative to a descriptor: the name is one in /dev/fd, which
	 * neither the stub nor the other node would find
	 */
	if (bprm->fdpath)
		return EHS_REASON_REDIRECT;
	if (bprm->unsafe & LSM_UNSAFE_PTRACE)
		return EHS_REASON_TRACED;
	reason = ehs_format_rights(&bprm->file->f_path);
	if (reason != EHS_REASON_NONE)
		return reason;
	if (ehs_eligible_keeps_files())
		return EHS_REASON_OPEN_FILES;
	if (!ehs_view_is_mine(&agent->view))
		return EHS_REASON_NAMESPACE;
	reason = ehs_confine(bprm, agent);
	if (reason != EHS_REASON_NONE)
		return reason;
	/* last, because they cost most */
	reason = ehs_format(bprm);
	if (reason == EHS_REASON_NONE && !ehs_eligible_has_path(bprm))
		return EHS_REASON_REDIRECT;
	return reason;
}
