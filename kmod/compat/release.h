/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which version of Linux runs, as far as it says so itself. Nothing here has a lock
 * or a clock, so that release_test.c can call it.
 */
#ifndef _EHS_COMPAT_RELEASE_H
#define _EHS_COMPAT_RELEASE_H

#include <linux/ctype.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/version.h>

/**
 * struct ehs_release - the versions that a kernel may be of
 * @first: the oldest, as KERNEL_VERSION() has it
 * @last: the newest, the same as @first if the kernel says which it is
 */
struct ehs_release {
	u32 first, last;
};

/* One of the numbers of a version. Return: what follows it, NULL if there is none. */
static inline const char *ehs_release_number(const char *text, u32 *number)
{
	if (!isdigit(*text))
		return NULL;
	for (*number = 0; isdigit(*text); text++)
		*number = *number < 1000 ? *number * 10 + (*text - '0') : *number;
	return text;
}

/* "6.12.117" with a point, "6.12" without one. Return: what follows, NULL if it is no version. */
static inline const char *ehs_release_numbers(const char *text, u32 number[3], bool *has_point)
{
	const char *rest;

	text = ehs_release_number(text, &number[0]);
	if (!text || *text != '.')
		return NULL;
	text = ehs_release_number(text + 1, &number[1]);
	if (!text)
		return NULL;
	number[2] = 0;
	rest = *text == '.' ? ehs_release_number(text + 1, &number[2]) : NULL;
	*has_point = rest;
	return rest ?: text;
}

/* Debian names the version of its source in uname -v: "#1 SMP Debian 6.1.192-2 (date)". */
static inline bool ehs_release_debian(const char *version, const u32 line[3], u32 *point)
{
	const char *source = strstr(version, "Debian ");
	u32 number[3];
	bool has_point;

	if (!source || !ehs_release_numbers(source + strlen("Debian "), number, &has_point) ||
	    !has_point || number[0] != line[0] || number[1] != line[1])
		return false;
	*point = number[2];
	return true;
}

/**
 * ehs_release_of - which versions a kernel may be of
 * @release: what uname -r prints
 * @version: what uname -v prints
 *
 * A point that is not 0 is taken as it is. "6.8.0-45-generic" may be any of 6.8: the
 * distribution counts its own builds there and leaves the point at 0. Only "6.12.0",
 * "6.12.0+" and "6.12.0-rc3" are what they say.
 *
 * Return: the versions; all that there are if the release is not one.
 */
static inline struct ehs_release ehs_release_of(const char *release, const char *version)
{
	struct ehs_release all = { .first = 0, .last = U32_MAX };
	u32 number[3], point;
	const char *rest;
	bool has_point;

	rest = ehs_release_numbers(release, number, &has_point);
	if (!rest)
		return all;
	point = number[2];
	if (ehs_release_debian(version, number, &point) || point ||
	    (has_point && (!*rest || *rest == '+' || !strncmp(rest, "-rc", 3)))) {
		all.first = KERNEL_VERSION(number[0], number[1], point);
		all.last = all.first;
	} else {
		all.first = KERNEL_VERSION(number[0], number[1], 0);
		all.last = KERNEL_VERSION(number[0], number[1], 255);
	}
	return all;
}

/* Whether a kernel of these may be one from @from on and before @until. */
static inline bool ehs_release_may_be(const struct ehs_release *release, u32 from, u32 until)
{
	return release->last >= from && release->first < until;
}

#endif /* _EHS_COMPAT_RELEASE_H */
