// SPDX-License-Identifier: GPL-2.0-or-later
/* The environment of a command: as after a login by ssh, and not that of the caller. */
#include "ehrsh.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Debian's sshd has these. */
#define ENVIRONMENT_PATH "/usr/local/bin:/usr/bin:/bin:/usr/games"
#define ENVIRONMENT_PATH_ROOT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct environment {
	char **list;
	size_t count, room;
	bool full; /* no memory */
};

static size_t environment_name(const char *entry)
{
	return strcspn(entry, "=");
}

/* Takes over `entry`, which replaces an earlier one of the same name. */
static void environment_put(struct environment *e, char *entry)
{
	size_t i, length;

	if (!entry || e->full) {
		e->full = true;
		free(entry);
		return;
	}
	length = environment_name(entry);
	for (i = 0; i < e->count; i++)
		if (environment_name(e->list[i]) == length && !strncmp(e->list[i], entry, length))
			break;
	if (i < e->count) {
		free(e->list[i]);
	} else if (e->count == e->room) {
		e->full = true;
		free(entry);
		return;
	} else {
		e->count++;
	}
	e->list[i] = entry;
}

static void environment_set(struct environment *e, const char *name, const char *value)
{
	char *entry;

	environment_put(e, asprintf(&entry, "%s=%s", name, value) < 0 ? NULL : entry);
}

/* Whether the caller's variable goes along: Debian's ssh sends the locale, a terminal its type. */
static bool environment_goes(const struct wish *wish, const char *name, bool terminal)
{
	if (!strcmp(name, "LANG") || !strncmp(name, "LC_", 3) ||
	    (terminal && !strcmp(name, "TERM")))
		return true;
	for (size_t i = 0; i < wish->nsend; i++)
		if (!fnmatch(wish->send[i], name, 0))
			return true;
	return false;
}

static void environment_send(struct environment *e, const struct wish *wish, bool terminal)
{
	for (char **at = environ; *at; at++) {
		char *name = strndup(*at, environment_name(*at));

		if (!name)
			e->full = true;
		else if (environment_goes(wish, name, terminal))
			environment_put(e, strdup(*at));
		free(name);
	}
}

char **environment_make(const struct wish *wish, const struct passwd *user, bool terminal)
{
	struct environment e = { .room = 5 + wish->nset };

	for (char **at = environ; *at; at++)
		e.room++;
	e.list = calloc(e.room + 1, sizeof(*e.list));
	if (!e.list)
		return NULL;
	environment_set(&e, "USER", user->pw_name);
	environment_set(&e, "LOGNAME", user->pw_name);
	environment_set(&e, "HOME", user->pw_dir);
	environment_set(&e, "PATH", user->pw_uid ? ENVIRONMENT_PATH : ENVIRONMENT_PATH_ROOT);
	environment_set(&e, "SHELL", user->pw_shell);
	environment_send(&e, wish, terminal);
	for (size_t i = 0; i < wish->nset; i++)
		environment_put(&e, strdup(wish->set[i]));
	if (!e.full)
		return e.list;
	for (size_t i = 0; i < e.count; i++)
		free(e.list[i]);
	free(e.list);
	return NULL;
}
