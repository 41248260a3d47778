// SPDX-License-Identifier: GPL-2.0-or-later
#include "view.h"

#include <stddef.h>
#include <string.h>

static const char *const view_names[VIEWS] = { "", "shared", "home", "auto" };

const char *view_name(enum view view)
{
	return view_names[view < VIEWS ? view : VIEW_UNSET];
}

enum view view_parse(const char *name)
{
	for (unsigned int view = VIEW_SHARED; view < VIEWS; view++)
		if (!strcmp(name, view_names[view]))
			return view;
	return VIEW_UNSET;
}

static bool view_is_one(uint32_t type, const uint32_t *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (type == of[i])
			return true;
	return false;
}

bool view_several_hosts(uint32_t type)
{
	static const uint32_t shared[] = {
		0x6969, /* NFS */
		0x01021997, /* 9p */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB2 */
		0x65735546, /* FUSE: sshfs, GlusterFS, ... */
		0x00c36400, /* Ceph */
		0x5346414f, /* AFS */
		0x01161970, /* GFS2 */
		0x7461636f, /* OCFS2 */
		0x0bd00bd0, /* Lustre */
	};

	return view_is_one(type, shared, sizeof(shared) / sizeof(shared[0]));
}

bool view_is_kernels(uint32_t type)
{
	static const uint32_t kernels[] = {
		0x9fa0, /* proc */
		0x62656572, /* sysfs */
		0x6e736673, /* nsfs */
		0x64626720, /* debugfs */
		0x74726163, /* tracefs */
		0x73636673, /* securityfs */
		0x27e0eb, /* cgroup */
		0x63677270, /* cgroup2 */
		0xcafe4a11, /* bpf */
		0x6165676c, /* pstore */
		0xde5e81e4, /* efivarfs */
		0x62656570, /* configfs */
		0xf97cff8c, /* selinuxfs */
	};

	return view_is_one(type, kernels, sizeof(kernels) / sizeof(kernels[0]));
}
