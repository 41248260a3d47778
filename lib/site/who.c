// SPDX-License-Identifier: GPL-2.0-or-later
#include "who.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define WHO_GROUP '@'

bool site_number(const char *text, unsigned int *out)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (*text - '0');
		if (value >= UINT32_MAX)
			return false;
	}
	*out = value;
	return true;
}

bool site_who_is_good(const char *item)
{
	const char *name = item + (*item == WHO_GROUP);
	size_t length = strnlen(name, SITE_WHO_MAX + 1);
	unsigned int number;

	if (!length || length > SITE_WHO_MAX || *name == '-' || *name == '+' || *name == WHO_GROUP)
		return false;
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == ':' || *c == '/' || *c == 0x7f)
			return false;
	/* Of digits only, it must be a number that somebody can have. */
	return name[strspn(name, "0123456789")] || site_number(name, &number);
}

/* 1, 0, or -errno. */
static int who_is(const char *item, const char *name, uid_t uid, site_group_fn in_group, void *ctx)
{
	unsigned int number;

	if (*item == WHO_GROUP)
		return in_group(ctx, item + 1);
	if (site_number(item, &number))
		return uid == number;
	return *name ? !strcmp(item, name) : -ENODATA;
}

enum site_answer site_who(const struct site_who *rule, const char *name, uid_t uid,
			  site_group_fn in_group, void *ctx, const char **item)
{
	enum site_answer answer = SITE_MAY;
	const char *none;

	if (!item)
		item = &none;
	*item = NULL;
	for (size_t i = 0; i < rule->ndeny; i++) {
		int is = who_is(rule->deny[i], name, uid, in_group, ctx);

		if (!is || (is < 0 && answer == SITE_UNSURE))
			continue;
		*item = rule->deny[i];
		answer = is > 0 ? SITE_DENIED : SITE_UNSURE;
		if (is > 0)
			return answer;
	}
	if (answer != SITE_MAY || !rule->nallow)
		return answer;
	for (size_t i = 0; i < rule->nallow; i++)
		if (who_is(rule->allow[i], name, uid, in_group, ctx) > 0) {
			*item = rule->allow[i];
			return SITE_MAY;
		}
	return SITE_NOT_ALLOWED;
}
