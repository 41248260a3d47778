// SPDX-License-Identifier: GPL-2.0-or-later
#include "built.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

const char *built(const char *name)
{
	static char path[2 * PATH_MAX];
	char self[PATH_MAX];
	const char *build = getenv("EHS_BUILD");
	ssize_t n;

	if (!build || *build != '/') {
		/* We are BUILD/selftests/unit/NAME. */
		n = readlink("/proc/self/exe", self, sizeof(self) - 1);
		assert_true(n > 0);
		self[n] = '\0';
		for (int i = 0; i < 3; i++)
			*strrchr(self, '/') = '\0';
		build = self;
	}
	snprintf(path, sizeof(path), "%s/bin/%s", build, name);
	return path;
}
