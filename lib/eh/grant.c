// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Grants: a placed task is counted on its executor at once, or all the asks of
 * a burst would go to the same node, which still looks idle.
 */
#include "grant.h"

#include <stdlib.h>

struct grant *eh_grant_reserve(struct eh_group *group, unsigned int asker, uint64_t id,
			       uint64_t size, uint64_t now)
{
	struct grant *grant, *old;

	if (HASH_COUNT(group->grants) >= EH_GRANTS_MAX ||
	    group->members[asker].asked >= EH_GRANTS_CHILD)
		return NULL;
	grant = calloc(1, sizeof(*grant));
	if (!grant)
		return NULL;
	grant->id = id;
	grant->asker = asker;
	grant->size = size;
	grant->deadline = now + group->options.grant_ms;
	grant->child = group->size;
	HASH_FIND(hh, group->grants, &id, sizeof(id), old);
	HASH_ADD(hh, group->grants, id, sizeof(grant->id), grant);
	if (!grant->hh.tbl) {
		free(grant);
		return NULL;
	}
	group->members[asker].asked++;
	/* One that asks again has not used its first grant. */
	if (old)
		eh_grant_drop(group, old);
	return grant;
}

void eh_grant_to(struct eh_group *group, struct grant *grant, unsigned int child)
{
	grant->child = child;
	group->members[child].granted += grant->size;
}

void eh_grant_drop(struct eh_group *group, struct grant *grant)
{
	if (grant->child < group->size)
		group->members[grant->child].granted -= grant->size;
	group->members[grant->asker].asked--;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): clang does not follow the links of uthash */
	HASH_DEL(group->grants, grant);
	free(grant);
}

void eh_grant_settle(struct eh_group *group, uint64_t id, unsigned int child)
{
	struct grant *grant;

	HASH_FIND(hh, group->grants, &id, sizeof(id), grant);
	if (grant && grant->child == child)
		eh_grant_drop(group, grant);
}

void eh_grant_expire(struct eh_group *group, uint64_t now)
{
	/* uthash keeps the order of insertion, and all live equally long. */
	while (group->grants && group->grants->deadline <= now)
		eh_grant_drop(group, group->grants);
}

void eh_grant_forget(struct eh_group *group, unsigned int child)
{
	struct grant *grant, *next;

	HASH_ITER(hh, group->grants, grant, next)
		if (child == group->size || grant->child == child)
			eh_grant_drop(group, grant);
}

void eh_grant_recount(struct eh_group *group, unsigned int child)
{
	struct group_member *m = &group->members[child];
	struct grant *grant, *next;

	HASH_ITER(hh, group->grants, grant, next)
		for (unsigned int i = 0; grant->child == child && i < m->nbest; i++)
			if (m->best[i].node == grant->node)
				m->best[i].load += grant->size;
}
