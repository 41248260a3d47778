// SPDX-License-Identifier: GPL-2.0-or-later
/* The option `log`: levels, areas, and which messages come out. */

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"

static struct log_levels parse(const char *text)
{
	struct log_levels levels;
	char why[256] = "";

	if (!log_levels_parse(text, &levels, why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	return levels;
}

static void test_words(void **state)
{
	struct log_levels l = parse("warning");

	assert_int_equal(l.all, LOG_LEVEL_WARNING);
	assert_int_equal(l.most, LOG_LEVEL_WARNING);
	assert_int_equal(log_levels_of(&l, "agent/home/placement.c"), LOG_LEVEL_WARNING);

	l = parse("debug:placement");
	assert_int_equal(l.all, LOG_LEVEL_INFO);
	assert_int_equal(l.most, LOG_LEVEL_DEBUG);
	assert_int_equal(log_levels_of(&l, "agent/home/placement.c"), LOG_LEVEL_DEBUG);
	assert_int_equal(log_levels_of(&l, "agent/cluster/ask.c"), LOG_LEVEL_DEBUG);
	assert_int_equal(log_levels_of(&l, "/src/agent/executor/reserve.c"), LOG_LEVEL_DEBUG);
	assert_int_equal(log_levels_of(&l, "agent/home/handoff.c"), LOG_LEVEL_INFO);
	assert_int_equal(log_levels_of(&l, "home/placement.c"), LOG_LEVEL_INFO);

	/* quieter areas, both separators, and the last that fits counts */
	l = parse("  debug, error:home debug:placement,,warning:placement ");
	assert_int_equal(l.all, LOG_LEVEL_DEBUG);
	assert_int_equal(log_levels_of(&l, "agent/home/handoff.c"), LOG_LEVEL_ERROR);
	assert_int_equal(log_levels_of(&l, "agent/home/placement.c"), LOG_LEVEL_WARNING);
	assert_int_equal(log_levels_of(&l, "agent/net/link.c"), LOG_LEVEL_DEBUG);
	l = parse("debug:placement error:home");
	assert_int_equal(log_levels_of(&l, "agent/home/placement.c"), LOG_LEVEL_ERROR);
	assert_int_equal(log_levels_of(&l, "agent/cluster/ask.c"), LOG_LEVEL_DEBUG);
}

static void test_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "", "\"\" is not error, warning, info or debug" },
		{ " , ", "\"\" is not error, warning, info or debug" },
		{ "loud", "\"loud\" is not error, warning, info or debug" },
		{ "info :net", "\"\" is not error, warning, info or debug" },
		{ "debugs:net", "\"debugs\" is not error, warning, info or debug" },
		{ "info debug:",
		  "\"\" is not an area; areas are base, net, job, node, cluster, executor, home, "
		  "ctl, kernel, load, placement, roster, route, view" },
		{ "debug:nets", "\"nets\" is not an area" },
		{ "debug:net:job", "\"net:job\" is not an area" },
	};
	char why[256], many[LOG_WORDS_MAX * 16 + 16] = "", tight[8];
	struct log_levels l;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(log_levels_parse(bad[i][0], &l, why, sizeof(why)));
		assert_memory_equal(why, bad[i][1], strlen(bad[i][1]));
	}
	assert_false(log_levels_parse("debug:nets", &l, tight, sizeof(tight)));
	assert_string_equal(tight, "\"nets\" ");
	for (int i = 0; i < LOG_WORDS_MAX; i++)
		strcat(many, " info:net");
	assert_true(log_levels_parse(many, &l, why, sizeof(why)));
	strcat(many, " info:net");
	assert_false(log_levels_parse(many, &l, why, sizeof(why)));
}

/* A file that is renamed must not drop out of its area. The test runs at the top of the tree. */
static void test_files(void **state)
{
	char pattern[128], rooms[512] = "";
	glob_t found;

	for (const struct log_area *a = log_areas; a->name; a++)
		for (size_t i = 0; i < LOG_AREA_FILES && a->files[i]; i++) {
			const char *room = a->files[i];
			bool directory = room[strlen(room) - 1] == '/';

			snprintf(pattern, sizeof(pattern), "agent/%s*.c", room);
			if (glob(pattern, 0, NULL, &found))
				fail_msg("%s: no file is %s", a->name, pattern);
			globfree(&found);
			if (directory)
				snprintf(rooms + strlen(rooms), sizeof(rooms) - strlen(rooms),
					 " error:%s", a->name);
		}
	/* each file is of a room that is an area */
	strcat(rooms, " debug:base");
	assert_int_equal(glob("agent/*.c", 0, NULL, &found), 0);
	assert_int_equal(glob("agent/*/*.c", GLOB_APPEND, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct log_levels l = parse(rooms);

		l.all = LOG_LEVEL_INFO; /* of what is in no area */
		if (log_levels_of(&l, found.gl_pathv[i]) == LOG_LEVEL_INFO)
			fail_msg("%s is in no area", found.gl_pathv[i]);
	}
	globfree(&found);
}

static void test_messages(void **state)
{
	struct log_levels l = parse("warning debug:placement");
	int old = dup(STDERR_FILENO), ends[2];
	char said[4096];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	assert_int_not_equal(dup2(ends[1], STDERR_FILENO), -1);
	log_set_levels(&l);
	log_message(LOG_LEVEL_DEBUG, "agent/home/placement.c", "one %d", 1);
	log_message(LOG_LEVEL_DEBUG, "agent/net/link.c", "two");
	log_message(LOG_LEVEL_INFO, "agent/net/link.c", "three");
	log_message(LOG_LEVEL_WARNING, "agent/net/link.c", "four");
	log_debug("of this file, which is no part of the agent");
	dup2(old, STDERR_FILENO);
	close(ends[1]);
	n = read(ends[0], said, sizeof(said) - 1);
	assert_true(n > 0);
	said[n] = '\0';
	assert_non_null(strstr(said, "one 1\n"));
	assert_null(strstr(said, "two"));
	assert_null(strstr(said, "three"));
	assert_non_null(strstr(said, "four\n"));
	assert_null(strstr(said, "this file"));
	close(ends[0]);
	close(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
