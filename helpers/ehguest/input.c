// SPDX-License-Identifier: GPL-2.0-or-later
#include "input.h"

#include "helpers/end/calls.h"
#include "walk.h"

#define INPUT_LOOKS 20 /* at most this part of the time is spent with looking for readers */

struct input_look {
	const struct input_source *source;
	struct input_wish wish;
};

/* How much one reads that is seen to: nobody else needs to be looked at. */
static bool input_known(const struct input_wish *w)
{
	return w->bytes && !w->unsure;
}

static void input_add(struct input_wish *w, struct input_wish one)
{
	if (input_known(&one)) {
		*w = one;
		return;
	}
	w->unsure |= one.unsure;
	if (w->bytes < one.bytes)
		w->bytes = one.bytes;
}

/* It is not known whether those that are not found wait. */
static bool input_see(void *ctx, long pid, long tid)
{
	const struct input_wish unknown = { .unsure = true };
	struct input_look *l = ctx;

	input_add(&l->wish, tid ? input_thread(l->source, pid, tid) : unknown);
	return input_known(&l->wish);
}

struct input_wish input_wanted(const struct input_source *source)
{
	struct input_look l = { .source = source };

	walk_descendants(input_see, &l);
	return l.wish;
}

int64_t input_look_after(int64_t now, int64_t ms)
{
	/* The first looks may take more: a program that has just started reads soon. */
	int64_t took = (calls_now() - now) * (2 * ms < INPUT_LOOKS ? 2 * ms : INPUT_LOOKS);

	return now + (took > ms ? took : ms);
}
