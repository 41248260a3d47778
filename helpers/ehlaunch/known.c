// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Users that were looked up a moment ago. A child looks one up and tells the launcher, while it is
 * still root; the children after it have what the launcher knew when they were forked.
 */
#include "known.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helpers/end/calls.h"

#define KNOWN_USERS 16
#define KNOWN_GROUPS 256 /* a user in more groups is looked up each time */
#define KNOWN_MS 60000

struct known {
	int64_t until; /* 0: none */
	char name[LAUNCH_USER_MAX];
	bool guest; /* the rules about guests were asked */
	uid_t uid;
	gid_t gid;
	size_t ngroups;
	gid_t groups[KNOWN_GROUPS];
};

static struct known known_users[KNOWN_USERS];
static unsigned int known_next;
static int known_sockets[2] = { -1, -1 }; /* of the launcher, of its children */

int known_open(void)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, known_sockets))
		return -1;
	return known_sockets[0];
}

void known_close(void)
{
	close(known_sockets[0]);
	close(known_sockets[1]);
}

static struct known *known_entry(const char *name)
{
	for (int i = 0; i < KNOWN_USERS; i++)
		if (known_users[i].until && !strcmp(known_users[i].name, name))
			return &known_users[i];
	return NULL;
}

void known_take(void)
{
	struct known k, *to;

	if (recv(known_sockets[0], &k, sizeof(k), MSG_DONTWAIT) != sizeof(k))
		return;
	to = known_entry(k.name);
	if (!to)
		to = &known_users[known_next++ % KNOWN_USERS];
	*to = k;
	to->until = calls_now() + KNOWN_MS;
}

void known_tell(const char *name, const struct user *user, bool guest)
{
	struct known k = {
		.guest = guest, .uid = user->uid, .gid = user->gid, .ngroups = user->ngroups
	};

	if (user->ngroups > KNOWN_GROUPS)
		return;
	strcpy(k.name, name);
	memcpy(k.groups, user->groups, user->ngroups * sizeof(gid_t));
	/* If it is busy it does without. */
	send(known_sockets[1], &k, sizeof(k), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool known_find(const char *name, uid_t uid, bool guest, struct user *out)
{
	struct known *k = known_entry(name);

	if (!k || (uid != (uid_t)-1 && k->uid != uid) || (guest && !k->guest) ||
	    calls_now() >= k->until)
		return false;
	*out = (struct user){ k->uid, k->gid, k->ngroups, k->groups };
	return true;
}
