// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/gang_user.h"

#include <stddef.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/clock.h"
#include "cluster/patience.h"

struct gang_user {
	struct gang_user *next;
	uid_t uid;
	uint64_t back_at; /* patience.h */
};

/* less than what the hosts allow the whole node */
static const struct patience user_patience = { 5000, 50 };

/* NULL: nothing was offered to it of late. Forgets those who have everything back. */
static struct gang_user *user_find(struct gang_user **at, uid_t uid)
{
	struct gang_user *u;

	while ((u = *at)) {
		if (u->back_at <= clock_ms()) {
			*at = u->next;
			free(u);
		} else if (u->uid == uid) {
			return u;
		} else {
			at = &u->next;
		}
	}
	return NULL;
}

uint32_t gang_user_left(struct gang_user **all, uid_t uid)
{
	const struct gang_user *u = user_find(all, uid);

	return patience_left(&user_patience, u ? u->back_at : 0, clock_ms());
}

void gang_user_spend(struct gang_user **all, uid_t uid, uint64_t since)
{
	struct gang_user *u = user_find(all, uid);

	if (!u) {
		u = calloc(1, sizeof(*u));
		if (!u)
			return;
		u->uid = uid;
		LL_PREPEND(*all, u);
	}
	patience_spend(&user_patience, &u->back_at, since, clock_ms());
}

void gang_user_forget_all(struct gang_user **all)
{
	struct gang_user *u;

	while ((u = *all)) {
		*all = u->next;
		free(u);
	}
}
