// SPDX-License-Identifier: GPL-2.0-or-later
/* What the site has said, in the arguments: no request changes it. */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>

#include "helpers/common/companion.h"

struct site site = { .own = { "/proc", "/sys", "/dev" }, .owned = 3, .namespace = -1 };

int site_parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "allow-root", no_argument, NULL, 'r' },
		{ "view-own", required_argument, NULL, 'o' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r')
			site.allow_root = true;
		else if (c == 'o' && optarg[0] == '/' && site.owned < SITE_OWN_MAX)
			site.own[site.owned++] = optarg;
		else
			goto usage;
	}
	if (optind < argc)
		goto usage;
	/* Now: when the package is upgraded, this program has no path any more. */
	if (!companion("ehview", site.ehview, sizeof(site.ehview)))
		site.ehview[0] = '\0';
	if (!companion("ehfiles", site.ehfiles, sizeof(site.ehfiles)))
		site.ehfiles[0] = '\0';
	site.namespace = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	return 0;
usage:
	fprintf(stderr, "usage: ehlaunch [--allow-root] [--view-own DIR]...\n"
			"It is started by ehagent, see ehagent(8).\n");
	return -EINVAL;
}
