// SPDX-License-Identifier: GPL-2.0-or-later
#include "view.h"

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

	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if (type == shared[i])
			return true;
	return false;
}
