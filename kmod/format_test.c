// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of format.c, with a program of their own, which is only bytes, and one
 * other file, which is whatever the program names.
 */

#include <kunit/test.h>
#include <linux/binfmts.h>
#include <linux/elf.h>
#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/string.h>
#include <linux/xattr.h>

/* A kernel that has both built in has the module's own ones, too. */
#define ehs_format ehs_format_test_format
#define ehs_format_rights ehs_format_test_rights

#include "format.h"
#include "test.h"

/* Where the program headers are: not just behind the file's, where any reader finds them. */
#define PHOFF 96
/* Where the name of the dynamic linker is. */
#define NAME_AT 1024
#define MAX_PHNUM (65536 / sizeof(struct elf_phdr))

/**
 * struct ehs_format_scene - all that format.c sees
 * @test: the test that runs
 * @bprm: the exec
 * @file: the program, which is not looked at itself
 * @bytes: what it begins with; NUL from there to @size
 * @size: of the program
 * @read_error: of each read, if not 0
 * @reads: how often it was read
 * @found: what looking up a name returns
 * @name: the last name that was looked up
 * @lookups: how many were
 * @held: references to what was found
 * @dentry: what was found
 * @inode: its inode
 * @caps: size of its file capabilities, or why there are none
 */
struct ehs_format_scene {
	struct kunit *test;
	struct linux_binprm bprm;
	struct file file;
	u8 bytes[2048] __aligned(8);
	loff_t size;
	int read_error;
	int reads;
	int found;
	char name[BINPRM_BUF_SIZE];
	int lookups;
	int held;
	struct dentry dentry;
	struct inode inode;
	int caps;
};

static struct ehs_format_scene *scene;

static int ehs_format_test_lookup(const char *name, unsigned int flags, struct path *path)
{
	struct ehs_format_scene *s = scene;

	KUNIT_EXPECT_EQ(s->test, flags, (unsigned int)LOOKUP_FOLLOW);
	strscpy(s->name, name, sizeof(s->name));
	s->lookups++;
	if (s->found)
		return s->found;
	s->held++;
	*path = (struct path){ .dentry = &s->dentry };
	return 0;
}

static void ehs_format_test_put(const struct path *path)
{
	KUNIT_EXPECT_PTR_EQ(scene->test, path->dentry, &scene->dentry);
	scene->held--;
}

static ssize_t ehs_format_test_getxattr(struct dentry *dentry, struct inode *inode,
					const char *name, void *value, size_t size)
{
	struct ehs_format_scene *s = scene;

	KUNIT_EXPECT_EQ(s->test, s->held, 1);
	KUNIT_EXPECT_PTR_EQ(s->test, dentry, &s->dentry);
	KUNIT_EXPECT_PTR_EQ(s->test, inode, &s->inode);
	KUNIT_EXPECT_STREQ(s->test, name, XATTR_NAME_CAPS);
	KUNIT_EXPECT_EQ(s->test, size, (size_t)0);
	return s->caps;
}

/* As a file system reads: nothing before the file, and less where it ends. */
static ssize_t ehs_format_test_read(struct file *file, void *to, size_t n, loff_t *at)
{
	struct ehs_format_scene *s = scene;
	size_t i;

	s->reads++;
	KUNIT_EXPECT_PTR_EQ(s->test, file, &s->file);
	/* nothing that is read may be longer; it would go over the end of the buffer */
	KUNIT_EXPECT_LE(s->test, n, (size_t)BINPRM_BUF_SIZE);
	if (s->read_error)
		return s->read_error;
	if (*at < 0 || n > BINPRM_BUF_SIZE)
		return -EINVAL;
	if (*at >= s->size)
		return 0;
	n = min_t(loff_t, n, s->size - *at);
	for (i = 0; i < n; i++)
		((u8 *)to)[i] = *at + i < sizeof(s->bytes) ? s->bytes[*at + i] : 0;
	*at += n;
	return n;
}

#define kern_path ehs_format_test_lookup
#define path_put ehs_format_test_put
#define __vfs_getxattr ehs_format_test_getxattr
#define kernel_read ehs_format_test_read
#include "format.c"

static int ehs_format_scene_init(struct kunit *test)
{
	struct ehs_format_scene *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	scene = s;
	test->priv = s;
	s->test = test;
	s->bprm.file = &s->file;
	s->dentry.d_inode = &s->inode;
	s->inode.i_mode = S_IFREG | 0755;
	s->caps = -ENODATA;
	return 0;
}

/* What is said of the program, and which name is looked up for it, NULL if none is. */
static void ehs_format_expect(struct ehs_format_scene *s, const char *what, enum ehs_reason reason,
			      const char *name)
{
	enum ehs_reason is;

	memcpy(s->bprm.buf, s->bytes, BINPRM_BUF_SIZE);
	s->reads = 0;
	s->lookups = 0;
	is = ehs_format(&s->bprm);
	KUNIT_EXPECT_EQ_MSG(s->test, is, reason, "%s", what);
	KUNIT_EXPECT_EQ_MSG(s->test, s->lookups, name ? 1 : 0, "%s", what);
	if (name && s->lookups)
		KUNIT_EXPECT_STREQ(s->test, (const char *)s->name, name);
	KUNIT_EXPECT_EQ_MSG(s->test, s->held, 0, "%s", what);
}

static void ehs_format_stays(struct ehs_format_scene *s, const char *what, const char *name)
{
	ehs_format_expect(s, what, EHS_REASON_REDIRECT, name);
}

static void ehs_format_goes(struct ehs_format_scene *s, const char *what, const char *name)
{
	ehs_format_expect(s, what, EHS_REASON_NONE, name);
}

/* ---- scripts */

static void ehs_format_make_script(struct ehs_format_scene *s, const char *text)
{
	memset(s->bytes, 0, sizeof(s->bytes));
	s->size = strlen(text);
	memcpy(s->bytes, text, s->size);
}

static void ehs_format_scripts(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;

	ehs_format_make_script(s, "#!/bin/sh\necho\n");
	ehs_format_goes(s, "a script", "/bin/sh");
	/* the head is there already */
	KUNIT_EXPECT_EQ(test, s->reads, 0);
	ehs_format_make_script(s, "#! /bin/sh -e\n");
	ehs_format_goes(s, "one with an argument", "/bin/sh");
	ehs_format_make_script(s, "#!\n/bin/sh\n");
	ehs_format_stays(s, "no interpreter", NULL);
	ehs_format_make_script(s, "#!");
	ehs_format_stays(s, "no line", NULL);
}

/* A name that ends with the buffer may go on behind it. */
static void ehs_format_script_fills(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;
	char *name = kunit_kzalloc(test, BINPRM_BUF_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, name);
	memset(name, 'x', BINPRM_BUF_SIZE - 3);
	s->size = sizeof(s->bytes);
	memset(s->bytes, 'x', sizeof(s->bytes));
	memcpy(s->bytes, "#!", 2);
	s->bytes[BINPRM_BUF_SIZE] = '\n';
	ehs_format_stays(s, "it fills the buffer", NULL);
	s->bytes[BINPRM_BUF_SIZE - 1] = '\n';
	ehs_format_goes(s, "its line does", name);
}

static void ehs_format_script_missing(struct kunit *test)
{
	static const int errors[] = { -ENOENT, -EACCES, -ELOOP, -ENAMETOOLONG, -ENOMEM };
	struct ehs_format_scene *s = test->priv;
	int i;

	ehs_format_make_script(s, "#!/bin/sh\n");
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		s->found = errors[i];
		ehs_format_stays(s, "an interpreter that is not found", "/bin/sh");
	}
}

/* What is no file, or what nobody may execute, with the program as it is. */
static void ehs_format_not_executable(struct ehs_format_scene *s, const char *name)
{
	static const umode_t types[] = { S_IFDIR, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK };
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		s->inode.i_mode = types[i] | 0777;
		ehs_format_stays(s, "no regular file", name);
	}
	s->inode.i_mode = S_IFREG | 0666;
	ehs_format_stays(s, "not executable", name);
	/* who may is asked by the exec itself */
	for (i = 0; i < 3; i++) {
		s->inode.i_mode = S_IFREG | 1 << 3 * i;
		ehs_format_goes(s, "executable for some", name);
	}
}

static void ehs_format_script_not_executable(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;

	ehs_format_make_script(s, "#!/bin/sh\n");
	ehs_format_not_executable(s, "/bin/sh");
}

static void ehs_format_script_rights(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;

	ehs_format_make_script(s, "#!/bin/sh\n");
	s->inode.i_mode = S_IFREG | S_ISUID | 0755;
	ehs_format_expect(s, "set-user-id", EHS_REASON_SETUID, "/bin/sh");
	s->inode.i_mode = S_IFREG | S_ISGID | 0755;
	ehs_format_expect(s, "set-group-id", EHS_REASON_SETUID, "/bin/sh");
	s->inode.i_mode = S_IFREG | S_ISGID | 0745;
	ehs_format_goes(s, "mandatory locks", "/bin/sh");
	s->inode.i_mode = S_IFREG | S_ISVTX | 0755;
	ehs_format_goes(s, "sticky", "/bin/sh");

	s->inode.i_mode = S_IFREG | 0755;
	s->caps = 20;
	ehs_format_expect(s, "file capabilities", EHS_REASON_FILE_CAPS, "/bin/sh");
	s->caps = -EOPNOTSUPP;
	ehs_format_goes(s, "a file system without", "/bin/sh");
	s->caps = 0;
	ehs_format_goes(s, "empty", "/bin/sh");
}

/* The interpreter is a script, too: its own interpreter is not asked for. */
static void ehs_format_script_of_script(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;

	ehs_format_make_script(s, "#!/usr/bin/script\n#!/bin/sh\n");
	ehs_format_goes(s, "a script of a script", "/usr/bin/script");
	KUNIT_EXPECT_EQ(test, s->reads, 0);
}

/* ---- ELF */

static struct elfhdr *ehs_format_head(struct ehs_format_scene *s)
{
	return (struct elfhdr *)s->bytes;
}

static struct elf_phdr *ehs_format_phdr(struct ehs_format_scene *s, int i)
{
	return (struct elf_phdr *)(s->bytes + PHOFF) + i;
}

/* A static program of this kernel, with three headers. */
static void ehs_format_make_elf(struct ehs_format_scene *s)
{
	struct elfhdr *elf = ehs_format_head(s);

	memset(s->bytes, 0, sizeof(s->bytes));
	s->size = sizeof(s->bytes);
	memcpy(elf->e_ident, ELFMAG, SELFMAG);
	elf->e_ident[EI_CLASS] = ELF_CLASS;
	elf->e_type = ET_EXEC;
	elf->e_machine = ELF_ARCH;
	elf->e_phoff = PHOFF;
	elf->e_phentsize = sizeof(struct elf_phdr);
	elf->e_phnum = 3;
	ehs_format_phdr(s, 0)->p_type = PT_PHDR;
	ehs_format_phdr(s, 1)->p_type = PT_LOAD;
	ehs_format_phdr(s, 2)->p_type = PT_GNU_STACK;
}

/* It names a dynamic linker in the second of them. */
static void ehs_format_make_dynamic(struct ehs_format_scene *s, const char *name)
{
	struct elf_phdr *ph = ehs_format_phdr(s, 1);

	ehs_format_make_elf(s);
	ph->p_type = PT_INTERP;
	ph->p_offset = NAME_AT;
	ph->p_filesz = strlen(name) + 1;
	memcpy(s->bytes + NAME_AT, name, ph->p_filesz);
}

static void ehs_format_elf_static(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;

	ehs_format_make_elf(s);
	ehs_format_goes(s, "at a fixed address", NULL);
	KUNIT_EXPECT_EQ(test, s->reads, 3);
	ehs_format_head(s)->e_type = ET_DYN;
	ehs_format_goes(s, "at any address", NULL);
}

static void ehs_format_elf_dynamic(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;

	ehs_format_make_dynamic(s, "/lib/ld.so");
	ehs_format_goes(s, "a linker", "/lib/ld.so");
	/* its rights are not given to the program */
	s->inode.i_mode = S_IFREG | S_ISUID | S_ISGID | 0755;
	s->caps = 20;
	ehs_format_goes(s, "a linker with rights", "/lib/ld.so");
	/* only the first one counts */
	*ehs_format_phdr(s, 2) = *ehs_format_phdr(s, 1);
	ehs_format_phdr(s, 2)->p_offset = NAME_AT + 5;
	ehs_format_goes(s, "two linkers", "/lib/ld.so");
}

static void ehs_format_linker_missing(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;

	ehs_format_make_dynamic(s, "/lib/ld.so");
	ehs_format_not_executable(s, "/lib/ld.so");
	s->found = -ENOENT;
	ehs_format_stays(s, "it is not there", "/lib/ld.so");
}

/* Names that are too short, too long, or do not end. */
static void ehs_format_linker_name(struct kunit *test)
{
	static const u64 wrong[] = { 0, 1, BINPRM_BUF_SIZE + 1, PATH_MAX, U32_MAX, U64_MAX };
	struct ehs_format_scene *s = test->priv;
	char *name = kunit_kzalloc(test, BINPRM_BUF_SIZE, GFP_KERNEL);
	struct elf_phdr *ph = ehs_format_phdr(s, 1);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, name);
	memset(name, 'x', BINPRM_BUF_SIZE - 1);
	ehs_format_make_dynamic(s, "x");
	ehs_format_goes(s, "the shortest", "x");
	ehs_format_make_dynamic(s, name);
	ehs_format_goes(s, "the longest", name);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		ehs_format_make_dynamic(s, "");
		ph->p_filesz = wrong[i];
		ehs_format_stays(s, "a wrong length", NULL);
		/* of the headers only */
		KUNIT_EXPECT_EQ_MSG(test, s->reads, 2, "%llu", wrong[i]);
	}

	ehs_format_make_dynamic(s, "/lib/ld.so");
	ph->p_filesz--;
	ehs_format_stays(s, "no NUL", NULL);
	ehs_format_make_dynamic(s, name);
	s->bytes[NAME_AT + BINPRM_BUF_SIZE - 1] = 'x';
	ehs_format_stays(s, "no NUL in the buffer", NULL);
	/* one within ends the name, as the kernel reads it */
	ehs_format_make_dynamic(s, "/lib/ld.so");
	s->bytes[NAME_AT + 4] = '\0';
	ehs_format_goes(s, "two NULs", "/lib");
}

static void ehs_format_elf_headers(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;
	struct elfhdr *elf = ehs_format_head(s);

	ehs_format_make_elf(s);
	elf->e_phnum = 0;
	ehs_format_stays(s, "no headers", NULL);
	s->size = PHOFF + (MAX_PHNUM + 1) * sizeof(struct elf_phdr);
	elf->e_phnum = MAX_PHNUM;
	ehs_format_goes(s, "as many as there may be", NULL);
	KUNIT_EXPECT_EQ(test, s->reads, (int)MAX_PHNUM);
	elf->e_phnum = MAX_PHNUM + 1;
	ehs_format_stays(s, "one more", NULL);
	KUNIT_EXPECT_EQ(test, s->reads, 0);
	elf->e_phnum = U16_MAX;
	ehs_format_stays(s, "as many as can be said", NULL);
	KUNIT_EXPECT_EQ(test, s->reads, 0);

	ehs_format_make_elf(s);
	elf->e_phentsize = sizeof(struct elf_phdr) - 1;
	ehs_format_stays(s, "smaller headers", NULL);
	elf->e_phentsize = sizeof(struct elf_phdr) + 1;
	ehs_format_stays(s, "larger headers", NULL);
	elf->e_phentsize = sizeof(struct elf32_phdr);
	ehs_format_stays(s, "headers of 32 bits", NULL);
	elf->e_phentsize = 0;
	ehs_format_stays(s, "headers of no size", NULL);
}

/* Reads that fail, or that the end of the file cuts off. */
static void ehs_format_elf_short(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;
	struct elfhdr *elf = ehs_format_head(s);
	int i;

	for (i = 0; i < 3; i++) {
		ehs_format_make_elf(s);
		s->size = PHOFF + i * sizeof(struct elf_phdr);
		ehs_format_stays(s, "it ends before a header", NULL);
		KUNIT_EXPECT_EQ(test, s->reads, i + 1);
		s->size += sizeof(struct elf_phdr) - 1;
		ehs_format_stays(s, "it ends in a header", NULL);
		KUNIT_EXPECT_EQ(test, s->reads, i + 1);
	}
	s->size++;
	ehs_format_goes(s, "it ends behind the last", NULL);
	s->read_error = -EIO;
	ehs_format_stays(s, "headers that cannot be read", NULL);
	s->read_error = 0;
	elf->e_phoff = U64_MAX;
	ehs_format_stays(s, "headers before the file", NULL);

	ehs_format_make_dynamic(s, "/lib/ld.so");
	s->size = NAME_AT + sizeof("/lib/ld.so");
	ehs_format_goes(s, "it ends behind the name", "/lib/ld.so");
	s->size--;
	ehs_format_stays(s, "it ends in the name", NULL);
	s->size = sizeof(s->bytes);
	ehs_format_phdr(s, 1)->p_offset = U64_MAX - 1;
	ehs_format_stays(s, "a name before the file", NULL);
}

/* One field is wrong, all else is right. */
static void ehs_format_elf_other(struct kunit *test)
{
	static const u16 types[] = { ET_NONE, ET_REL, ET_CORE, U16_MAX };
	static const u16 machines[] = { EM_NONE, EM_386, EM_SPARC, U16_MAX };
	struct ehs_format_scene *s = test->priv;
	struct elfhdr *elf = ehs_format_head(s);
	int i;

	for (i = 0; i < SELFMAG; i++) {
		ehs_format_make_elf(s);
		elf->e_ident[i] ^= 1;
		ehs_format_stays(s, "another magic", NULL);
	}
	ehs_format_make_elf(s);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		elf->e_type = types[i];
		ehs_format_stays(s, "no program", NULL);
	}
	ehs_format_make_elf(s);
	for (i = 0; i < ARRAY_SIZE(machines); i++) {
		elf->e_machine = machines[i];
		ehs_format_stays(s, "another machine", NULL);
	}
	ehs_format_make_elf(s);
	elf->e_ident[EI_CLASS] = ELFCLASS32;
	ehs_format_stays(s, "another class", NULL);
	elf->e_ident[EI_CLASS] = ELFCLASSNONE;
	ehs_format_stays(s, "no class", NULL);
}

/* Programs of 32 bits, as a compiler makes them: of i386 and of x32, and of arm. */
static void ehs_format_elf_32(struct kunit *test)
{
	static const u16 machines[] = { EM_386, EM_X86_64, EM_ARM, ELF_ARCH };
	struct ehs_format_scene *s = test->priv;
	struct elf32_hdr *elf = (struct elf32_hdr *)s->bytes;
	int i;

	for (i = 0; i < ARRAY_SIZE(machines); i++) {
		ehs_format_make_elf(s);
		memset((u8 *)elf + EI_NIDENT, 0, PHOFF - EI_NIDENT);
		elf->e_ident[EI_CLASS] = ELFCLASS32;
		elf->e_type = ET_EXEC;
		elf->e_machine = machines[i];
		elf->e_phoff = sizeof(*elf);
		elf->e_phentsize = sizeof(struct elf32_phdr);
		elf->e_phnum = 1;
		ehs_format_stays(s, "a program of 32 bits", NULL);
	}
}

/* ---- neither */

static void ehs_format_neither(struct kunit *test)
{
	struct ehs_format_scene *s = test->priv;

	ehs_format_make_script(s, "");
	ehs_format_stays(s, "an empty file", NULL);
	ehs_format_make_script(s, "echo\n");
	ehs_format_stays(s, "a script without a first line", NULL);
	ehs_format_make_script(s, "# /bin/sh\n");
	ehs_format_stays(s, "a comment", NULL);
	ehs_format_make_script(s, "!#/bin/sh\n");
	ehs_format_stays(s, "the wrong way round", NULL);
}

static struct kunit_case ehs_format_cases[] = {
	KUNIT_CASE(ehs_format_scripts),	       KUNIT_CASE(ehs_format_script_fills),
	KUNIT_CASE(ehs_format_script_missing), KUNIT_CASE(ehs_format_script_not_executable),
	KUNIT_CASE(ehs_format_script_rights),  KUNIT_CASE(ehs_format_script_of_script),
	KUNIT_CASE(ehs_format_elf_static),     KUNIT_CASE(ehs_format_elf_dynamic),
	KUNIT_CASE(ehs_format_linker_missing), KUNIT_CASE(ehs_format_linker_name),
	KUNIT_CASE(ehs_format_elf_headers),    KUNIT_CASE(ehs_format_elf_short),
	KUNIT_CASE(ehs_format_elf_other),      KUNIT_CASE(ehs_format_elf_32),
	KUNIT_CASE(ehs_format_neither),	       {},
};

struct kunit_suite ehs_format_suite = {
	.name = "ehsched_format",
	.init = ehs_format_scene_init,
	.test_cases = ehs_format_cases,
};
