// SPDX-License-Identifier: GPL-2.0-or-later
#include "rules.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/ehsched.h>

#define RULES_UID_MIN 1000
#define RULES_GUEST_PIDS 4096
#define RULES_TIME_LIMIT_MAX 1000

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

static bool rules_item(char **list, size_t *n, char *item, bool (*is_good)(const char *item))
{
	if (!is_good(item) || *n == SITE_ITEMS_MAX)
		return false;
	list[(*n)++] = item;
	return true;
}

int rules_parse(struct rules *rules, char **users, int argc, char **argv)
{
	static const struct option options[] = {
		{ "allow-root", no_argument, NULL, 'r' },
		{ "uid-min", required_argument, NULL, 'm' },
		{ "allow-user", required_argument, NULL, 'u' },
		{ "guest-allow-user", required_argument, NULL, 'a' },
		{ "guest-deny-user", required_argument, NULL, 'd' },
		{ "user-map", required_argument, NULL, 'U' },
		{ "view-own", required_argument, NULL, 'o' },
		{ "stub", required_argument, NULL, 's' },
		{ "cgroup", required_argument, NULL, 'c' },
		{ "guest-pid-namespace", no_argument, NULL, 'n' },
		{ "no-new-privs", no_argument, NULL, 'N' },
		{ "time-limit-max", required_argument, NULL, 't' },
		{ "guest-pids", required_argument, NULL, 'p' },
		{ "guest-memory", required_argument, NULL, 'M' },
		{ "guest-cpu", required_argument, NULL, 'C' },
		{ "agent", required_argument, NULL, 'A' },
		{ "configuration", required_argument, NULL, 'f' },
		{ 0 },
	};
	unsigned int *number;
	int c;

	*rules = (struct rules){
		.uid_min = RULES_UID_MIN,
		.users = users,
		.guest_pids = RULES_GUEST_PIDS,
		.time_limit_max = RULES_TIME_LIMIT_MAX,
		.own = { "/proc", "/sys", "/dev" },
		.owned = 3,
	};
	optind = 1;
	opterr = 0; /* it would print the word as it is */
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		number = c == 'm'   ? &rules->uid_min
			 : c == 'p' ? &rules->guest_pids
			 : c == 'M' ? &rules->guest_memory
			 : c == 'C' ? &rules->guest_cpu
			 : c == 't' ? &rules->time_limit_max
				    : NULL;
		if (c == 'r')
			rules->allow_root = true;
		else if (c == 'n')
			rules->guest_pid_namespace = true;
		else if (c == 'N')
			rules->no_new_privs = true;
		else if (c == 'u')
			users[rules->nusers++] = optarg;
		else if (c == 'o' && *optarg == '/' && rules->owned < RULES_OWN_MAX)
			rules->own[rules->owned++] = optarg;
		else if (c == 's' && *optarg == '/')
			rules->stub = optarg;
		else if (c == 'c' && *optarg == '/')
			rules->cgroup = optarg;
		else if (c == 'A' && *optarg == '/')
			rules->agent = optarg;
		else if (c == 'f')
			rules->configuration = optarg;
		else if ((c == 'a' && rules_item(rules->guest_allow, &rules->nguest_allow, optarg,
						 site_who_is_good)) ||
			 (c == 'd' && rules_item(rules->guest_deny, &rules->nguest_deny, optarg,
						 site_who_is_good)) ||
			 (c == 'U' &&
			  rules_item(rules->user_map, &rules->nuser_map, optarg, site_map_is_good)))
			continue;
		else if (!number || rules_number(optarg, number))
			goto usage;
	}
	if (optind == argc && rules->time_limit_max >= 1 &&
	    rules->time_limit_max <= EHS_MAX_TIME_LIMIT)
		return 0;
usage:
	fprintf(stderr, "usage: ehlaunch [--allow-root] [--uid-min UID] [--allow-user NAME]...\n"
			"                [--guest-allow-user USER|@GROUP]...\n"
			"                [--guest-deny-user USER|@GROUP]...\n"
			"                [--user-map THERE=HERE|*]...\n"
			"                [--view-own DIRECTORY]... [--stub FILE]\n"
			"                [--cgroup PATH] [--guest-pids N] [--guest-memory MIB]\n"
			"                [--guest-cpu PERCENT] [--guest-pid-namespace]\n"
			"                [--no-new-privs] [--time-limit-max MS]\n"
			"                [--agent PROGRAM --configuration FILE]\n"
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

const char *rules_mapped(const struct rules *rules, const char *user, uid_t uid)
{
	return uid && uid != (uid_t)-1 ? site_map(rules->user_map, rules->nuser_map, user) : NULL;
}

struct site_who rules_guests(const struct rules *rules)
{
	return (struct site_who){ rules->guest_allow, rules->guest_deny, rules->nguest_allow,
				  rules->nguest_deny };
}
