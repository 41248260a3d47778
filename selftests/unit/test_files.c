// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages about files: what goes in comes out, and nothing malformed is taken. */
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
#include "wire/files.h"
#include "wire/frame.h"

static uint8_t wire[FILES_HEAD_MAX + FILES_DATA_MAX];

static void fill_name(char *name, size_t most)
{
	size_t n = random_64() % (most + 1);

	for (size_t i = 0; i < n; i++)
		name[i] = 'a' + random_64() % 26;
	name[n] = '\0';
}

/* All fields, of which each op takes its own. */
static void fill(struct files_message *m, uint8_t *data, size_t length)
{
	for (size_t i = 0; i < sizeof(*m); i++)
		((uint8_t *)m)[i] = random_64();
	m->error = 0;
	fill_name(m->name, FILES_NAME_MAX);
	fill_name(m->text, FILES_TEXT_MAX);
	for (size_t i = 0; i < length; i++)
		data[i] = random_64();
	m->data = data;
	m->length = length;
}

static size_t put(const struct files_message *m)
{
	size_t n = files_encode(wire, m), length = frame_get_u32(wire) + FILES_HEADER;

	assert_true(n <= FILES_HEAD_MAX);
	assert_true(length == n || length == n + m->length);
	if (length > n)
		memcpy(wire + n, m->data, m->length);
	return length;
}

static void test_messages(void **state)
{
	static struct files_message m, back;
	static uint8_t data[4096], again[FILES_HEAD_MAX];

	for (uint32_t op = 1; op < FILES_OPS; op++) {
		for (int i = 0; i < 64; i++) {
			size_t length, n;

			fill(&m, data, random_64() % sizeof(data));
			m.op = op | (i & 1 ? FILES_ANSWER : 0);
			length = put(&m);
			assert_int_equal(files_length(wire, length), length);
			assert_int_equal(files_decode(&back, wire, length), 0);
			assert_int_equal(back.op, m.op);
			assert_int_equal(back.tag, m.tag);
			n = files_encode(again, &back);
			assert_memory_equal(again, wire, n);
			assert_int_equal(n + back.length, length);
			/* a part of it is nothing */
			n = length - FILES_HEADER - back.length;
			if (n) {
				frame_put_u32(wire, random_64() % n);
				assert_int_equal(files_decode(&back, wire,
							      FILES_HEADER + frame_get_u32(wire)),
						 -EPROTO);
			}
		}
	}
}

static void test_errors(void **state)
{
	static struct files_message m, back;
	size_t length;

	memset(&m, 0, sizeof(m));
	m.op = FILES_STAT | FILES_ANSWER;
	m.error = ENOENT;
	length = put(&m);
	assert_int_equal(length, FILES_HEADER);
	assert_int_equal(files_decode(&back, wire, length), 0);
	assert_int_equal(back.error, ENOENT);
	/* of a request's, a negative and a large one */
	m.op = FILES_SYNC;
	length = put(&m);
	assert_int_equal(files_decode(&back, wire, length), -EPROTO);
	m.op |= FILES_ANSWER;
	m.error = -1;
	length = put(&m);
	assert_int_equal(files_decode(&back, wire, length), -EPROTO);
	m.error = 5000;
	length = put(&m);
	assert_int_equal(files_decode(&back, wire, length), -EPROTO);
}

static void test_names(void **state)
{
	static const char *const bad[] = { ".", "..", "a/b", "/", "../x" };
	static struct files_message m, back;
	size_t length;

	memset(&m, 0, sizeof(m));
	m.op = FILES_LOOK;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(m.name, bad[i]);
		length = put(&m);
		assert_int_equal(files_decode(&back, wire, length), -EPROTO);
	}
	strcpy(m.name, "abc");
	length = put(&m);
	wire[length - 1] = '\0';
	assert_int_equal(files_decode(&back, wire, length), -EPROTO);
}

static void test_lengths(void **state)
{
	static struct files_message back;
	uint8_t head[FILES_HEADER] = { 0 };

	assert_int_equal(files_length(head, FILES_HEADER - 1), 0);
	frame_put_u32(head, FILES_BODY_MAX);
	assert_int_equal(files_length(head, FILES_HEADER), FILES_BODY_MAX + FILES_HEADER);
	frame_put_u32(head, FILES_BODY_MAX + 1);
	assert_int_equal(files_length(head, FILES_HEADER), -EPROTO);
	for (uint32_t op = 0; op < 2 * FILES_ANSWER; op++) {
		memset(head, 0, sizeof(head));
		frame_put_u32(head + 4, op);
		if (!(op & ~FILES_ANSWER) || (op & ~FILES_ANSWER) >= FILES_OPS)
			assert_int_equal(files_decode(&back, head, sizeof(head)), -EPROTO);
	}
}

static void test_entries(void **state)
{
	static uint8_t all[8 * FILES_ENTRY_MAX];
	struct files_entry in[8], e;
	const uint8_t *at = all;
	size_t n = 0;

	for (int i = 0; i < 8; i++) {
		for (size_t k = 0; k < sizeof(in[i]); k++)
			((uint8_t *)&in[i])[k] = random_64();
		fill_name(in[i].name, FILES_NAME_MAX);
		n += files_entry_encode(all + n, &in[i].attr, in[i].name);
	}
	for (int i = 0; i < 8; i++) {
		assert_true(files_entry_decode(&e, &at, all + n));
		assert_string_equal(e.name, in[i].name);
		assert_int_equal(e.attr.ino, in[i].attr.ino);
		assert_int_equal(e.attr.mode, in[i].attr.mode);
		assert_int_equal(e.attr.ctime.sec, in[i].attr.ctime.sec);
		assert_int_equal(e.attr.ctime.nsec, in[i].attr.ctime.nsec);
	}
	assert_false(files_entry_decode(&e, &at, all + n));
	at = all;
	assert_false(files_entry_decode(&e, &at, all + FILES_ATTR_SIZE + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_entries),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
