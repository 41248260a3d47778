// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/common/names.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define NAMES_DIGITS "0123456789"

bool names_is_good(const char name[LAUNCH_USER_MAX])
{
	size_t length = strnlen(name, LAUNCH_USER_MAX);

	/* getent looks for a number as a number. */
	if (!length || length == LAUNCH_USER_MAX || *name == '-' || *name == '+')
		return false;
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == ':' || *c == '/' || *c == 0x7f)
			return false;
	return name[strspn(name, NAMES_DIGITS)];
}

bool names_is_id(const char *id)
{
	size_t n;

	if (strnlen(id, LAUNCH_ID_MAX) == LAUNCH_ID_MAX)
		return false;
	for (;; id += n + 1) {
		n = strspn(id, NAMES_DIGITS);
		if (!n)
			return false;
		if (id[n] != '.')
			break;
	}
	if (id[n] != ':')
		return false;
	id += n + 1;
	n = strspn(id, NAMES_DIGITS);
	return n && !id[n];
}

/* One line, and all of it: what was cut off is not an answer. */
static bool names_is_line(const char *text, size_t length)
{
	return length && memchr(text, '\n', length) == text + length - 1;
}

/* Takes the digits up to `end`, which must follow. NULL: they are not there. */
static const char *names_number(const char *at, const char *limit, char end, uint32_t *out)
{
	const char *from = at;
	uint64_t value = 0;

	for (; at < limit && *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (*at - '0');
		if (value >= UINT32_MAX)
			return NULL;
	}
	if (at == from || at == limit || *at != end)
		return NULL;
	*out = value;
	return at + 1;
}

bool names_is_number(const char *group, gid_t *out)
{
	return names_number(group, group + strlen(group) + 1, '\0', out);
}

/* What follows NAME:PASSWORD: in a line; NULL: it is none. */
static const char *names_after_any(const char *text, size_t length)
{
	const char *at = names_is_line(text, length) ? memchr(text, ':', length) : NULL;

	at = at ? memchr(at + 1, ':', text + length - at - 1) : NULL;
	return at ? at + 1 : NULL;
}

/* The same in the line of this name; NULL: it is another line. */
static const char *names_after_password(const char *text, size_t length, const char *name)
{
	size_t n = strlen(name);

	return length > n && !memcmp(text, name, n) && text[n] == ':'
		       ? names_after_any(text, length)
		       : NULL;
}

int names_parse_name(const char *text, size_t length, char name[LAUNCH_USER_MAX])
{
	const char *end = names_is_line(text, length) ? memchr(text, ':', length) : NULL;

	if (!end || (size_t)(end - text) >= LAUNCH_USER_MAX)
		return -ENOENT;
	memset(name, 0, LAUNCH_USER_MAX);
	memcpy(name, text, end - text);
	return names_is_good(name) ? 0 : -EINVAL;
}

/* NAME:PASSWORD:UID:GID:… */
int names_parse_passwd(const char *text, size_t length, const char *name, struct user *out)
{
	const char *limit = text + length, *at = names_after_password(text, length, name);

	at = at ? names_number(at, limit, ':', &out->uid) : NULL;
	at = at ? names_number(at, limit, ':', &out->gid) : NULL;
	return at ? 0 : -ENOENT;
}

/* NAME,NAME… */
static bool names_has_member(const char *at, const char *limit, const char *user)
{
	const size_t n = strlen(user);

	while (at < limit) {
		const char *end = memchr(at, ',', limit - at) ?: limit;

		if ((size_t)(end - at) == n && !memcmp(at, user, n))
			return true;
		at = end + 1;
	}
	return false;
}

/* NAME:PASSWORD:GID:MEMBERS */
int names_parse_group(const char *text, size_t length, const char *group, const char *user,
		      gid_t *gid)
{
	const char *limit = text + length, *at;
	gid_t number;
	const bool by_number = names_is_number(group, &number);

	at = by_number ? names_after_any(text, length) : names_after_password(text, length, group);
	at = at ? names_number(at, limit, ':', gid) : NULL;
	if (!at || (by_number && *gid != number))
		return -ENOENT;
	return names_has_member(at, limit - 1, user);
}

/* NAME GID GID…, with as many spaces as there may be */
int names_parse_groups(const char *text, size_t length, const char *name, size_t max,
		       struct user *out)
{
	size_t n = strlen(name);
	const char *at, *limit = text + length - 1;

	if (!names_is_line(text, length) || length <= n || memcmp(text, name, n) ||
	    (text[n] != ' ' && text[n] != '\n'))
		return -ENOENT;
	out->ngroups = 0;
	for (at = text + n; at < limit;) {
		const char *end = at;
		uint32_t gid;

		if (*at == ' ') {
			at++;
			continue;
		}
		while (end < limit && *end != ' ')
			end++;
		at = names_number(at, end + 1, *end, &gid);
		if (!at)
			return -ENOENT;
		if (out->ngroups == max)
			return -E2BIG;
		out->groups[out->ngroups++] = gid;
	}
	return 0;
}

bool names_has_group(const struct user *user, gid_t gid)
{
	if (gid == user->gid)
		return true;
	for (size_t i = 0; i < user->ngroups; i++)
		if (user->groups[i] == gid)
			return true;
	return false;
}

size_t names_keep_groups(const struct user *user, const gid_t *from, size_t n, gid_t *to)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (names_has_group(user, from[i]))
			to[kept++] = from[i];
	return kept;
}
