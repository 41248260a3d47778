/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first line of a script, read as binfmt_script does. Nothing here looks at
 * files, so that script_test.c can call it.
 */
#ifndef _EHS_SCRIPT_H
#define _EHS_SCRIPT_H

#include <linux/binfmts.h>
#include <linux/types.h>

static inline bool ehs_script_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/**
 * ehs_script_interpreter - the interpreter that a script names
 * @buf: head of the file, BINPRM_BUF_SIZE bytes that begin with "#!"; a shorter file
 *	is padded with NUL
 * @name: room for BINPRM_BUF_SIZE bytes
 *
 * Return: whether there is a name, and all of it.
 */
static inline bool ehs_script_interpreter(const char *buf, char *name)
{
	size_t from = 2, n;

	while (from < BINPRM_BUF_SIZE && ehs_script_is_blank(buf[from]))
		from++;
	for (n = from; n < BINPRM_BUF_SIZE && buf[n] && buf[n] != '\n'; n++) {
		if (ehs_script_is_blank(buf[n]))
			break;
		name[n - from] = buf[n];
	}
	if (n == from || n == BINPRM_BUF_SIZE)
		return false;
	name[n - from] = '\0';
	return true;
}

#endif /* _EHS_SCRIPT_H */
