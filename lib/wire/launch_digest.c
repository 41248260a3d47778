// SPDX-License-Identifier: GPL-2.0-or-later
#include "launch_digest.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t launch_digest(char *const *argv)
{
	uint64_t digest = 0;

	/* The first is the program's name. */
	for (argv = *argv ? argv + 1 : argv; *argv; argv++) {
		if (argv[1] && (!strcmp(*argv, "--agent") || !strcmp(*argv, "--configuration")))
			argv++;
		else
			/* With its NUL: two words are not one. */
			digest = XXH64(*argv, strlen(*argv) + 1, digest);
	}
	return digest ?: 1;
}
