// SPDX-License-Identifier: GPL-2.0-or-later
#include "caller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cursor.h"

#define CALLER_WORDS 6 /* u32: ids, login user, nice value, flag, number of groups */
#define CALLER_HEAD (CALLER_WORDS * 4 + 8 * (JOB_RLIMITS + JOB_TRAITS))

size_t caller_size(const struct caller *c)
{
	return CALLER_HEAD + 4ul * c->ngroups;
}

void caller_encode(const struct caller *c, uint8_t *out)
{
	const uint32_t words[CALLER_WORDS] = { c->uid,		c->gid,
					       c->loginuid,	(uint32_t)c->nice,
					       c->no_new_privs, c->ngroups };
	struct cursor_out o = { out };

	for (int i = 0; i < CALLER_WORDS; i++)
		cursor_put_u32(&o, words[i]);
	for (int i = 0; i < JOB_RLIMITS; i++)
		cursor_put_u64(&o, c->hard[i]);
	for (int i = 0; i < JOB_TRAITS; i++)
		cursor_put_u64(&o, c->traits[i]);
	for (uint32_t i = 0; i < c->ngroups; i++)
		cursor_put_u32(&o, c->groups[i]);
}

int caller_decode(struct caller *c, const uint8_t *in, size_t length)
{
	struct cursor cursor = cursor_of(in, length);
	uint32_t flag;

	memset(c, 0, sizeof(*c));
	c->uid = cursor_u32(&cursor);
	c->gid = cursor_u32(&cursor);
	c->loginuid = cursor_u32(&cursor);
	c->nice = (int32_t)cursor_u32(&cursor);
	flag = cursor_u32(&cursor);
	c->no_new_privs = flag;
	c->ngroups = cursor_u32(&cursor);
	for (int i = 0; i < JOB_RLIMITS; i++)
		c->hard[i] = cursor_u64(&cursor);
	for (int i = 0; i < JOB_TRAITS; i++)
		c->traits[i] = cursor_u64(&cursor);
	if (cursor.bad || flag > 1 || c->nice < -20 || c->nice > 19 ||
	    c->ngroups > JOB_GROUPS_MAX || 4ul * c->ngroups > cursor_left(&cursor))
		return -EBADMSG;
	c->groups = malloc(4ul * c->ngroups + 1);
	if (!c->groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->ngroups; i++)
		c->groups[i] = cursor_u32(&cursor);
	return 0;
}

void caller_free(struct caller *c)
{
	free(c->groups);
	c->groups = NULL;
	c->ngroups = 0;
}
