// SPDX-License-Identifier: GPL-2.0-or-later
#include "looks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask.h"
#include "tools/common/common.h"

#define LOOKS_WORDS 5
/* An agent needs about 0.1 us for each byte that it says of nodes and tasks. A hundred times that, and two
 * and a half times more, because processors differ, and what they do beside. */
#define LOOKS_PAUSE_S 25e-6

static const char *const looks_words[LOOKS_KINDS][LOOKS_WORDS + 1] = {
	[LOOKS_STATUS] = { "status", "--json" },
	[LOOKS_TASKS] = { "tasks", "--all", "--json" },
	[LOOKS_PAST] = { "history", "--all", "--json", "-n", "200" },
};

void looks_begin(struct looks *l, bool past)
{
	if (l->failed == LOOKS_PAST && !past)
		l->said[0] = '\0';
	if (!l->asked)
		l->asked = progress_seconds(CLOCK_BOOTTIME);
	for (int i = 0; i < LOOKS_KINDS; i++)
		if (!l->under_way[i] && (i != LOOKS_PAST || past))
			l->under_way[i] = ask_begin(looks_words[i]);
}

bool looks_are_under_way(const struct looks *l)
{
	for (int i = 0; i < LOOKS_KINDS; i++)
		if (l->under_way[i])
			return true;
	return false;
}

double looks_silence(const struct looks *l)
{
	return l->asked ? progress_seconds(CLOCK_BOOTTIME) - l->asked : 0;
}

int looks_poll(const struct looks *l, struct pollfd fds[LOOKS_KINDS])
{
	int n = 0;

	for (int i = 0; i < LOOKS_KINDS; i++)
		if (l->under_way[i])
			fds[n++] = (struct pollfd){ ask_fd(l->under_way[i]), POLLIN, 0 };
	return n;
}

static void looks_put(json_t **at, json_t *value)
{
	json_decref(*at);
	*at = value;
}

/* One that has been read whole. */
static void looks_finish(struct looks *l, enum looks_at at)
{
	char *said;
	json_t *answer = ask_json(l->under_way[at], &said);

	l->under_way[at] = NULL;
	if (!answer) {
		/* Without an agent the last picture stays, and why. */
		snprintf(l->said, sizeof(l->said), "%.*s", (int)strcspn(said, "\n"), said);
		l->failed = at;
		free(said);
		return;
	}
	if (l->failed == at)
		l->said[0] = '\0';
	l->bytes[at] = strlen(said);
	if (at == LOOKS_STATUS) {
		looks_put(&l->before, l->status);
		l->status = answer;
		l->before_looked = l->looked;
		l->asked = 0;
		l->looked = progress_seconds(CLOCK_BOOTTIME);
	} else {
		looks_put(at == LOOKS_TASKS ? &l->tasks : &l->past, answer);
	}
	free(said);
}

bool looks_take(struct looks *l, const struct pollfd *fds, int n)
{
	bool whole = false;

	for (int i = 0; i < LOOKS_KINDS; i++) {
		struct ask *a = l->under_way[i];

		for (int k = 0; a && k < n; k++)
			if (fds[k].fd == ask_fd(a) && fds[k].fd >= 0 && fds[k].revents)
				ask_read(a);
		if (a && ask_fd(a) < 0) {
			looks_finish(l, i);
			whole = true;
		}
	}
	return whole;
}

double looks_pause(const struct looks *l)
{
	double bytes = 0;

	for (int i = 0; i < LOOKS_KINDS; i++)
		bytes += (double)l->bytes[i];
	return bytes * LOOKS_PAUSE_S;
}

void looks_end(struct looks *l)
{
	char *said;

	for (int i = 0; i < LOOKS_KINDS; i++)
		if (l->under_way[i]) {
			ask_end(l->under_way[i], &said);
			free(said);
		}
	json_decref(l->status);
	json_decref(l->before);
	json_decref(l->tasks);
	json_decref(l->past);
}
