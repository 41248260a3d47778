// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/common/runtime.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool fits(const char *folder, size_t room)
{
	return folder && *folder == '/' && strlen(folder) < room &&
	       !strpbrk(folder, " \t\n\\$#\"'`;&|()<>*?[]~%:=") && !access(folder, W_OK);
}

int runtime_folder(char *path, size_t size, const char *name)
{
	const char *in = getenv("XDG_RUNTIME_DIR");

	if (!fits(in, size - strlen(name) - sizeof("/-XXXXXX") + 1))
		in = "/tmp";
	snprintf(path, size, "%s/%s-XXXXXX", in, name);
	if (mkdtemp(path))
		return 0;
	*path = '\0';
	return -errno;
}
