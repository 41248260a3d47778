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

void mounts_list(json_t *paths)
{
	char line[2 * EHS_PATH_MAX + 1024], *path;
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent mount;

	while (f && getmntent_r(f, &mount, line, sizeof(line))) {
		path = mount.mnt_dir;
		/* A comma would end the mount option that holds the path. */
		if (path[0] == '/' && path[1] && strlen(path) <= EHS_PATH_MAX &&
		    mounts_is_files(path, mount.mnt_type) && !strchr(path, ','))
			json_array_append_new(paths, json_string(path));
	}
	if (f)
		endmntent(f);
}

/* So that nobody gets /proc, as a file system to be served. */
bool mounts_has(const char *path)
{
	json_t *all = json_pack("[s]", "/"), *one;
	bool has = false;
	size_t i;

	mounts_list(all);
	json_array_foreach(all, i, one)
		has = has || !strcmp(json_string_value(one), path);
	json_decref(all);
	return has;
}
