// SPDX-License-Identifier: GPL-2.0-or-later
#include "look.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "ask.h"

#define LOOK_FRESH 1.0 /* seconds */

struct look_waiter {
	struct look_waiter *next;
	look_fn done;
	void *ctx;
};

struct look {
	struct event_base *base;
	struct look_waiter *waiters; /* for the answer that is on its way */
	json_t *question, *answer;
	double asked, came, seconds;
};

static double look_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void look_on_answer(void *ctx, const json_t *reply, const char *why)
{
	struct look *look = ctx;
	struct look_waiter *w = look->waiters, *next;

	look->waiters = NULL;
	look->came = look_now();
	look->seconds = look->came - look->asked;
	json_decref(look->answer);
	look->answer = json_incref((json_t *)reply);
	for (; w; w = next) {
		next = w->next;
		w->done(w->ctx, reply, look->seconds, why);
		free(w);
	}
}

void look_at(struct look *look, look_fn done, void *ctx)
{
	const bool first = !look->waiters;
	struct look_waiter *w;

	if (first && look->answer && look_now() - look->came < LOOK_FRESH) {
		done(ctx, look->answer, look->seconds, NULL);
		return;
	}
	w = malloc(sizeof(*w));
	if (!w) {
		done(ctx, NULL, 0, "out of memory");
		return;
	}
	*w = (struct look_waiter){ look->waiters, done, ctx };
	look->waiters = w;
	if (!first)
		return;
	look->asked = look_now();
	ask_once(look->base, json_incref(look->question), look_on_answer, look);
}

struct look *look_new(struct event_base *base, json_t *question)
{
	struct look *look = calloc(1, sizeof(*look));

	if (!look || !question)
		goto free_look;
	look->base = base;
	look->question = question;
	return look;

free_look:
	json_decref(question);
	free(look);
	return NULL;
}

void look_free(struct look *look)
{
	if (!look)
		return;
	while (look->waiters) {
		struct look_waiter *w = look->waiters;

		look->waiters = w->next;
		free(w);
	}
	json_decref(look->question);
	json_decref(look->answer);
	free(look);
}
