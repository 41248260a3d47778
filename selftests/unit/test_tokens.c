// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The account of tokens in a small world: makes that take tokens for jobs, a relay that keeps what is owed
 * of those that are put back, and 10^5 kills: of jobs, which give theirs back, and of makes and of
 * the relay, which cannot. Slots are granted and taken back all the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "eh/slots.h"
#include "eh/tokens.h"
#include "random.h"

#define MAKES 6
#define KILLS 100000

struct world {
	unsigned int pipe;
	unsigned int back; /* put back, and not handed on */
	unsigned int owed, kept; /* what the relay is to keep, and has kept since the last look */
	unsigned int has[MAKES]; /* tokens of each make */
	unsigned int shows[MAKES]; /* of which one can see a job */
	struct eh_tokens t;
};

static unsigned int alive(const struct world *w)
{
	unsigned int sum = 0;

	for (int i = 0; i < MAKES; i++)
		sum += w->has[i];
	return sum;
}

static void look(struct world *w, bool known)
{
	unsigned int held = 0;
	int change;

	for (int i = 0; i < MAKES; i++)
		held += w->shows[i];
	eh_tokens_done(&w->t, -(int)w->kept);
	w->kept = 0;
	change = eh_tokens_look(&w->t, w->pipe, known ? held : EH_TOKENS_UNKNOWN);
	assert_true(change >= 0 || w->pipe >= (unsigned int)-change);
	/* Somebody may have been faster. */
	if (change < 0 && random_below(4) == 0)
		change = 0;
	w->pipe += change;
	eh_tokens_done(&w->t, change);
	w->owed = eh_tokens_owed(&w->t);
	/* until the next look, that is */
	for (int i = 0; i < MAKES; i++)
		w->shows[i] = w->has[i];
}

static void relay(struct world *w)
{
	const unsigned int keep = w->back < w->owed ? w->back : w->owed;

	w->owed -= keep;
	w->kept += keep;
	w->pipe += w->back - keep;
	w->back = 0;
}

static void work(struct world *w)
{
	const unsigned int i = random_below(MAKES);

	if (random_below(2) && w->pipe) {
		w->pipe--;
		w->has[i]++;
		/* A moment passes until it has a job that one can see. */
		if (random_below(32))
			w->shows[i] = w->has[i];
	} else if (w->has[i]) {
		w->back++;
		w->has[i]--;
	}
	if (w->shows[i] > w->has[i])
		w->shows[i] = w->has[i];
	if (random_below(4))
		relay(w);
}

static void settle(struct world *w)
{
	for (int i = 0; i < MAKES; i++) {
		w->back += w->has[i];
		w->has[i] = w->shows[i] = 0;
	}
	relay(w);
	for (int i = 0; i < 100; i++)
		look(w, true);
}

static void test_kills(void **state)
{
	struct world w = { 0 };
	uint64_t gone = 0;
	unsigned int kills = 0, n;

	random_begin();
	eh_tokens_granted(&w.t, 20);
	while (kills < KILLS) {
		const unsigned int i = random_below(MAKES);

		for (n = random_below(20); n; n--)
			work(&w);
		look(&w, random_below(3) > 0);
		if (random_below(10) == 0)
			eh_tokens_granted(&w.t, random_below(64));
		if (random_below(3) == 0) {
			/* of a job: its make gives back */
			if (w.has[i]) {
				w.back++;
				w.has[i]--;
				w.shows[i] = w.shows[i] < w.has[i] ? w.shows[i] : w.has[i];
				kills++;
			}
		} else if (random_below(16) == 0) {
			gone += w.has[i];
			w.has[i] = w.shows[i] = 0;
			kills++;
		} else if (random_below(16) == 0) {
			/* of the relay, with what is in its hand */
			gone += w.back;
			w.back = 0;
			kills++;
		}
		/* Never one more than there are by the account, whatever was killed. */
		assert_true(w.pipe + w.back + w.kept + alive(&w) <= w.t.made);
		assert_true(w.t.doubled == 0);
		if (kills % 1000 == 0) {
			settle(&w);
			assert_int_equal(w.pipe, w.t.should);
			assert_int_equal(w.t.made, w.t.should);
			assert_true(w.t.lost == gone);
		}
	}
	print_message("# %u kills, %llu tokens were lost and made again\n", kills,
		      (unsigned long long)gone);
	assert_true(gone > KILLS / 10);
}

/* However fast makes are: no job that ends has a follower as long as a token is owed. */
static void test_owed(void **state)
{
	struct world w = { 0 };

	random_begin();
	for (int i = 0; i < 1000; i++) {
		unsigned int ends = 0, owed;

		w = (struct world){ 0 };
		eh_tokens_granted(&w.t, 12 + random_below(50));
		look(&w, true);
		w.has[0] = w.pipe;
		w.pipe = 0;
		eh_tokens_granted(&w.t, 1 + random_below(11));
		look(&w, true);
		owed = eh_tokens_owed(&w.t);
		assert_int_equal(owed, w.t.made - w.t.should);
		for (; w.has[0] > w.t.should; ends++) {
			w.has[0]--;
			w.back++;
			relay(&w);
			/* A make that waits takes what there is, at once. */
			w.has[0] += w.pipe;
			w.pipe = 0;
			if (random_below(3) == 0)
				look(&w, random_below(2));
		}
		assert_int_equal(ends, owed);
	}
}

static void test_doubled(void **state)
{
	struct world w = { 0 };

	eh_tokens_granted(&w.t, 5);
	look(&w, true);
	assert_int_equal(w.pipe, 4);
	/* Somebody puts in two that were none. */
	w.pipe += 2;
	for (int i = 0; i < 100; i++)
		look(&w, true);
	assert_int_equal(w.pipe, 4);
	assert_true(w.t.doubled == 2 && w.t.lost == 0);
}

static void test_shrinks(void **state)
{
	struct eh_tokens t = { 0 };

	eh_tokens_granted(&t, 9);
	assert_int_equal(eh_tokens_look(&t, 0, 0), 8);
	eh_tokens_done(&t, 8);
	/* Six have jobs: only two can be taken, the others when they come back. */
	eh_tokens_granted(&t, 1);
	assert_int_equal(eh_tokens_look(&t, 2, 6), -2);
	eh_tokens_done(&t, -2);
	assert_int_equal(eh_tokens_look(&t, 0, 6), 0);
	assert_int_equal(eh_tokens_look(&t, 1, 5), -1);
	eh_tokens_done(&t, -1);
	assert_int_equal(t.made, 5);
	eh_tokens_granted(&t, 0);
	assert_int_equal(t.should, 0);
	eh_tokens_granted(&t, UINT32_MAX);
	assert_int_equal(t.should, EH_SLOTS_MAX - 1);
}

static void test_wants(void **state)
{
	struct eh_tokens t = { .made = 10, .should = 10 };

	eh_tokens_look(&t, 4, 6);
	assert_int_equal(eh_tokens_wants(&t), 7 + 1 + 1);
	eh_tokens_look(&t, 0, 10);
	assert_int_equal(eh_tokens_wants(&t), 23);
	eh_tokens_look(&t, 10, 0);
	assert_int_equal(eh_tokens_wants(&t), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kills),	cmocka_unit_test(test_owed),
		cmocka_unit_test(test_doubled), cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_wants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
