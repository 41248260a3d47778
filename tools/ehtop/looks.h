/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file looks.h  What ehctl says again and again: asked for without waiting. */
#ifndef EHTOP_LOOKS_H
#define EHTOP_LOOKS_H

#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum looks_at { LOOKS_STATUS, LOOKS_TASKS, LOOKS_PAST, LOOKS_KINDS };

struct looks {
	json_t *status, *before, *tasks,
		*past; /**< as they were last; `before`: the last status but one */
	double looked, before_looked; /**< when, CLOCK_BOOTTIME; 0: never */
	double asked; /**< since when the status has had no answer; 0: it has one */
	size_t bytes[LOOKS_KINDS]; /**< of each answer, as it was last */
	char said[256]; /**< why one of them could not be had; "": all were */
	enum looks_at failed; /**< that one */
	struct ask *under_way[LOOKS_KINDS];
};

/** Asks for all but the history, or with `past` for that too. What is still under way is not asked for again. */
void looks_begin(struct looks *l, bool past);
bool looks_are_under_way(const struct looks *l);
/** Seconds that the status has been asked for without an answer. */
double looks_silence(const struct looks *l);
/** Those that are to be polled: at most LOOKS_KINDS. Their number. */
int looks_poll(const struct looks *l, struct pollfd fds[LOOKS_KINDS]);
/** Takes what has come. Whether an answer is whole, so that there is something new. */
bool looks_take(struct looks *l, const struct pollfd *fds, int n);
/** Seconds without a look after this one, so that looks take no more than 1 % of a processor from an agent. */
double looks_pause(const struct looks *l);
void looks_end(struct looks *l);

#endif
