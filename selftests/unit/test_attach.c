// SPDX-License-Identifier: GPL-2.0-or-later
/* What an end, its keeper and their agent say to each other: what goes in comes out, and nothing malformed is taken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "random.h"
#include "wire/attach.h"
#include "wire/frame.h"

static void text_random(char *to, size_t size)
{
	size_t n = random_below(3) ? random_below(size) : random_below(2) * (size - 1);

	for (size_t i = 0; i < n; i++)
		to[i] = 1 + random_below(255);
	to[n] = '\0';
}

static int decode_any(int kind, const uint8_t *bytes, size_t n)
{
	struct attach attach;
	struct attached attached;
	struct note note;
	struct kept kept;

	return kind == 0   ? attach_decode(&attach, bytes, n)
	       : kind == 1 ? attached_decode(&attached, bytes, n)
	       : kind == 2 ? note_decode(&note, bytes, n)
			   : kept_decode(&kept, bytes, n);
}

/* Not shorter, in memory of just that size; what is behind it a newer version has added. */
/* `earlier`: bytes of an earlier version; `size`: there was none. */
static void only_whole_or(int kind, const uint8_t *bytes, size_t size, size_t earlier)
{
	for (size_t n = 0; n <= size + 9; n++) {
		uint8_t *cut = calloc(1, n + !n);

		assert_non_null(cut);
		memcpy(cut, bytes, n < size ? n : size);
		assert_int_equal(decode_any(kind, cut, n),
				 n >= size || n == earlier ? 0 : -EBADMSG);
		free(cut);
	}
}

static void only_whole(int kind, const uint8_t *bytes, size_t size)
{
	only_whole_or(kind, bytes, size, size);
}

static void test_attach(void **state)
{
	uint8_t bytes[ATTACH_SIZE];

	random_begin();
	assert_int_equal(frame_limit(FRAME_ATTACH), ATTACH_SIZE);
	assert_int_equal(frame_limit(FRAME_ATTACHED), ATTACH_SIZE);
	for (int round = 0; round < 300; round++) {
		struct attach a = { .executor = random_below(2),
				    .over = random_below(2),
				    .uid = random_64(),
				    .pid = random_64(),
				    .started_ms = random_64() },
			      b;
		struct attached c = { .limit_ms = random_64(),
				      .started_ms = random_64(),
				      .retry = random_below(2) },
				d;
		size_t n;

		text_random(a.token, sizeof(a.token));
		text_random(a.id, sizeof(a.id));
		text_random(a.other, sizeof(a.other));
		text_random(a.command, sizeof(a.command));
		n = attach_encode(&a, bytes);
		assert_true(n <= ATTACH_SIZE);
		assert_int_equal(attach_decode(&b, bytes, n), 0);
		assert_int_equal(b.executor, a.executor);
		assert_int_equal(b.pid, a.pid);
		assert_int_equal(b.uid, a.uid);
		assert_int_equal(b.started_ms, a.started_ms);
		assert_string_equal(b.token, a.token);
		assert_string_equal(b.id, a.id);
		assert_string_equal(b.other, a.other);
		assert_string_equal(b.command, a.command);
		assert_int_equal(b.over, a.over);
		/* an earlier version does not say that it is over */
		assert_int_equal(attach_decode(&b, bytes, n - a.over), 0);
		assert_false(b.over);
		if (round < 20)
			only_whole(0, bytes, n - a.over);
		if (a.over)
			bytes[n - 1] = 2;
		assert_int_equal(attach_decode(&b, bytes, n), a.over ? -EBADMSG : 0);
		bytes[0] = 2;
		assert_int_equal(attach_decode(&b, bytes, n), -EBADMSG);
		bytes[0] = 0;
		bytes[1] = 2;
		assert_int_equal(attach_decode(&b, bytes, n), -EBADMSG);

		memcpy(c.token, a.token, sizeof(c.token));
		memcpy(c.id, a.id, sizeof(c.id));
		memcpy(c.other, a.other, sizeof(c.other));
		text_random(c.host, sizeof(c.host));
		n = attached_encode(&c, bytes);
		assert_true(n <= ATTACH_SIZE);
		assert_int_equal(attached_decode(&d, bytes, n), 0);
		assert_int_equal(d.limit_ms, c.limit_ms);
		assert_int_equal(d.started_ms, c.started_ms);
		assert_string_equal(d.token, c.token);
		assert_string_equal(d.id, c.id);
		assert_string_equal(d.other, c.other);
		assert_string_equal(d.host, c.host);
		assert_int_equal(d.retry, c.retry);
		if (round < 20)
			only_whole(1, bytes, n);
		bytes[n - 1] = 2;
		assert_int_equal(attached_decode(&d, bytes, n), -EBADMSG);
		bytes[n - 1] = 0;
		bytes[n - 2] = 2;
		assert_int_equal(attached_decode(&d, bytes, n), -EBADMSG);
	}
}

/* Each text of its longest length, and one longer: the others are as they should be. */
static void test_attach_long(void **state)
{
	static const struct {
		int kind;
		size_t size;
	} texts[] = { { 0, ATTACH_TOKEN },   { 0, ATTACH_ID },	  { 0, ATTACH_CODE },
		      { 0, ATTACH_COMMAND }, { 1, ATTACH_TOKEN }, { 1, ATTACH_ID },
		      { 1, ATTACH_CODE },    { 1, ATTACH_HOST } };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (int more = 0; more < 2; more++) {
			uint8_t bytes[ATTACH_SIZE] = { 0 };
			/* numbers, empty texts before, this one, empty texts behind, retry and wait */
			size_t at = (texts[i].kind ? 12 : 18) + i % 4;
			size_t length = texts[i].size - 1 + more;

			memset(bytes + at, 'x', length);
			assert_int_equal(decode_any(texts[i].kind, bytes,
						    at + length + 4 - i % 4 + 2 * texts[i].kind),
					 more ? -EBADMSG : 0);
		}
}

static void test_note(void **state)
{
	uint8_t bytes[ATTACH_SIZE], untimed[ATTACH_SIZE];

	assert_true(5 + FRAME_EXIT_SIZE + 8 <= frame_limit(FRAME_NOTE));
	for (unsigned int what = 0; what < 256; what++) {
		bool valid = what && what < NOTE_WHATS;
		bool said = what == NOTE_STAYS || what == NOTE_DIFFERS;
		bool over = what == NOTE_ENDED || what == NOTE_SAME;
		struct note n = { .what = what,
				  .pid = 0x12345678,
				  .use = { 0x2a00, 1, 2, 3, 4, 5, 6, 7 },
				  .reason = 9,
				  .text = "why",
				  .timed = true,
				  .begun_us = 11,
				  .ready_us = 12,
				  .go_us = 13,
				  .started_us = 1ull << 60,
				  .ended_us = 14 },
			    back;
		size_t size = note_encode(&n, bytes);
		size_t times = what == NOTE_STARTED ? 4 * 8 : over ? 8 : 0;

		assert_int_equal(size - times, what == NOTE_ENDED     ? 5 + FRAME_EXIT_SIZE
					       : what == NOTE_STAYS   ? 5 + 4 + sizeof("why")
					       : what == NOTE_DIFFERS ? 5 + sizeof("why")
								      : 5);
		assert_int_equal(note_decode(&back, bytes, size), valid ? 0 : -EBADMSG);
		if (!valid)
			continue;
		assert_int_equal(back.what, what);
		assert_int_equal(back.pid, n.pid);
		if (what == NOTE_ENDED)
			assert_memory_equal(&back.use, &n.use, sizeof(n.use));
		assert_int_equal(back.reason, what == NOTE_STAYS ? 9 : 0);
		assert_string_equal(back.text, said ? "why" : "");
		assert_int_equal(back.begun_us, what == NOTE_STARTED ? 11 : 0);
		assert_int_equal(back.ready_us, what == NOTE_STARTED ? 12 : 0);
		assert_int_equal(back.go_us, what == NOTE_STARTED ? 13 : 0);
		assert_int_equal(back.started_us, what == NOTE_STARTED ? 1ull << 60 : 0);
		assert_int_equal(back.ended_us, over ? 14 : 0);
		/* an end of an earlier version does not say when, nor one whose agent does not take it */
		only_whole_or(2, bytes, size, size - times);
		assert_int_equal(back.timed, times != 0);
		assert_int_equal(note_decode(&back, bytes, size - times), 0);
		assert_false(back.timed);
		n.timed = false;
		assert_int_equal(note_encode(&n, untimed), size - times);
		assert_memory_equal(untimed, bytes, size - times);
		/* a status that no task ends with */
		if (what != NOTE_ENDED)
			continue;
		frame_put_u64(bytes + 5, 1 << 16);
		assert_int_equal(note_decode(&back, bytes, size), -EBADMSG);
	}
}

static void test_kept(void **state)
{
	uint8_t bytes[ATTACH_SIZE];

	assert_int_equal(frame_limit(FRAME_KEPT), ATTACH_SIZE);
	for (int round = 0; round < 300; round++) {
		struct kept a = { .executor = random_below(2),
				  .known = random_below(2),
				  .uid = random_64(),
				  .number = random_64() },
			    b;
		size_t n;

		text_random(a.token, sizeof(a.token));
		text_random(a.other, sizeof(a.other));
		n = kept_encode(&a, bytes);
		assert_true(n <= ATTACH_SIZE);
		assert_int_equal(kept_decode(&b, bytes, n), 0);
		assert_int_equal(b.executor, a.executor);
		assert_int_equal(b.known, a.known);
		assert_int_equal(b.uid, a.uid);
		assert_int_equal(b.number, a.number);
		assert_string_equal(b.token, a.token);
		assert_string_equal(b.other, a.other);
		if (!(round % 30))
			only_whole(3, bytes, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attach),
		cmocka_unit_test(test_attach_long),
		cmocka_unit_test(test_note),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
