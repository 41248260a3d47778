// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/callers.h"

#include <stdlib.h>
#include <utlist.h>

static struct caller *callers_find(const struct callers *callers, uid_t uid)
{
	struct caller *c;

	LL_SEARCH_SCALAR(callers->first, c, uid, uid);
	return c;
}

struct caller *callers_enter(struct callers *callers, uid_t uid)
{
	struct caller *c = callers_find(callers, uid);

	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return NULL;
		c->uid = uid;
		LL_PREPEND(callers->first, c);
	}
	c->conns++;
	callers->conns++;
	callers->others += !!uid;
	return c;
}

void callers_leave(struct callers *callers, struct caller *caller)
{
	callers->conns--;
	callers->others -= !!caller->uid;
	if (--caller->conns)
		return;
	LL_DELETE(callers->first, caller);
	free(caller);
}

/*
 * When full, the user with the most connections yields one to a user with at least two fewer, so
 * that all get a share.
 */
enum callers_answer callers_admit(const struct callers *callers, uid_t uid, struct caller **rich)
{
	const struct caller *own = callers_find(callers, uid);
	unsigned int has = own ? own->conns : 0;
	struct caller *most = NULL;

	if (!uid)
		return callers->conns < CALLERS_MAX ? CALLERS_WELCOME : CALLERS_REFUSED;
	if (has >= CALLERS_A_USER)
		return CALLERS_REFUSED;
	if (callers->others < CALLERS_MAX - CALLERS_ROOT && callers->conns < CALLERS_MAX)
		return CALLERS_WELCOME;
	for (struct caller *c = callers->first; c; c = c->next)
		if (c->uid && (!most || c->conns > most->conns))
			most = c;
	if (!most || most->conns < has + 2)
		return CALLERS_REFUSED;
	*rich = most;
	return CALLERS_SHARE;
}
