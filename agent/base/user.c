// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of users, cached for a while. */

#include "base/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/clock.h"
#include "site/who.h"

/* Debian's range for people; the numbers of system users differ between machines. */
#define USER_FIRST 1000
#define USER_LAST 59999
#define USER_KEPT 16
#define USER_ASKED 256 /* pairs of a user and a group */
#define USER_KEPT_MS 60000

/* Of the process: all agents on a host have the same users. */
static struct user_entry {
	uid_t uid;
	bool known;
	char name[64];
	uint64_t at;
} user_cache[USER_KEPT];

const char *user_name(uid_t uid)
{
	struct user_entry *e = &user_cache[uid % USER_KEPT];
	uint64_t now = clock_ms();
	struct passwd *pw;

	if (!e->at || e->uid != uid || now - e->at > USER_KEPT_MS) {
		pw = getpwuid(uid);
		e->uid = uid;
		e->at = now;
		e->known = pw;
		snprintf(e->name, sizeof(e->name), "%s", pw ? pw->pw_name : "");
	}
	return e->known ? e->name : NULL;
}

bool user_is_known(const char *name)
{
	return getpwnam(name);
}

struct user_named {
	char name[64];
	id_t number;
	bool known;
	uint64_t at;
};

static bool user_find_user(const char *name, id_t *number)
{
	struct passwd *pw = getpwnam(name);

	if (pw)
		*number = pw->pw_uid;
	return pw;
}

static bool user_find_group(const char *name, id_t *number)
{
	struct group *gr = getgrnam(name);

	if (gr)
		*number = gr->gr_gid;
	return gr;
}

static int user_find(struct user_named kept[USER_KEPT], const char *name,
		     bool (*find)(const char *name, id_t *number), id_t *number)
{
	struct user_named *e = &kept[XXH3_64bits(name, strlen(name)) % USER_KEPT];
	uint64_t now = clock_ms();

	if (!e->at || strcmp(e->name, name) || now - e->at > USER_KEPT_MS) {
		snprintf(e->name, sizeof(e->name), "%s", name);
		e->number = 0;
		e->known = find(name, &e->number);
		e->at = now;
	}
	*number = e->number;
	return e->known ? 0 : -ENOENT;
}

bool user_group_is_known(gid_t gid)
{
	return getgrgid(gid);
}

int user_number(const char *name, uid_t *uid)
{
	static struct user_named kept[USER_KEPT];

	return user_find(kept, name, user_find_user, uid);
}

int user_group(const char *name, gid_t *gid)
{
	static struct user_named kept[USER_KEPT];

	return user_find(kept, name, user_find_group, gid);
}

/* The groups of a user, its first one among them. */
static struct user_groups {
	uid_t uid;
	uint64_t at;
	int n; /* -1: not known */
	gid_t *gids;
} user_groups_cache[USER_KEPT];

static void user_find_groups(struct user_groups *g, uid_t uid)
{
	struct passwd *pw = getpwuid(uid);
	int room = 64;

	g->uid = uid;
	g->at = clock_ms();
	g->n = -1;
	for (int tries = 0; pw && tries < 8; tries++) {
		int n = room;
		gid_t *gids = reallocarray(g->gids, room, sizeof(*gids));

		if (!gids)
			return;
		g->gids = gids;
		if (getgrouplist(pw->pw_name, pw->pw_gid, gids, &n) >= 0) {
			g->n = n;
			return;
		}
		room = n > room ? n : 2 * room;
	}
}

static bool user_has_group(const struct user_groups *g, gid_t gid)
{
	for (int i = 0; i < g->n; i++)
		if (g->gids[i] == gid)
			return true;
	return false;
}

/*
 * A directory that does not answer leaves groups out, and nothing says so. So the group must be known after
 * that, and must not have the user as a member.
 */
static int user_asks_group(const struct user_groups *g, const char *group)
{
	unsigned int number;
	struct group *gr = site_number(group, &number) ? getgrgid(number) : getgrnam(group);
	const char *name = g->uid ? user_name(g->uid) : NULL;

	if (!gr)
		return -ENOENT;
	for (char **member = gr->gr_mem; name && *member; member++)
		if (!strcmp(*member, name))
			return 1;
	return user_has_group(g, gr->gr_gid);
}

/* What was found of a user and a group, while what is kept of the user is the same. */
struct user_asked {
	uid_t uid;
	uint64_t at;
	char group[SITE_WHO_MAX + 1];
	int answer;
};

int user_in_group(uid_t uid, const char *group)
{
	static struct user_asked asked[USER_ASKED];
	struct user_groups *g = &user_groups_cache[uid % USER_KEPT];
	struct user_asked *a = &asked[(XXH3_64bits(group, strlen(group)) + uid) % USER_ASKED];
	unsigned int number;

	if (!g->at || g->uid != uid || clock_ms() - g->at > USER_KEPT_MS)
		user_find_groups(g, uid);
	if (g->n < 0)
		return -ENODATA;
	if (site_number(group, &number) && user_has_group(g, number))
		return 1;
	if (a->uid != uid || a->at != g->at || strcmp(a->group, group)) {
		a->uid = uid;
		a->at = g->at;
		snprintf(a->group, sizeof(a->group), "%s", group);
		a->answer = user_asks_group(g, group);
	}
	return a->answer;
}

const char *user_digest(void)
{
	static char text[20];
	uint64_t sum = 0;
	struct passwd *pw;
	char line[128];
	FILE *in;

	/* only the local file: listing all users of a directory service could take minutes */
	in = fopen("/etc/passwd", "re");
	if (!in)
		return "";
	while ((pw = fgetpwent(in))) {
		if (pw->pw_uid < USER_FIRST || pw->pw_uid > USER_LAST)
			continue;
		snprintf(line, sizeof(line), "%u:%s", (unsigned int)pw->pw_uid, pw->pw_name);
		/* a sum, because the order differs between hosts */
		sum += XXH3_64bits(line, strlen(line));
	}
	fclose(in);
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)sum);
	return text;
}
