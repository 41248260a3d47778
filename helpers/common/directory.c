// SPDX-License-Identifier: GPL-2.0-or-later
#include "directory.h"

#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>

static bool directory_name(struct directory_answer *a, const char *name)
{
	const size_t length = strnlen(name, sizeof(a->name));

	if (length == sizeof(a->name))
		return false;
	memcpy(a->name, name, length + 1);
	return true;
}

static void directory_user(const struct passwd *pw, struct directory_answer *a)
{
	if (!pw || !directory_name(a, pw->pw_name))
		return;
	a->number = pw->pw_uid;
	a->group = pw->pw_gid;
	a->error = 0;
}

static void directory_group(const struct group *gr, const char *member, struct directory_answer *a)
{
	if (!gr || !directory_name(a, gr->gr_name))
		return;
	a->number = gr->gr_gid;
	for (char **m = gr->gr_mem; *member && *m; m++)
		a->is_member |= !strcmp(*m, member);
	a->error = 0;
}

static void directory_groups_of(const struct directory_question *q, struct directory_answer *a)
{
	int n = DIRECTORY_GROUPS;

	if (getgrouplist(q->name, q->number, a->groups, &n) < 0)
		return;
	a->ngroups = n;
	a->error = 0;
}

/* An address for which there is no room is as good as none; nobody has so many. */
static void directory_host(const struct directory_question *q, struct directory_answer *a)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *all;

	if (getaddrinfo(q->name, NULL, &hints, &all))
		return;
	for (const struct addrinfo *i = all;
	     i && a->ngroups < DIRECTORY_ADDRESSES * DIRECTORY_ADDRESS_WORDS; i = i->ai_next) {
		uint32_t *words = &a->groups[a->ngroups];

		memset(words, 0, DIRECTORY_ADDRESS_WORDS * sizeof(*words));
		words[0] = i->ai_family;
		if (i->ai_family == AF_INET)
			memcpy(&words[1], &((struct sockaddr_in *)i->ai_addr)->sin_addr,
			       sizeof(struct in_addr));
		else if (i->ai_family == AF_INET6)
			memcpy(&words[1], &((struct sockaddr_in6 *)i->ai_addr)->sin6_addr,
			       sizeof(struct in6_addr));
		else
			continue;
		a->ngroups += DIRECTORY_ADDRESS_WORDS;
	}
	freeaddrinfo(all);
	a->error = 0;
}

void directory_look(const struct directory_question *q, struct directory_answer *a)
{
	*a = (struct directory_answer){ .serial = q->serial, .error = -ENOENT };
	if (q->kind == DIRECTORY_UID)
		directory_user(getpwuid(q->number), a);
	else if (q->kind == DIRECTORY_USER)
		directory_user(getpwnam(q->name), a);
	else if (q->kind == DIRECTORY_GID)
		directory_group(getgrgid(q->number), q->member, a);
	else if (q->kind == DIRECTORY_GROUP)
		directory_group(getgrnam(q->name), q->member, a);
	else if (q->kind == DIRECTORY_GROUPS_OF)
		directory_groups_of(q, a);
	else if (q->kind == DIRECTORY_HOST)
		directory_host(q, a);
}

size_t directory_size(const struct directory_answer *a)
{
	return offsetof(struct directory_answer, groups) + a->ngroups * sizeof(a->groups[0]);
}
