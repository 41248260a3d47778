// SPDX-License-Identifier: GPL-2.0-or-later
/* What ehlaunch decides of the wishes of a guest's home: who it may be, and what it may have. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "helpers/ehlaunch/limits.h"
#include "helpers/common/names.h"
#include "helpers/ehlaunch/rules.h"

#define NONE UINT64_MAX
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- rules ---- */

static struct rules parse(char **users, int argc, const char *const *argv)
{
	struct rules rules;

	assert_int_equal(rules_parse(&rules, users, argc, (char **)argv), 0);
	return rules;
}

static void test_admit(void **state)
{
	static const char *const argv[] = { "ehlaunch", "--uid-min",	"500",	  "--allow-user",
					    "backup",	"--allow-user", "nobody", NULL };
	char *users[8];
	struct rules rules = parse(users, 1, argv);

	assert_false(rules_admit(&rules, "root", 0));
	assert_false(rules_admit(&rules, "daemon", 1));
	assert_false(rules_admit(&rules, "backup", 999));
	assert_true(rules_admit(&rules, "alice", 1000));
	assert_false(rules_admit(&rules, "nobody", 65534));
	assert_true(rules_admit(&rules, "bob", 65535));
	assert_false(rules_admit(&rules, "none", UINT32_MAX));

	rules = parse(users, 7, argv);
	assert_false(rules_admit(&rules, "root", 0));
	assert_false(rules_admit(&rules, "daemon", 499));
	assert_true(rules_admit(&rules, "alice", 500));
	assert_true(rules_admit(&rules, "backup", 34));
	assert_false(rules_admit(&rules, "backup2", 34));
	assert_true(rules_admit(&rules, "nobody", 65534));
	assert_false(rules_admit(&rules, "backup", UINT32_MAX));
}

static void test_root(void **state)
{
	static const char *const argv[] = { "ehlaunch", "--allow-root", NULL };
	static const char *const user[] = { "ehlaunch", "--allow-user", "root", NULL };
	char *users[4];
	struct rules rules = parse(users, 2, argv);

	assert_true(rules_admit(&rules, "root", 0));
	assert_false(rules_admit(&rules, "daemon", 1));
	rules = parse(users, 3, user);
	assert_false(rules_admit(&rules, "root", 0));
}

static void test_cpu(void **state)
{
	static const char *const argv[] = { "ehlaunch", "--guest-cpu", "150",
					    "--guest-pid-namespace", NULL };
	char *users[4], text[LIMITS_CPU_TEXT];
	struct rules rules = parse(users, 1, argv);

	assert_int_equal(rules.guest_cpu, 0);
	rules = parse(users, 3, argv);
	assert_int_equal(rules.guest_cpu, 150);
	assert_false(rules.guest_pid_namespace);
	rules = parse(users, 4, argv);
	assert_true(rules.guest_pid_namespace);
	limits_cpu(rules.guest_cpu, text);
	assert_string_equal(text, "150000 100000");
	limits_cpu(1, text);
	assert_string_equal(text, "1000 100000");
	limits_cpu(UINT32_MAX, text);
	assert_string_equal(text, "4294967295000 100000");
}

static void test_guests(void **state)
{
	static const char *const argv[] = { "ehlaunch", "--guest-deny-user",
					    "eve",	"--guest-allow-user",
					    "@staff",	"--guest-allow-user",
					    "1001",	NULL };
	static const char *const bad[] = { "a b", "@", "", "/opt", "4294967295" };
	char *users[SITE_ITEMS_MAX * 2 + 4];
	char *many[SITE_ITEMS_MAX * 2 + 4] = { (char *)"ehlaunch" };
	struct rules rules = parse(users, 7, argv);
	struct site_who who = rules_guests(&rules);

	assert_int_equal(who.ndeny, 1);
	assert_string_equal(who.deny[0], "eve");
	assert_int_equal(who.nallow, 2);
	assert_string_equal(who.allow[1], "1001");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *const words[] = { "ehlaunch", "--guest-deny-user", bad[i], NULL };

		assert_int_equal(rules_parse(&rules, users, 3, (char **)words), -EINVAL);
	}
	for (int i = 0; i <= SITE_ITEMS_MAX; i++) {
		many[1 + 2 * i] = (char *)"--guest-deny-user";
		many[2 + 2 * i] = (char *)"eve";
	}
	assert_int_equal(rules_parse(&rules, users, 1 + 2 * SITE_ITEMS_MAX, many), 0);
	assert_int_equal(rules_parse(&rules, users, 3 + 2 * SITE_ITEMS_MAX, many), -EINVAL);
}

static void test_arguments(void **state)
{
	static const char *const bad[][4] = {
		{ "ehlaunch", "--uid-min" },
		{ "ehlaunch", "--uid-min", "" },
		{ "ehlaunch", "--uid-min", "1x" },
		{ "ehlaunch", "--uid-min", "-1" },
		{ "ehlaunch", "--uid-min", "4294967295" },
		{ "ehlaunch", "--allow-user" },
		{ "ehlaunch", "--allow-all" },
		{ "ehlaunch", "alice" },
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct rules rules;
		char *users[4];
		int argc = 0;

		while (bad[i][argc])
			argc++;
		assert_int_equal(rules_parse(&rules, users, argc, (char **)bad[i]), -EINVAL);
	}
}

/* ---- names ---- */

static void test_names(void **state)
{
	static const char *const good[] = { "a",	  "alice", "a1",	   "1a",
					    "first.last", "host$", "DOMAIN\\user", "user@example",
					    "\303\244" };
	static const char *const bad[] = { "",	  "0",	 "1000", "-x",	 "--help", "+",
					   "a b", "a:b", "a\nb", "../x", "a\177" };
	char name[LAUNCH_USER_MAX];

	for (size_t i = 0; i < COUNT(good); i++) {
		snprintf(name, sizeof(name), "%s", good[i]);
		assert_true(names_is_good(name));
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		snprintf(name, sizeof(name), "%s", bad[i]);
		assert_false(names_is_good(name));
	}
	memset(name, 'a', sizeof(name));
	assert_false(names_is_good(name));
	name[sizeof(name) - 1] = '\0';
	assert_true(names_is_good(name));
}

static void test_id(void **state)
{
	static const char *const good[] = { "0.1:7", "0.1.0.3:18446744073709551615", "1:0" };
	static const char *const bad[] = { "",	    ":",       ":1",	  "1:",	    "1",
					   "..",    "../x",    "0.1",	  "0.1:",   "0..1:1",
					   ".1:1",  "1.:1",    "0.1:1/",  "0.1:1.", "0.1:../x",
					   "0.1:a", "0.1:1:1", "0.1:1\n", " 0.1:1", "-1:1",
					   "0x1:1", "0.1:+1" };
	char longest[LAUNCH_ID_MAX + 1] = "0:";

	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(names_is_id(good[i]));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(names_is_id(bad[i]));
	memset(longest + 2, '1', sizeof(longest) - 2);
	assert_false(names_is_id(longest));
	longest[LAUNCH_ID_MAX] = '\0';
	assert_false(names_is_id(longest));
	longest[LAUNCH_ID_MAX - 1] = '\0';
	assert_true(names_is_id(longest));
}

static int passwd(const char *text, struct user *out)
{
	return names_parse_passwd(text, strlen(text), "alice", out);
}

static void test_passwd(void **state)
{
	static const char *const bad[] = {
		"",
		"alice",
		"alice:x:1001:1002::/:/bin/sh", /* cut off */
		"bob:x:1001:1002::/:/bin/sh\n",
		"alice2:x:1001:1002::/:/bin/sh\n",
		"alic:x:1001:1002::/:/bin/sh\n",
		"alice:x:1001:1002::/:/bin/sh\nbob:x:0:0:::\n",
		"alice:x::1002::/:/bin/sh\n",
		"alice:x:-1:1002::/:/bin/sh\n",
		"alice:x:0x1:1002::/:/bin/sh\n",
		"alice:x:1001\n",
		"alice:x:1001:1002\n",
		"alice:1001\n",
		"alice\n",
		"alice:x:4294967295:1002::/:/bin/sh\n",
		"alice:x:4294967296:1002::/:/bin/sh\n",
		"alice:x:1001:18446744073709551616::/:/bin/sh\n",
	};
	struct user user = { 0 };

	assert_int_equal(passwd("alice:x:1001:1002:A,B:/home/alice:/bin/sh\n", &user), 0);
	assert_int_equal(user.uid, 1001);
	assert_int_equal(user.gid, 1002);
	assert_int_equal(passwd("alice::0:0:::\n", &user), 0);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(passwd(bad[i], &user), -ENOENT);
}

static int group_has(const char *line, const char *group, const char *user, gid_t *gid)
{
	return names_parse_group(line, strlen(line), group, user, gid);
}

static void test_group(void **state)
{
	static const char *const bad[] = {
		"",
		"staff:x:50:",
		"staff:x\n",
		"staff:x:50\n",
		"staff:x::\n",
		"staffs:x:50:\n",
		"adm:x:50:\n",
		"staff:x:-1:a\n",
		"staff:50\n",
		"staff:x:0x5:\n",
		"staff:x:4294967295:\n",
		"staff:x:50:a\nadm:x:4:\n",
	};
	static const char *const members[] = { "a", "bob", "c" }, *const others[] = { "b", "bo",
										      "bobc", "" };
	static const char line[] = "staff:x:50:a,bob,c\n";
	gid_t gid = 7;

	assert_int_equal(group_has(line, "staff", "eve", &gid), 0);
	assert_int_equal(gid, 50);
	assert_int_equal(group_has("staff::0:\n", "staff", "eve", &gid), 0);
	assert_int_equal(gid, 0);
	for (size_t i = 0; i < COUNT(members); i++) {
		assert_int_equal(group_has(line, "staff", members[i], &gid), 1);
		assert_int_equal(group_has(line, "50", members[i], &gid), 1);
	}
	for (size_t i = 0; i < COUNT(others); i++)
		assert_int_equal(group_has(line, "50", others[i], &gid), 0);
	assert_int_equal(group_has(line, "51", "a", &gid), -ENOENT);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(group_has(bad[i], "staff", "a", &gid), -ENOENT);
}

static void test_groups(void **state)
{
	static const char *const bad[] = { "",		 "alice 5 6",	 "bob 5\n",
					   "alice2 5\n", "alice 5x\n",	 "alice x\n",
					   "alice -1\n", "alice 5\n6\n", "alice 4294967295\n" };
	static const char line[] = "alice                 5 6  40000\n";
	static const char none[] = "alice                 \n"; /* as getent fills the column */
	gid_t groups[4];
	struct user user = { .groups = groups };

	assert_int_equal(names_parse_groups(line, strlen(line), "alice", 4, &user), 0);
	assert_int_equal(user.ngroups, 3);
	assert_int_equal(groups[0], 5);
	assert_int_equal(groups[2], 40000);
	assert_int_equal(names_parse_groups(line, strlen(line), "alice", 2, &user), -E2BIG);
	assert_int_equal(names_parse_groups("alice\n", 6, "alice", 4, &user), 0);
	assert_int_equal(user.ngroups, 0);
	assert_int_equal(names_parse_groups(none, strlen(none), "alice", 4, &user), 0);
	assert_int_equal(user.ngroups, 0);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(names_parse_groups(bad[i], strlen(bad[i]), "alice", 4, &user),
				 -ENOENT);
}

static void test_keep(void **state)
{
	gid_t here[] = { 5, 6, 7 }, wish[] = { 42, 7, 1002, 0, 5, 5, UINT32_MAX }, kept[7];
	struct user user = { .uid = 1001, .gid = 1002, .ngroups = 3, .groups = here };

	assert_int_equal(names_keep_groups(&user, wish, COUNT(wish), kept), 4);
	assert_int_equal(kept[0], 7);
	assert_int_equal(kept[1], 1002);
	assert_int_equal(kept[2], 5);
	assert_int_equal(kept[3], 5);
	assert_int_equal(names_keep_groups(&user, wish, 0, kept), 0);
	assert_true(names_has_group(&user, 1002));
	assert_false(names_has_group(&user, 42));
}

/* ---- limits ---- */

static struct launch_start greedy(uid_t uid)
{
	struct launch_start q = { .uid = uid, .nice = -20, .oom_score = -500 };

	for (int i = 0; i < JOB_RLIMITS; i++)
		q.rlimit[i][0] = q.rlimit[i][1] = i ? NONE : 5;
	q.traits[JOB_TRAITS_KNOWN] = 1;
	q.traits[JOB_POLICY] = SCHED_FIFO;
	q.traits[JOB_POLICY_FLAGS] = NONE;
	q.traits[JOB_PRIORITY] = 99;
	q.traits[JOB_RUNTIME] = q.traits[JOB_DEADLINE] = q.traits[JOB_PERIOD] = 1000000;
	q.traits[JOB_IOPRIO] = 1 << 13 | 3;
	q.traits[JOB_OOM_SCORE] = 0;
	q.traits[JOB_CAP_INHERITABLE] = q.traits[JOB_CAP_AMBIENT] = NONE;
	q.traits[JOB_SECUREBITS] = 1;
	q.traits[JOB_TIMER_SLACK] = 7;
	return q;
}

static void hard_limits(uint64_t hard[JOB_RLIMITS])
{
	for (int i = 0; i < JOB_RLIMITS; i++)
		hard[i] = 10 * (i + 1);
}

static void test_reduce(void **state)
{
	struct launch_start q = greedy(1001);
	uint64_t hard[JOB_RLIMITS];

	hard_limits(hard);
	limits_reduce(&q, hard, false);
	assert_int_equal(q.nice, 0);
	assert_int_equal(q.oom_score, 0);
	assert_int_equal(q.rlimit[0][0], 5);
	assert_int_equal(q.rlimit[0][1], 5);
	for (int i = 1; i < JOB_RLIMITS; i++) {
		assert_int_equal(q.rlimit[i][0], hard[i]);
		assert_int_equal(q.rlimit[i][1], hard[i]);
	}
	assert_int_equal(q.traits[JOB_POLICY], SCHED_OTHER);
	for (int trait = JOB_POLICY_FLAGS; trait <= JOB_PERIOD; trait++)
		assert_int_equal(q.traits[trait], 0);
	assert_int_equal(q.traits[JOB_IOPRIO], 2 << 13 | 3);
	assert_int_equal(q.traits[JOB_OOM_SCORE], 1000);
	assert_int_equal(q.traits[JOB_CAP_INHERITABLE], 0);
	assert_int_equal(q.traits[JOB_CAP_AMBIENT], 0);
	assert_int_equal(q.traits[JOB_SECUREBITS], 0);
	assert_int_equal(q.traits[JOB_TIMER_SLACK], 7);
	assert_int_equal(q.flags, 0);
}

/* It asks for nothing that others pay for. */
static void test_modest(void **state)
{
	static const uint64_t policies[] = { SCHED_OTHER, SCHED_BATCH, SCHED_IDLE };
	uint64_t hard[JOB_RLIMITS];

	hard_limits(hard);
	for (size_t i = 0; i < COUNT(policies); i++) {
		struct launch_start q = { .uid = 1001, .nice = 7, .oom_score = 100 }, before;

		q.traits[JOB_POLICY] = policies[i];
		q.traits[JOB_IOPRIO] = 3 << 13 | 7;
		q.traits[JOB_OOM_SCORE] = 1321;
		before = q;
		limits_reduce(&q, hard, false);
		assert_memory_equal(&q, &before, sizeof(q));
	}
}

/* Numbers of which the kernel sees other parts than a program that looks at all of them. */
static void test_wide(void **state)
{
	static const uint64_t policies[] = { SCHED_RR,	 6,
					     7,		 1ull << 32 | SCHED_FIFO,
					     1ull << 32, SCHED_FIFO | SCHED_RESET_ON_FORK };
	static const uint64_t io[] = { 1 << 13, 1ull << 32 | 1 << 13, 9 << 13, NONE & ~(6 << 13) };
	uint64_t hard[JOB_RLIMITS] = { 0 };

	for (size_t i = 0; i < COUNT(policies); i++) {
		struct launch_start q = { .uid = 1001, .traits[JOB_POLICY] = policies[i] };

		limits_reduce(&q, hard, false);
		assert_int_equal(q.traits[JOB_POLICY], SCHED_OTHER);
	}
	for (size_t i = 0; i < COUNT(io); i++) {
		struct launch_start q = { .uid = 1001, .traits[JOB_IOPRIO] = io[i] };

		limits_reduce(&q, hard, false);
		assert_int_equal(q.traits[JOB_IOPRIO] >> 13, 2);
	}
}

static void test_allow_root(void **state)
{
	struct launch_start q = greedy(0), before = q;
	uint64_t hard[JOB_RLIMITS];

	hard_limits(hard);
	limits_reduce(&q, hard, true);
	assert_memory_equal(&q, &before, sizeof(q));
	/* It does not help other users, but for capabilities. */
	q = greedy(1001);
	limits_reduce(&q, hard, true);
	assert_int_equal(q.nice, 0);
	assert_int_equal(q.traits[JOB_POLICY], SCHED_OTHER);
	assert_int_equal(q.traits[JOB_OOM_SCORE], 1000);
	assert_int_equal(q.rlimit[1][1], hard[1]);
	assert_int_equal(q.traits[JOB_CAP_AMBIENT], NONE);
	assert_int_equal(q.traits[JOB_SECUREBITS], 0);
}

static void test_view(void **state)
{
	struct launch_start q = { .uid = 1001, .flags = LAUNCH_VIEW };
	uint64_t hard[JOB_RLIMITS] = { 0 };

	limits_reduce(&q, hard, true);
	assert_int_equal(q.flags, LAUNCH_VIEW | LAUNCH_NO_NEW_PRIVS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_admit),	   cmocka_unit_test(test_root),
		cmocka_unit_test(test_cpu),	   cmocka_unit_test(test_guests),
		cmocka_unit_test(test_group),	   cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_names),	   cmocka_unit_test(test_passwd),
		cmocka_unit_test(test_groups),	   cmocka_unit_test(test_keep),
		cmocka_unit_test(test_id),	   cmocka_unit_test(test_reduce),
		cmocka_unit_test(test_modest),	   cmocka_unit_test(test_wide),
		cmocka_unit_test(test_allow_root), cmocka_unit_test(test_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
