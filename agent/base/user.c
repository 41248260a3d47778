// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of users, cached for a while. */

#include "base/user.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/directory.h"
#include "site/who.h"

/* Debian's range for people; the numbers of system users differ between machines. */
#define USER_FIRST 1000
#define USER_LAST 59999
#define USER_KEPT 16
#define USER_ASKED 256 /* pairs of a user and a group */
#define USER_KEPT_MS 60000

/* Of the process: all agents on a host have the same users. Only answers are kept. */
static struct user_entry {
	uid_t uid;
	bool known;
	char name[DIRECTORY_NAME];
	gid_t group;
	uint64_t at;
} user_cache[USER_KEPT];

static bool user_is_old(uint64_t at)
{
	return !at || clock_ms() - at > USER_KEPT_MS;
}

/* NULL: not known, or there is no answer. */
static const struct user_entry *user_find(uid_t uid)
{
	const struct directory_question q = { .kind = DIRECTORY_UID, .number = uid };
	struct user_entry *e = &user_cache[uid % USER_KEPT];
	const struct directory_answer *a;

	if (user_is_old(e->at) || e->uid != uid) {
		a = directory_ask(&q);
		if (!a)
			return NULL;
		*e = (struct user_entry){
			.uid = uid, .known = !a->error, .group = a->group, .at = clock_ms()
		};
		memcpy(e->name, a->name, sizeof(e->name));
	}
	return e->known ? e : NULL;
}

const char *user_name(uid_t uid)
{
	const struct user_entry *e = user_find(uid);

	return e ? e->name : NULL;
}

/* The number of a name. */
struct user_named {
	char name[DIRECTORY_NAME];
	id_t number;
	bool known;
	uint64_t at;
};

/* A name into a question. False: nobody has it. */
static bool user_question(struct directory_question *q, enum directory_kind kind, const char *name)
{
	*q = (struct directory_question){ .kind = kind };
	return snprintf(q->name, sizeof(q->name), "%s", name) < (int)sizeof(q->name);
}

/* 0, -ENOENT or -EAGAIN: there is no answer. */
static int user_find_number(struct user_named kept[USER_KEPT], enum directory_kind kind,
			    const char *name, id_t *number)
{
	struct user_named *e = &kept[XXH3_64bits(name, strlen(name)) % USER_KEPT];
	const struct directory_answer *a;
	struct directory_question q;

	*number = 0;
	if (!user_question(&q, kind, name))
		return -ENOENT;
	if (user_is_old(e->at) || strcmp(e->name, name)) {
		a = directory_ask(&q);
		if (!a)
			return -EAGAIN;
		*e = (struct user_named){ .number = a->number,
					  .known = !a->error,
					  .at = clock_ms() };
		memcpy(e->name, q.name, sizeof(e->name));
	}
	*number = e->number;
	return e->known ? 0 : -ENOENT;
}

int user_number(const char *name, uid_t *uid)
{
	static struct user_named kept[USER_KEPT];

	return user_find_number(kept, DIRECTORY_USER, name, uid);
}

int user_group(const char *name, gid_t *gid)
{
	static struct user_named kept[USER_KEPT];

	return user_find_number(kept, DIRECTORY_GROUP, name, gid);
}

int user_group_is_known(gid_t gid)
{
	const struct directory_question q = { .kind = DIRECTORY_GID, .number = gid };
	const struct directory_answer *a = directory_ask(&q);

	return a ? a->error : -EAGAIN;
}

/* The groups of a user, its first one among them. */
static struct user_groups {
	uid_t uid;
	uint64_t at;
	int n; /* -1: not known */
	gid_t *gids;
} user_groups_cache[USER_KEPT];

/* False: there is no answer. */
static bool user_find_groups(struct user_groups *g, uid_t uid)
{
	const struct user_entry *e = user_find(uid);
	const struct directory_answer *a = NULL;
	struct directory_question q;
	gid_t *gids;

	if (e && user_question(&q, DIRECTORY_GROUPS_OF, e->name)) {
		q.number = e->group;
		a = directory_ask(&q);
		if (!a)
			return false;
	}
	g->uid = uid;
	g->at = clock_ms();
	g->n = -1;
	if (!a || a->error)
		return e || !directory_is_late();
	gids = reallocarray(g->gids, a->ngroups, sizeof(*gids));
	if (!gids)
		return false;
	memcpy(gids, a->groups, a->ngroups * sizeof(*gids));
	g->gids = gids;
	g->n = a->ngroups;
	return true;
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
	const char *name = g->uid ? user_name(g->uid) : NULL;
	const struct directory_answer *a;
	struct directory_question q;
	unsigned int number;

	if (site_number(group, &number))
		q = (struct directory_question){ .kind = DIRECTORY_GID, .number = number };
	else if (!user_question(&q, DIRECTORY_GROUP, group))
		return -ENOENT;
	snprintf(q.member, sizeof(q.member), "%s", name ?: "");
	a = directory_ask(&q);
	if (!a)
		return -EAGAIN;
	if (a->error)
		return -ENOENT;
	return a->is_member || user_has_group(g, a->number);
}

/* The answer for a user and a group, good as long as the entry of the user is the same. */
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
	int answer;

	if ((user_is_old(g->at) || g->uid != uid) && !user_find_groups(g, uid)) {
		g->at = 0;
		return -EAGAIN;
	}
	if (g->n < 0)
		return -ENODATA;
	if (site_number(group, &number) && user_has_group(g, number))
		return 1;
	if (a->uid == uid && a->at == g->at && !strcmp(a->group, group))
		return a->answer;
	answer = user_asks_group(g, group);
	if (answer == -EAGAIN)
		return answer;
	*a = (struct user_asked){ .uid = uid, .at = g->at, .answer = answer };
	snprintf(a->group, sizeof(a->group), "%s", group);
	return answer;
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
