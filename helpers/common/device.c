// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/common/device.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "helpers/common/mountinfo.h"

#define DEVICE_S 10
#define DEVICE_KNOWN 16
#define DEVICE_TYPE 32 /* bytes of a type's name that are looked at */

static bool device_is_one(const char *type, const char *const *of, size_t n)
{
	while (n--)
		if (!strcmp(type, of[n]))
			return true;
	return false;
}

static enum device_kind device_kind_of(const char *type)
{
	static const char *const local[] = {
		"bcachefs", "btrfs", "erofs",	"ext2",	 "ext3",     "ext4",  "f2fs", "jfs",
		"nilfs2",   "ntfs3", "overlay", "ramfs", "squashfs", "tmpfs", "vfat", "xfs",
	};
	static const char *const shared[] = { "9p",	"afs", "ceph", "cifs",	"gfs2",
					      "lustre", "nfs", "nfs4", "ocfs2", "smb3" };

	if (device_is_one(type, local, sizeof(local) / sizeof(local[0])))
		return DEVICE_LOCAL;
	/* sshfs, GlusterFS, ... */
	if (!strncmp(type, "fuse", 4) ||
	    device_is_one(type, shared, sizeof(shared) / sizeof(shared[0])))
		return DEVICE_SHARED;
	return DEVICE_UNKNOWN;
}

static enum device_kind device_find(dev_t dev)
{
	char type[DEVICE_TYPE];

	if (mountinfo_find(dev, type, sizeof(type)) <= 0)
		return DEVICE_UNKNOWN;
	type[strcspn(type, " ")] = '\0';
	return device_kind_of(type);
}

enum device_kind device_kind(dev_t dev)
{
	/* Not for long, because another mount may get the same number. */
	static struct device {
		dev_t dev;
		time_t until;
		enum device_kind kind;
	} known[DEVICE_KNOWN];
	static unsigned int next;
	struct timespec now;
	struct device *d;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (d = known; d < known + DEVICE_KNOWN; d++)
		if (d->dev == dev && d->until > now.tv_sec)
			return d->kind;
	d = &known[next++ % DEVICE_KNOWN];
	*d = (struct device){ dev, now.tv_sec + DEVICE_S, device_find(dev) };
	return d->kind;
}
