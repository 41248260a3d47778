// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that people give to nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cluster/name.h"

static enum name_fit fits(const char *name, const char *host, const char *address)
{
	struct address a;

	assert_int_equal(address_parse(address, &a), 0);
	return name_fits(name, host, &a);
}

static void hosts(void **state)
{
	const char *v4 = "10.0.0.1:7411";

	assert_int_equal(fits("n1", "n1", v4), NAME_FULL);
	assert_int_equal(fits("N1", "n1", v4), NAME_FULL);
	assert_int_equal(fits("n1.example.org", "n1.Example.org", v4), NAME_FULL);
	assert_int_equal(fits("n1", "n1.example.org", v4), NAME_SHORT);
	assert_int_equal(fits("n1.example", "n1.example.org", v4), NAME_SHORT);
	assert_int_equal(fits("n1", "n10.example.org", v4), NAME_NOT);
	assert_int_equal(fits("n1", "n10", v4), NAME_NOT);
	assert_int_equal(fits("n10", "n1", v4), NAME_NOT);
	assert_int_equal(fits("n1.example.org", "n1", v4), NAME_NOT);
	assert_int_equal(fits("", "n1", v4), NAME_NOT);
	assert_int_equal(fits("", ".n1", v4), NAME_NOT);
}

static void addresses(void **state)
{
	const char *v4 = "10.0.0.1:7411", *v6 = "[fd00::1]:7411";

	assert_int_equal(fits("10.0.0.1", "n1", v4), NAME_FULL);
	assert_int_equal(fits("10.0.0.10", "n1", v4), NAME_NOT);
	assert_int_equal(fits("10.0.0.1:7411", "n1", v4), NAME_NOT);
	assert_int_equal(fits("10.0.0.1", "n1", v6), NAME_NOT);
	assert_int_equal(fits("fd00::1", "n1", v6), NAME_FULL);
	assert_int_equal(fits("[fd00::1]", "n1", v6), NAME_FULL);
	assert_int_equal(fits("FD00:0::0:1", "n1", v6), NAME_FULL);
	assert_int_equal(fits("fd00::2", "n1", v6), NAME_NOT);
	assert_int_equal(fits("fd00::1", "n1", v4), NAME_NOT);
	assert_int_equal(
		fits("0000000000000000000000000000000000000000000000000000000000000000", "n1", v4),
		NAME_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests_name("name", tests, NULL, NULL);
}
