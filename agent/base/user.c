// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of users, cached for a while. */

#include "base/user.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/clock.h"

/* Debian's range for people; the numbers of system users differ between machines. */
#define USER_FIRST 1000
#define USER_LAST 59999
#define USER_KEPT 16
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
