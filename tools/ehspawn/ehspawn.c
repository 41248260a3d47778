// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehspawn.so, which `ehctl dag --ninja` loads into ninja: /bin/sh, by which ninja runs each command, is
 * ehplan then, which asks where to run it. ninja has no setting for its shell, as make has.
 */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What ninja starts is not to have this library. A script that becomes ninja keeps it until then. */
static void __attribute__((constructor)) forget(void)
{
	const char *all = getenv("LD_PRELOAD"), *others = all ? strchr(all, ':') : NULL;

	if (strncmp(program_invocation_short_name, "ninja", 5))
		return;
	if (others && others[1])
		setenv("LD_PRELOAD", others + 1, 1);
	else
		unsetenv("LD_PRELOAD");
}

typedef int (*spawner)(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	spawner next = (spawner)dlsym(RTLD_NEXT, "posix_spawn");
	const char *folder = getenv("EHSCHED_BUILD");
	char shell[128];

	if (!next)
		return ENOSYS;
	/* ninja's own form: sh -c COMMAND */
	if (!folder || strcmp(path, "/bin/sh") || !argv[0] || !argv[1] || strcmp(argv[1], "-c") ||
	    !argv[2] || snprintf(shell, sizeof(shell), "%s/sh", folder) >= (int)sizeof(shell))
		return next(pid, path, actions, attributes, argv, envp);
	return next(pid, shell, actions, attributes,
		    (char *const[]){ (char *)"sh", (char *)"--line", (char *)"", (char *)"",
				     (char *)"-c", argv[2], NULL },
		    envp);
}
