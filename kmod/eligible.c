// SPDX-License-Identifier: GPL-2.0-only
/* Which execs may be transferred: those that another node would run the same way. */

#include "eligible.h"

#include <linux/binfmts.h>
#include <linux/elf.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/security.h>
#include <linux/xattr.h>

#include "view.h"

/* Descriptors 0 to 2 are handed over, the others are not. */
#define EHS_STDIO_MASK 7UL

static bool ehs_eligible_is_setid(const struct inode *inode)
{
	umode_t mode = READ_ONCE(inode->i_mode);

	/* without group execute permission, S_ISGID once meant mandatory locking */
	return mode & S_ISUID || (mode & (S_ISGID | 0010)) == (S_ISGID | 0010);
}

static bool ehs_eligible_has_caps(const struct file *file)
{
	struct dentry *dentry = file->f_path.dentry;

	return __vfs_getxattr(dentry, d_inode(dentry), XATTR_NAME_CAPS, NULL, 0) > 0;
}

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

static bool ehs_eligible_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * Whether the interpreter that a script names is an executable file. Reads the
 * line as binfmt_script does; what that refuses for other reasons, it refuses at
 * home as well. Whether the interpreter is set-user-id is not looked at.
 */
static bool ehs_eligible_is_script(const struct linux_binprm *bprm)
{
	char name[BINPRM_BUF_SIZE - 1];
	struct path path;
	size_t from = 2, n;
	bool good;

	while (from < BINPRM_BUF_SIZE && ehs_eligible_is_blank(bprm->buf[from]))
		from++;
	for (n = from; n < BINPRM_BUF_SIZE && bprm->buf[n] && bprm->buf[n] != '\n'; n++) {
		if (ehs_eligible_is_blank(bprm->buf[n]))
			break;
		name[n - from] = bprm->buf[n];
	}
	if (n == from || n == BINPRM_BUF_SIZE)
		return false;
	name[n - from] = '\0';
	if (kern_path(name, LOOKUP_FOLLOW, &path))
		return false;
	good = S_ISREG(d_backing_inode(path.dentry)->i_mode) &&
	       d_backing_inode(path.dentry)->i_mode & 0111;
	path_put(&path);
	return good;
}

/*
 * Whether this kernel would run the file. If not, the caller must get ENOEXEC
 * or ENOENT, which is not possible once the stub has replaced it. A shell reads
 * a file as a script when it gets ENOEXEC.
 */
static bool ehs_eligible_has_format(const struct linux_binprm *bprm)
{
	const struct elfhdr *elf = (const struct elfhdr *)bprm->buf;

	if (bprm->buf[0] == '#' && bprm->buf[1] == '!')
		return ehs_eligible_is_script(bprm);
	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
	    (elf->e_type != ET_EXEC && elf->e_type != ET_DYN))
		return false;
	/* of 32 bits, of any machine: the kernel's other loader is not asked */
	if (elf->e_ident[EI_CLASS] != ELF_CLASS)
		return IS_ENABLED(CONFIG_COMPAT);
	return elf_check_arch(elf);
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
 * Of what may confine a task only seccomp is looked at, and of what may give it
 * rights only set-user-id, set-group-id and file capabilities: Landlock,
 * profiles of security modules, cgroup BPF, no_new_privs and bprm->secureexec
 * are not. Known limit.
 *
 * Return: EHS_REASON_NONE if it may, else why not.
 */
enum ehs_reason ehs_eligible(const struct linux_binprm *bprm, const struct ehs_agent *agent)
{
	/*
	 * execveat() relative to a descriptor: the name is one in /dev/fd, which
	 * neither the stub nor the other node would find
	 */
	if (bprm->fdpath)
		return EHS_REASON_REDIRECT;
	if (ehs_eligible_is_setid(file_inode(bprm->file)))
		return EHS_REASON_SETUID;
	if (ehs_eligible_has_caps(bprm->file))
		return EHS_REASON_FILE_CAPS;
	if (bprm->unsafe & LSM_UNSAFE_PTRACE)
		return EHS_REASON_TRACED;
	if (ehs_eligible_keeps_files())
		return EHS_REASON_OPEN_FILES;
#ifdef CONFIG_SECCOMP
	/* another thread may set it for all of them */
	if (READ_ONCE(current->seccomp.mode))
		return EHS_REASON_CONFINED;
#endif
	if (!ehs_view_is_agents(agent))
		return EHS_REASON_NAMESPACE;
	/* last, because they cost most */
	if (!ehs_eligible_has_format(bprm) || !ehs_eligible_has_path(bprm))
		return EHS_REASON_REDIRECT;
	return EHS_REASON_NONE;
}
