// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/end/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "helpers/common/mountinfo.h"
#include "helpers/common/number.h"
#include "helpers/end/text.h"
#include "wire/view.h"

#define PLACE_LOCAL "local "
#define PLACE_VIEW "view"
#define PLACE_SOURCE "ehsched" /* helpers/ehlaunch/view_fuse.c */
#define PLACE_BOOT 36 /* bytes of the boot ID */

static int place_local(dev_t device, char *out)
{
	char id[PLACE_BOOT + 1];
	ssize_t n = text_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id, sizeof(id));

	if (n != PLACE_BOOT)
		return n < 0 ? n : -EIO;
	out = stpcpy(stpcpy(out, PLACE_LOCAL), id);
	*out++ = ' ';
	out = number_text(major(device), out);
	*out++ = ':';
	number_text(minor(device), out);
	return 0;
}

/* Whether its source is the same on all hosts: "server:/path" or "//server/path". */
static bool place_is_global(const char *source, size_t n)
{
	const char *path = memchr(source, ':', n);

	if (n > 2 && source[0] == '/' && source[1] == '/')
		return true;
	return path && path != source && path + 1 < source + n && path[1] == '/';
}

/* One of several hosts. 1; 0: its name is that of a local one; -errno. */
static int place_network(dev_t device, char out[PLACE_MAX])
{
	char text[PLACE_MAX];
	const int n = mountinfo_find(device, text, sizeof(text));
	const char *source = n > 0 ? strchr(text, ' ') : NULL;

	if (n < 0)
		return n;
	if (!source++)
		return 0;
	if (!strcmp(source, PLACE_SOURCE) ||
	    !strncmp(text, "fuse." PLACE_SOURCE " ", sizeof("fuse." PLACE_SOURCE))) {
		strcpy(out, PLACE_VIEW);
		return 1;
	}
	if (!place_is_global(source, strlen(source)))
		return 0;
	if (n >= PLACE_MAX - 1)
		return -ENAMETOOLONG;
	strcpy(out, text);
	return 1;
}

int place_of(int fd, char out[PLACE_MAX])
{
	struct statfs fs;
	struct stat st;
	int ret = 0;

	*out = '\0';
	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return -errno;
	/* What the kernel shows of itself is another file for each that looks. */
	if (view_is_kernels(fs.f_type))
		return -EXDEV;
	if (view_several_hosts(fs.f_type))
		ret = place_network(st.st_dev, out);
	if (ret)
		return ret < 0 ? ret : 0;
	return place_local(st.st_dev, out);
}

bool place_is_view(const char *place)
{
	return !strcmp(place, PLACE_VIEW);
}

bool place_is_local(const char *place)
{
	return !strncmp(place, PLACE_LOCAL, strlen(PLACE_LOCAL));
}
