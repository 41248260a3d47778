// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/mounts.h"

#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <linux/ehsched.h>

/* Excludes file systems without files, and those that belong to each kernel. */
static bool mounts_is_files(const char *path, const char *type)
{
	static const char *const not [] = {
		"proc",	   "sysfs",	"devtmpfs",    "devpts",     "cgroup",	   "cgroup2",
		"pstore",  "bpf",	"tracefs",     "debugfs",    "mqueue",	   "hugetlbfs",
		"fusectl", "nsfs",	"efivarfs",    "autofs",     "securityfs", "configfs",
		"ramfs",   "selinuxfs", "binfmt_misc", "rpc_pipefs",
	};
	static const char *const below[] = { "/proc", "/sys", "/dev" };
	size_t i, n;

	for (i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
		if (!strcmp(type, not [i]))
			return false;
	for (i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		n = strlen(below[i]);
		if (!strncmp(path, below[i], n) && (!path[n] || path[n] == '/'))
			return false;
	}
	return true;
}

/* The file systems of a view beside the root. Ends at the first for which `each` is true. */
static bool mounts_each(bool (*each)(void *ctx, const char *path), void *ctx)
{
	char line[2 * EHS_PATH_MAX + 1024], *path;
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent mount;
	bool over = false;

	while (f && !over && getmntent_r(f, &mount, line, sizeof(line))) {
		path = mount.mnt_dir;
		/* A comma would end the mount option that holds the path. */
		if (path[0] == '/' && path[1] && strlen(path) <= EHS_PATH_MAX &&
		    mounts_is_files(path, mount.mnt_type) && !strchr(path, ','))
			over = each(ctx, path);
	}
	if (f)
		endmntent(f);
	return over;
}

static bool mounts_same(void *ctx, const char *path)
{
	return !strcmp(ctx, path);
}

/* So that nobody gets /proc, as a file system to be served. */
bool mounts_has(char *path)
{
	return !strcmp(path, "/") || mounts_each(mounts_same, path);
}

static bool mounts_add(void *ctx, const char *path)
{
	json_array_append_new(ctx, json_string(path));
	return false;
}

void mounts_list(json_t *paths)
{
	mounts_each(mounts_add, paths);
}
