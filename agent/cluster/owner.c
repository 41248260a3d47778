// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/owner.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/rule.h"
#include "base/user.h"
#include "cluster/drain.h"

#define OWNER_LOOK_S 2

struct owner {
	enum owner_mode mode;
	struct event *timer;
};

static const char *const owner_modes[OWNER_MODES] = { "auto", "on", "off" };

/* ---- what owners type ---- */

/* "N" of /dev/pts, "ttyN" of /dev: terminals that somebody logs in at. */
static bool owner_is_terminal(const char *name, const char *before)
{
	size_t n = strlen(before);

	if (strncmp(name, before, n) || !name[n])
		return false;
	for (name += n; *name; name++)
		if (!isdigit((unsigned char)*name))
			return false;
	return true;
}

/*
 * Seconds since an owner has typed: of each terminal the kernel notes when it was read last, in steps of
 * eight seconds. UINT_MAX: none has one.
 */
static unsigned int owner_look(const struct config *config, const char *directory,
			       const char *before, uid_t *who)
{
	const time_t now = time(NULL);
	unsigned int least = UINT_MAX;
	DIR *dir = opendir(directory);
	struct dirent *entry;
	struct stat st;
	time_t idle;

	while (dir && (entry = readdir(dir))) {
		/* Mode 0 of /dev/pts/ptmx, and root's consoles, are nobody's. */
		if (!owner_is_terminal(entry->d_name, before) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISCHR(st.st_mode) || !st.st_uid || !rule_is_owner(config, st.st_uid))
			continue;
		idle = now > st.st_atime ? now - st.st_atime : 0;
		if (idle < least) {
			least = idle;
			*who = st.st_uid;
		}
	}
	if (dir)
		closedir(dir);
	return least;
}

static unsigned int owner_idle(struct agent *agent, uid_t *who)
{
	uid_t at_console = 0;
	unsigned int pts = owner_look(agent->config, "/dev/pts", "", who);
	unsigned int console = owner_look(agent->config, "/dev", "tty", &at_console);

	if (console < pts)
		*who = at_console;
	return console < pts ? console : pts;
}

static bool owner_looks(const struct agent *agent)
{
	return agent->owner->mode == OWNER_AUTO && agent->config->owner_idle &&
	       agent->config->nowners;
}

/* ---- what follows ---- */

static void owner_need(struct agent *agent, bool needs, const char *by)
{
	if (needs != agent->owned)
		log_info("%s%s%s",
			 needs ? "no new guests: its owner uses this node"
			       : "guests may come again: its owner does not need this node",
			 *by ? ", says " : "", by);
	drain_set_owned(agent, needs, by);
}

static void owner_check(struct agent *agent)
{
	uid_t who = 0;
	bool active;
	const char *name;
	char by[ADDRESS_HOST_MAX + 80];

	if (agent->owner->mode != OWNER_AUTO)
		return;
	active = owner_looks(agent) && owner_idle(agent, &who) < agent->config->owner_idle;
	if (active == agent->owned)
		return;
	name = active ? user_name(who) : NULL;
	if (!active)
		*by = '\0';
	else if (name)
		snprintf(by, sizeof(by), "%s@%s", name, agent->config->host);
	else
		snprintf(by, sizeof(by), "%u@%s", who, agent->config->host);
	owner_need(agent, active, by);
}

static void owner_on_timer(evutil_socket_t fd, short what, void *arg)
{
	owner_check(arg);
}

/* Looks every few seconds, if the configuration asks for that. 0 or -ENOMEM. */
static int owner_schedule(struct agent *agent)
{
	owner_check(agent);
	if (!owner_looks(agent)) {
		evtimer_del(agent->owner->timer);
		return 0;
	}
	return clock_arm(agent->owner->timer, OWNER_LOOK_S * 1000) ? -ENOMEM : 0;
}

void owner_set(struct agent *agent, enum owner_mode mode, const char *by)
{
	agent->owner->mode = mode;
	if (mode != OWNER_AUTO)
		owner_need(agent, mode == OWNER_ON, by);
	if (owner_schedule(agent))
		log_error("out of memory: whether owners type is not checked");
}

void owner_reload(struct agent *agent)
{
	if (agent->owner && owner_schedule(agent))
		log_error("out of memory: whether owners type is not checked");
}

int owner_parse(const char *text, enum owner_mode *out)
{
	for (int mode = 0; mode < OWNER_MODES; mode++)
		if (!strcmp(text, owner_modes[mode])) {
			*out = mode;
			return 0;
		}
	return -EINVAL;
}

json_t *owner_json(struct agent *agent)
{
	unsigned int idle = UINT_MAX;
	uid_t who;

	if (agent->config->nowners)
		idle = owner_idle(agent, &who);
	return json_pack("{s:s,s:b,s:o}", "mode", owner_modes[agent->owner->mode], "active",
			 (int)agent->owned, "idle",
			 idle == UINT_MAX ? json_null() : json_integer(idle));
}

int owner_init(struct agent *agent)
{
	agent->owner = calloc(1, sizeof(*agent->owner));
	if (!agent->owner)
		return -ENOMEM;
	agent->owner->timer = event_new(agent->base, -1, EV_PERSIST, owner_on_timer, agent);
	return agent->owner->timer ? owner_schedule(agent) : -ENOMEM;
}

void owner_exit(struct agent *agent)
{
	if (!agent->owner)
		return;
	agent_free_event(&agent->owner->timer);
	free(agent->owner);
	agent->owner = NULL;
}
