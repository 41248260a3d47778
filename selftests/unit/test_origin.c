// SPDX-License-Identifier: GPL-2.0-or-later
/* What a session keeps of the limits of the cgroup that its process comes from: plain directories here. */
#include <fcntl.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "helpers/ehlaunch/origin.h"
#include "helpers/ehlaunch/site.h"
#include "temp.h"

struct rules rules;

static int top; /* a directory for each test */

static int folder(const char *path)
{
	int fd;

	assert_int_equal(mkdirat(top, path, 0700), 0);
	fd = openat(top, path, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	return fd;
}

static void put(const char *path, const char *text)
{
	int fd = openat(top, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void has(const char *path, const char *text)
{
	char got[64] = "";
	int fd = openat(top, path, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	assert_string_equal(got, text);
	close(fd);
}

static int begin(void **state)
{
	char path[TEMP_PATH];

	*state = strdup(mkdtemp(temp_path(path, "origin-XXXXXX")));
	top = open(path, O_RDONLY | O_DIRECTORY);
	return top < 0;
}

static int end(void **state)
{
	char command[64];

	close(top);
	snprintf(command, sizeof(command), "rm -r %s", (char *)*state);
	free(*state);
	return system(command);
}

static void test_least(void **state)
{
	int slice = folder("slice"), scope = folder("slice/scope"), session = folder("session");

	put("slice/pids.max", "100\n");
	put("slice/scope/pids.max", "max\n");
	put("slice/memory.max", "8192\n");
	put("slice/scope/memory.max", "4096\n");
	put("slice/memory.high", "max\n");
	put("slice/cpu.max", "50000 100000\n");
	put("slice/scope/cpu.max", "60000 200000\n");
	put("session/pids.max", "");
	put("session/memory.max", "");
	put("session/memory.high", "");
	put("session/cpu.max", "");
	assert_int_equal(origin_limits(scope, session), 0);
	has("session/pids.max", "100\n");
	has("session/memory.max", "4096\n");
	has("session/memory.high", "");
	has("session/cpu.max", "60000 200000\n");
	assert_int_equal(origin_limits(slice, session), 0);
	has("session/memory.max", "8192\n");
	has("session/cpu.max", "50000 100000\n");
	close(slice);
	close(scope);
	close(session);
}

static void test_none(void **state)
{
	int scope = folder("scope"), session = folder("session");

	put("scope/pids.max", "max\n");
	put("scope/cpu.max", "max 100000\n");
	put("scope/memory.max", "");
	assert_int_equal(origin_limits(scope, session), 0);
	close(scope);
	close(session);
}

/* Without the controller the session would have no limit. */
static void test_cannot(void **state)
{
	int scope = folder("scope"), session = folder("session");

	put("scope/pids.max", "0\n");
	assert_int_equal(origin_limits(scope, session), -ENOENT);
	close(scope);
	close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_least, begin, end),
		cmocka_unit_test_setup_teardown(test_none, begin, end),
		cmocka_unit_test_setup_teardown(test_cannot, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
