// SPDX-License-Identifier: GPL-2.0-or-later
#include "rings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "random.h"

struct divide_problem *rings_new(uint32_t n)
{
	struct divide_problem *p = calloc(1, sizeof(*p) + 3 * n * sizeof(double));
	char name[16];

	assert_non_null(p);
	p->n = n;
	p->work = 100;
	p->a = (double *)(p + 1);
	p->s = p->a + n;
	p->c = p->s + n;
	p->names = plan_names_new();
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "P%u", i + 1);
		assert_int_equal(plan_names_add(p->names, name), i);
		p->a[i] = 1;
		p->s[i] = 0.5;
		p->c[i] = 0.1;
	}
	return p;
}

void rings_free(struct divide_problem *p)
{
	plan_names_free(p->names);
	free(p);
}

struct divide_problem *rings_random(uint32_t n)
{
	struct divide_problem *p = rings_new(n);
	double a = random_between(0, 2), s = random_between(0, 3), c = random_between(0, 2);

	p->serial = random_below(2);
	for (uint32_t i = 0; i < n; i++) {
		p->a[i] = pow(10, random_between(-a, a));
		p->s[i] = random_below(4) ? pow(10, random_between(-s, s) - 0.5) : 0;
		p->c[i] = random_below(4) ? pow(10, random_between(-c, c) - 1.5) : 0;
	}
	return p;
}

void rings_plan(struct divide_plan *plan, const struct divide_problem *p)
{
	char why[300];

	assert_int_equal(divide_plan(plan, p, NULL), 0);
	if (!divide_check(plan, p, why, sizeof(why)))
		fail_msg("%s", why);
	assert_true(plan->residual <= 1e-9 * p->work);
}
