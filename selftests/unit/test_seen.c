// SPDX-License-Identifier: GPL-2.0-or-later
/* What an end tells its agent of a program and its directory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/seen.h"

static const struct seen example = {
	.error = 11,
	.program = { .dev = 0xfe00,
		     .ino = ~0ull,
		     .size = 5,
		     .mtime_ns = -1,
		     .ctime_ns = INT64_MAX },
	.folder = { .dev = 7, .ino = 1ull << 40, .mode = 040755, .uid = 1000, .gid = ~0u },
};

static void test_whole(void **state)
{
	uint8_t bytes[SEEN_SIZE + 4] = { 0 };
	struct seen back;

	seen_encode(&example, bytes);
	assert_int_equal(seen_decode(&back, bytes, SEEN_SIZE), 0);
	assert_memory_equal(&back, &example, sizeof(back));
	/* A newer version says more. */
	assert_int_equal(seen_decode(&back, bytes, sizeof(bytes)), 0);
	assert_memory_equal(&back, &example, sizeof(back));
}

static void test_cut(void **state)
{
	uint8_t bytes[SEEN_SIZE];
	struct seen back;

	seen_encode(&example, bytes);
	for (size_t n = 0; n < SEEN_SIZE; n++)
		assert_int_equal(seen_decode(&back, bytes, n), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
