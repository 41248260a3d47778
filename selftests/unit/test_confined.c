// SPDX-License-Identifier: GPL-2.0-or-later
/* Cgroups of version 1 in /proc/PID/cgroup, which forbid devices to a process or class its packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "helpers/ehlaunch/confined.h"
#include "helpers/ehlaunch/site.h"

struct rules rules;

#define OURS \
	"9:net_cls,net_prio:/\n6:devices:/system.slice/ehlaunch.service\n3:cpu,cpuacct:/\n0::/system.slice/ehlaunch.service\n"

static void test_same(void **state)
{
	assert_null(confined_legacy(OURS, OURS));
	assert_null(confined_legacy("", ""));
	assert_null(confined_legacy("0::/user.slice\n", "0::/\n"));
	/* Of other controllers, and of names that only begin or end so, nothing is said. */
	assert_null(confined_legacy("3:cpu:/a\n2:name=devices:/a\n1:mydevices,devicesx:/a\n",
				    "3:cpu:/b\n"));
}

static void test_devices(void **state)
{
	assert_string_equal(confined_legacy("6:devices:/user.slice\n", "6:devices:/\n"), "devices");
	assert_string_equal(confined_legacy("6:devices:/a\n", "6:devices:/ab\n"), "devices");
	assert_string_equal(confined_legacy("6:devices:/ab\n", "6:devices:/a\n"), "devices");
	assert_string_equal(confined_legacy("6:cpu,devices:/a\n", "0::/\n"), "devices");
	assert_string_equal(confined_legacy("6:devices:/a", OURS), "devices");
	assert_null(confined_legacy("6:devices:/\n", "6:devices:/a\n"));
}

static void test_packets(void **state)
{
	assert_string_equal(confined_legacy("9:net_cls,net_prio:/a\n", OURS), "net_cls");
	assert_string_equal(confined_legacy("9:net_cls:/\n8:net_prio:/a\n", OURS), "net_prio");
	/* The root may have a class that those below have not. */
	assert_string_equal(confined_legacy("9:net_cls:/\n", "9:net_cls:/a\n"), "net_cls");
	assert_string_equal(confined_legacy("0::/\n", "9:net_prio:/\n"), "net_prio");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
