// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of script.h. */

#include <kunit/test.h>
#include <linux/random.h>
#include <linux/string.h>

#include "script.h"
#include "test.h"

/* The head of a file as the kernel reads it, and what is said of it. */
struct ehs_script_case {
	char buf[BINPRM_BUF_SIZE];
	char name[BINPRM_BUF_SIZE];
};

static struct ehs_script_case *ehs_script_case(struct kunit *test)
{
	struct ehs_script_case *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	return c;
}

/*
 * The first half of load_script() of fs/binfmt_script.c, which no module can call:
 * the name that it would open, NULL if it is none of its files. An empty name is not
 * there, so that exec fails, too.
 */
static bool ehs_script_spacetab(char c)
{
	return c == ' ' || c == '\t';
}

static const char *ehs_script_next(const char *first, const char *last, bool blank)
{
	for (; first <= last; first++)
		if (blank ? ehs_script_spacetab(*first) || !*first : !ehs_script_spacetab(*first))
			return first;
	return NULL;
}

static const char *ehs_script_kernels(char *buf)
{
	char *end = strnchr(buf, BINPRM_BUF_SIZE, '\n'), *last = buf + BINPRM_BUF_SIZE - 1;
	const char *name, *separator;

	if (!end) {
		name = ehs_script_next(buf + 2, last, false);
		if (!name || !ehs_script_next(name, last, true))
			return NULL;
		end = last;
	}
	while (ehs_script_spacetab(end[-1]))
		end--;
	name = ehs_script_next(buf + 2, end, false);
	if (!name || name == end)
		return NULL;
	separator = ehs_script_next(name, end, true);
	*end = '\0';
	if (separator)
		buf[separator - buf] = '\0';
	return *name ? name : NULL;
}

static void ehs_script_expect(struct kunit *test, const char *line, size_t len, const char *name)
{
	struct ehs_script_case *c = ehs_script_case(test);
	const char *kernels;
	bool found;

	memcpy(c->buf, line, min_t(size_t, len, sizeof(c->buf)));
	found = ehs_script_interpreter(c->buf, c->name);
	KUNIT_EXPECT_EQ_MSG(test, found, !!name, "%.40s", line);
	if (found && name)
		KUNIT_EXPECT_STREQ(test, (const char *)c->name, name);
	kernels = ehs_script_kernels(c->buf);
	KUNIT_EXPECT_EQ_MSG(test, found, !!kernels, "%.40s", line);
	if (found && kernels)
		KUNIT_EXPECT_STREQ(test, (const char *)c->name, kernels);
}

#define EXPECT_NAME(line, name) ehs_script_expect(test, line, sizeof(line) - 1, name)

static void ehs_script_lines(struct kunit *test)
{
	EXPECT_NAME("#!/bin/sh\necho", "/bin/sh");
	EXPECT_NAME("#! \t /bin/sh \t \n", "/bin/sh");
	EXPECT_NAME("#!sh\n", "sh");
	/* arguments are not part of it */
	EXPECT_NAME("#!/bin/sh -e -x\n", "/bin/sh");
	EXPECT_NAME("#!/bin/sh\t-e\n", "/bin/sh");
	EXPECT_NAME("#!/usr/bin/env  python3\n", "/usr/bin/env");
	/* what looks like the end of a line elsewhere is part of it */
	EXPECT_NAME("#!/bin/sh\r\n", "/bin/sh\r");
	/* the file ends in its first line */
	EXPECT_NAME("#!/bin/sh", "/bin/sh");
	EXPECT_NAME("#!/bin/sh -e", "/bin/sh");
	EXPECT_NAME("#!/bin/sh ", "/bin/sh");
}

static void ehs_script_no_name(struct kunit *test)
{
	EXPECT_NAME("#!", NULL);
	EXPECT_NAME("#!\n", NULL);
	EXPECT_NAME("#!\n/bin/sh\n", NULL);
	EXPECT_NAME("#! \t ", NULL);
	EXPECT_NAME("#! \t \n", NULL);
	EXPECT_NAME("#! \t \n/bin/sh\n", NULL);
}

/* A NUL ends the line, whatever is behind it. */
static void ehs_script_nul(struct kunit *test)
{
	EXPECT_NAME("#!/bin/sh\0x\n", "/bin/sh");
	EXPECT_NAME("#!/bin/sh \0x\n", "/bin/sh");
	EXPECT_NAME("#!\0/bin/sh\n", NULL);
	EXPECT_NAME("#! \0/bin/sh\n", NULL);
}

/* Lines that end where the kernel's buffer does, and one byte to either side. */
static void ehs_script_long(struct kunit *test)
{
	static const char ends[] = { '\n', ' ', '\t', '\0' };
	char *line = kunit_kzalloc(test, 2 * BINPRM_BUF_SIZE, GFP_KERNEL);
	char *name = kunit_kzalloc(test, BINPRM_BUF_SIZE + 1, GFP_KERNEL);
	size_t len, i;

	KUNIT_ASSERT_NOT_NULL(test, line);
	KUNIT_ASSERT_NOT_NULL(test, name);
	for (len = BINPRM_BUF_SIZE - 3; len <= BINPRM_BUF_SIZE + 1; len++) {
		for (i = 0; i < ARRAY_SIZE(ends); i++) {
			memset(line, 'x', 2 * BINPRM_BUF_SIZE);
			memcpy(line, "#!", 2);
			line[len] = ends[i];
			strscpy(name, line + 2, len - 1);
			name[len - 2] = '\0';
			/* one that does not end in the buffer may be cut off */
			ehs_script_expect(test, line, 2 * BINPRM_BUF_SIZE,
					  len < BINPRM_BUF_SIZE ? name : NULL);
		}
	}
	/* nothing but blanks, and a name that begins with the last byte */
	memset(line, ' ', BINPRM_BUF_SIZE);
	memcpy(line, "#!", 2);
	ehs_script_expect(test, line, BINPRM_BUF_SIZE, NULL);
	line[BINPRM_BUF_SIZE - 1] = 'x';
	ehs_script_expect(test, line, BINPRM_BUF_SIZE, NULL);
	line[BINPRM_BUF_SIZE - 1] = '\n';
	ehs_script_expect(test, line, BINPRM_BUF_SIZE, NULL);
	/* arguments that are cut off */
	memset(line, 'x', BINPRM_BUF_SIZE);
	memcpy(line, "#!/bin/sh ", 10);
	ehs_script_expect(test, line, BINPRM_BUF_SIZE, "/bin/sh");
}

/* Few kinds of bytes, at both ends of the buffer: the kernel and the module read the same. */
static void ehs_script_random(struct kunit *test)
{
	static const char bytes[] = { 'x', 'y', '/', ' ', '\t', '\n', '\0', ' ' };
	struct ehs_script_case *c = ehs_script_case(test);
	const char *kernels;
	int round, named = 0;
	bool found;
	u32 seed;
	size_t i;

	for (round = 0; round < 20000; round++) {
		memset(c, round % 3 ? 'x' : ' ', sizeof(*c));
		memcpy(c->buf, "#!", 2);
		seed = get_random_u32();
		for (i = 0; i < 10; i++, seed >>= 3)
			c->buf[(round & 1 ? 2 : BINPRM_BUF_SIZE - 10) + i] = bytes[seed & 7];
		found = ehs_script_interpreter(c->buf, c->name);
		named += found;
		kernels = ehs_script_kernels(c->buf);
		KUNIT_ASSERT_EQ_MSG(test, found, !!kernels, "%*pE", BINPRM_BUF_SIZE, c->buf);
		if (found)
			KUNIT_ASSERT_STREQ(test, (const char *)c->name, kernels);
	}
	/* of both kinds many */
	KUNIT_EXPECT_GT(test, named, 1000);
	KUNIT_EXPECT_LT(test, named, 19000);
}

static struct kunit_case ehs_script_cases[] = {
	KUNIT_CASE(ehs_script_lines), KUNIT_CASE(ehs_script_no_name), KUNIT_CASE(ehs_script_nul),
	KUNIT_CASE(ehs_script_long),  KUNIT_CASE(ehs_script_random),  {},
};

struct kunit_suite ehs_script_suite = {
	.name = "ehsched_script",
	.test_cases = ehs_script_cases,
};
