// SPDX-License-Identifier: GPL-2.0-or-later
#include "rules.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULES_UID_MIN 1000
#define RULES_GUEST_PIDS 4096

static int rules_number(const char *text, unsigned int *out)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value >= UINT32_MAX)
		return -EINVAL;
	*out = value;
	return 0;
}

int rules_parse(struct rules *rules, char **users, int argc, char **argv)
{
	static const struct option options[] = {
		{ "allow-root", no_argument, NULL, 'r' },
		{ "uid-min", required_argument, NULL, 'm' },
		{ "allow-user", required_argument, NULL, 'u' },
		{ "view-own", required_argument, NULL, 'o' },
		{ "stub", required_argument, NULL, 's' },
		{ "cgroup", required_argument, NULL, 'c' },
		{ "guest-pids", required_argument, NULL, 'p' },
		{ "guest-memory", required_argument, NULL, 'M' },
		{ 0 },
	};
	unsigned int *number;
	int c;

	*rules = (struct rules){
		.uid_min = RULES_UID_MIN,
		.users = users,
		.guest_pids = RULES_GUEST_PIDS,
		.own = { "/proc", "/sys", "/dev" },
		.nown = 3,
	};
	optind = 1;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		number = c == 'm'   ? &rules->uid_min
			 : c == 'p' ? &rules->guest_pids
			 : c == 'M' ? &rules->guest_memory
				    : NULL;
		if (c == 'r')
			rules->allow_root = true;
		else if (c == 'u')
			users[rules->nusers++] = optarg;
		else if (c == 'o' && *optarg == '/' && rules->nown < RULES_OWN_MAX)
			rules->own[rules->nown++] = optarg;
		else if (c == 's' && *optarg == '/')
			rules->stub = optarg;
		else if (c == 'c' && *optarg == '/')
			rules->cgroup = optarg;
		else if (!number || rules_number(optarg, number))
			goto usage;
	}
	if (optind == argc)
		return 0;
usage:
	fprintf(stderr, "usage: ehlaunch [--allow-root] [--uid-min UID] [--allow-user NAME]...\n"
			"                [--view-own DIRECTORY]... [--stub FILE]\n"
			"                [--cgroup PATH] [--guest-pids N] [--guest-memory MIB]\n"
			"See ehlaunch(8).\n");
	return -EINVAL;
}

bool rules_admit(const struct rules *rules, const char *user, uid_t uid)
{
	if (!uid)
		return rules->allow_root;
	if (uid >= rules->uid_min && uid != RULES_NOBODY && uid != (uid_t)-1)
		return true;
	for (int i = 0; i < rules->nusers; i++)
		if (!strcmp(rules->users[i], user))
			return uid != (uid_t)-1;
	return false;
}
