// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kind of file a program is. If this kernel would not run it, the caller
 * must get ENOEXEC or ENOENT, which is not possible once the stub has replaced
 * it. A shell reads a file as a script when it gets ENOEXEC.
 */

#include "format.h"

#include <linux/binfmts.h>
#include <linux/elf.h>
#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/sizes.h>
#include <linux/xattr.h>

#include "script.h"

/**
 * ehs_format_rights - whether a file gives rights to those who execute it
 * @path: the file
 *
 * Return: EHS_REASON_SETUID, EHS_REASON_FILE_CAPS, or EHS_REASON_NONE.
 */
enum ehs_reason ehs_format_rights(const struct path *path)
{
	struct inode *inode = d_backing_inode(path->dentry);
	umode_t mode = READ_ONCE(inode->i_mode);

	/* without group execute permission, S_ISGID once meant mandatory locking */
	if (mode & S_ISUID || (mode & (S_ISGID | 0010)) == (S_ISGID | 0010))
		return EHS_REASON_SETUID;
	if (__vfs_getxattr(path->dentry, inode, XATTR_NAME_CAPS, NULL, 0) > 0)
		return EHS_REASON_FILE_CAPS;
	return EHS_REASON_NONE;
}

/*
 * Whether an interpreter is an executable file, and one that gives no rights if
 * @rights: the kernel honours those of a script's interpreter, but not those of
 * an ELF interpreter.
 */
static enum ehs_reason ehs_format_interpreter(const char *name, bool rights)
{
	enum ehs_reason reason = EHS_REASON_NONE;
	struct path path;
	umode_t mode;

	if (kern_path(name, LOOKUP_FOLLOW, &path))
		return EHS_REASON_REDIRECT;
	mode = d_backing_inode(path.dentry)->i_mode;
	if (!S_ISREG(mode) || !(mode & 0111))
		reason = EHS_REASON_REDIRECT;
	else if (rights)
		reason = ehs_format_rights(&path);
	path_put(&path);
	return reason;
}

/*
 * What binfmt_script refuses for other reasons, it refuses at home as well. An
 * interpreter that is a script itself is judged by its own file only.
 */
static enum ehs_reason ehs_format_script(const struct linux_binprm *bprm)
{
	char name[BINPRM_BUF_SIZE];

	if (!ehs_script_interpreter(bprm->buf, name))
		return EHS_REASON_REDIRECT;
	return ehs_format_interpreter(name, true);
}

static bool ehs_format_read(const struct linux_binprm *bprm, void *to, size_t n, loff_t at)
{
	return kernel_read(bprm->file, to, n, &at) == n;
}

/* The dynamic linker, if the file names one; a name too long for us stays at home. */
static enum ehs_reason ehs_format_linker(const struct linux_binprm *bprm, const struct elf_phdr *ph)
{
	char name[BINPRM_BUF_SIZE];

	if (ph->p_filesz < 2 || ph->p_filesz > sizeof(name) ||
	    !ehs_format_read(bprm, name, ph->p_filesz, ph->p_offset) || name[ph->p_filesz - 1])
		return EHS_REASON_REDIRECT;
	return ehs_format_interpreter(name, false);
}

/*
 * Only files of the kernel's own word size. Most 64-bit kernels also run files
 * of 32 bits, but that can be switched off when the kernel boots (x86:
 * ia32_emulation=), or by a processor that cannot (arm64), and no exported symbol
 * tells a module.
 */
static enum ehs_reason ehs_format_elf(const struct linux_binprm *bprm)
{
	const struct elfhdr *elf = (const struct elfhdr *)bprm->buf;
	struct elf_phdr ph;
	unsigned int i;

	BUILD_BUG_ON(sizeof(*elf) > BINPRM_BUF_SIZE);
	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) || elf->e_ident[EI_CLASS] != ELF_CLASS ||
	    (elf->e_type != ET_EXEC && elf->e_type != ET_DYN) || !elf_check_arch(elf) ||
	    elf->e_phentsize != sizeof(ph) || !elf->e_phnum || elf->e_phnum > SZ_64K / sizeof(ph))
		return EHS_REASON_REDIRECT;
	for (i = 0; i < elf->e_phnum; i++) {
		if (!ehs_format_read(bprm, &ph, sizeof(ph), elf->e_phoff + i * sizeof(ph)))
			return EHS_REASON_REDIRECT;
		if (ph.p_type == PT_INTERP)
			return ehs_format_linker(bprm, &ph);
	}
	return EHS_REASON_NONE;
}

/**
 * ehs_format - whether this kernel would run the file
 * @bprm: the exec, in its first round
 *
 * May sleep.
 *
 * Return: EHS_REASON_NONE if it would, EHS_REASON_SETUID or
 * EHS_REASON_FILE_CAPS for a script whose interpreter gives rights, else
 * EHS_REASON_REDIRECT.
 */
enum ehs_reason ehs_format(const struct linux_binprm *bprm)
{
	if (bprm->buf[0] == '#' && bprm->buf[1] == '!')
		return ehs_format_script(bprm);
	return ehs_format_elf(bprm);
}
