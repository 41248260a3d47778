// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/launch_options.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire/launch_digest.h"

#define OPTIONS_NUMBERS 5
#define OPTIONS_LISTS 5
#define OPTIONS_OTHERS 16 /* words: the program, two for each option with one value, NULL */

struct options {
	char **argv;
	size_t n;
	char (*numbers)[12];
};

static void options_add(struct options *o, const char *name, const char *value)
{
	o->argv[o->n++] = (char *)name;
	if (value)
		o->argv[o->n++] = (char *)value;
}

static void options_add_numbers(struct options *o, const struct config *c)
{
	const struct {
		const char *name;
		unsigned int value;
	} numbers[OPTIONS_NUMBERS] = {
		{ "--uid-min", c->uid_min },
		{ "--guest-pids", c->guest_pids },
		{ "--guest-memory", c->guest_memory },
		{ "--guest-cpu", c->guest_cpu },
		{ "--time-limit-max", launch_time_limit(c) },
	};

	for (size_t i = 0; i < OPTIONS_NUMBERS; i++) {
		snprintf(o->numbers[i], sizeof(o->numbers[i]), "%u", numbers[i].value);
		options_add(o, numbers[i].name, o->numbers[i]);
	}
}

char **launch_options(const struct config *c, const char *agent)
{
	const struct {
		const char *name;
		char *const *items;
		size_t n;
	} lists[OPTIONS_LISTS] = {
		{ "--allow-user", c->allow_users, c->nallow_users },
		{ "--guest-allow-user", c->guest_allow, c->nguest_allow },
		{ "--guest-deny-user", c->guest_deny, c->nguest_deny },
		{ "--user-map", c->user_map, c->nuser_map },
		{ "--view-own", c->view_own, c->nview_own },
	};
	size_t words = OPTIONS_OTHERS + 2 * OPTIONS_NUMBERS;
	struct options o = { 0 };

	for (size_t i = 0; i < OPTIONS_LISTS; i++)
		words += 2 * lists[i].n;
	o.argv = calloc(1, words * sizeof(*o.argv) + OPTIONS_NUMBERS * sizeof(*o.numbers));
	if (!o.argv)
		return NULL;
	o.numbers = (void *)(o.argv + words);
	options_add(&o, "ehlaunch", NULL);
	if (agent) {
		options_add(&o, "--agent", agent);
		options_add(&o, "--configuration", c->file);
	}
	options_add(&o, "--cgroup", c->cgroup);
	options_add(&o, "--stub", c->stub);
	options_add_numbers(&o, c);
	for (size_t i = 0; i < OPTIONS_LISTS; i++)
		for (size_t k = 0; k < lists[i].n; k++)
			options_add(&o, lists[i].name, lists[i].items[k]);
	if (c->guest_pid_namespace)
		options_add(&o, "--guest-pid-namespace", NULL);
	if (c->allow_root)
		options_add(&o, "--allow-root", NULL);
	if (c->no_new_privs)
		options_add(&o, "--no-new-privs", NULL);
	return o.argv;
}

uint64_t launch_options_digest(const struct config *c)
{
	char **argv = launch_options(c, NULL);
	uint64_t digest = argv ? launch_digest(argv) : 0;

	free(argv);
	return digest;
}
