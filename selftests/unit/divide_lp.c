// SPDX-License-Identifier: GPL-2.0-or-later
#include "divide_lp.h"

#include <assert.h>
#include <glpk.h>
#include <math.h>

static glp_prob *lp;
static int lp_columns[4 * LP_MAX + 2], lp_count;
static double lp_values[4 * LP_MAX + 2], lp_coefficients[4 * LP_MAX + 2];

enum { LP_SHARE, LP_COMPUTE, LP_DATA, LP_RESULT, LP_KINDS };

static int lp_column(int kind, uint32_t i)
{
	return 2 + kind * LP_MAX + (int)i;
}

#define LP_T 1

static void lp_add(int column, double value)
{
	lp_coefficients[column] += value;
}

/* sum >= least, or equal */
static void lp_row(double least, bool equal)
{
	int row = glp_add_rows(lp, 1);

	lp_count = 0;
	for (int c = 1; c < LP_KINDS * LP_MAX + 2; c++) {
		if (lp_coefficients[c] == 0)
			continue;
		lp_columns[++lp_count] = c;
		lp_values[lp_count] = lp_coefficients[c];
		lp_coefficients[c] = 0;
	}
	glp_set_mat_row(lp, row, lp_count, lp_columns, lp_values);
	glp_set_row_bnds(lp, row, equal ? GLP_FX : GLP_LO, least, least);
}

/* + times (the finish of the data message on link i); the constant is returned */
static double lp_data_finish(const struct lp_case *c, uint32_t i, double times)
{
	lp_add(lp_column(LP_DATA, i), times);
	for (uint32_t j = i + 1; j < c->p->n; j++)
		lp_add(lp_column(LP_SHARE, j), times * c->p->c[i]);
	return times * c->p->s[i];
}

static double lp_result_finish(const struct lp_case *c, uint32_t i, double times)
{
	double constant = c->p->s[i];

	lp_add(lp_column(LP_RESULT, i), times);
	for (uint32_t j = 1; j <= i; j++) {
		lp_add(lp_column(LP_SHARE, j), times * c->p->c[i] * c->p->m);
		constant += c->has[j] ? c->p->c[i] * c->p->b : 0;
	}
	return times * constant;
}

static double lp_compute_finish(const struct lp_case *c, uint32_t i, double times)
{
	lp_add(lp_column(LP_COMPUTE, i), times);
	lp_add(lp_column(LP_SHARE, i), times * c->p->a[i]);
	return 0;
}

double lp_solve(const struct lp_case *c)
{
	const struct divide_problem *p = c->p;
	bool returns = p->result != DIVIDE_NONE;
	uint32_t first = p->n, last = 0;
	double end = INFINITY;
	glp_smcp how;

	lp = glp_create_prob();
	glp_add_cols(lp, LP_KINDS * LP_MAX + 1);
	glp_set_obj_coef(lp, LP_T, 1);
	for (int column = 1; column <= LP_KINDS * LP_MAX + 1; column++)
		glp_set_col_bnds(lp, column, GLP_LO, 0, 0);
	for (uint32_t i = 0; i < p->n; i++) {
		if (i && !c->has[i])
			glp_set_col_bnds(lp, lp_column(LP_SHARE, i), GLP_FX, 0, 0);
		if (i && c->has[i] && first == p->n)
			first = i;
		if (c->has[i])
			last = i;
	}
	for (uint32_t i = 0; i < p->n; i++)
		lp_add(lp_column(LP_SHARE, i), 1);
	lp_row(p->work, true);
	for (uint32_t i = 0; i < p->n; i++) {
		double k;

		if (i && i < last) { /* data go on when they are there */
			lp_add(lp_column(LP_DATA, i), 1);
			k = lp_data_finish(c, i - 1, -1);
			lp_row(-k, false);
		}
		if (!i || c->has[i]) {
			if (i) {
				lp_add(lp_column(LP_COMPUTE, i), 1);
				k = lp_data_finish(c, i - 1, -1);
				lp_row(-k, false);
			}
			if (p->serial && i < last) {
				lp_add(lp_column(LP_COMPUTE, i), 1);
				k = lp_data_finish(c, i, -1);
				lp_row(-k, false);
			}
			lp_add(LP_T, 1);
			k = lp_compute_finish(c, i, -1);
			lp_row(-k, false);
		}
		if (!returns || i < first)
			continue;
		if (c->has[i]) {
			lp_add(lp_column(LP_RESULT, i), 1);
			k = lp_compute_finish(c, i, -1);
			lp_row(-k, false);
		}
		if (i > first) {
			lp_add(lp_column(LP_RESULT, i), 1);
			k = lp_result_finish(c, i - 1, -1);
			lp_row(-k, false);
		}
		if (i < last) {
			if (c->results_first[i]) {
				lp_add(lp_column(LP_DATA, i), 1);
				k = lp_result_finish(c, i, -1);
			} else {
				lp_add(lp_column(LP_RESULT, i), 1);
				k = lp_data_finish(c, i, -1);
			}
			lp_row(-k, false);
		}
	}
	if (returns && first < p->n) {
		lp_add(LP_T, 1);
		end = lp_result_finish(c, p->n - 1, -1);
		lp_row(-end, false);
		end = INFINITY;
	}
	glp_init_smcp(&how);
	how.msg_lev = GLP_MSG_OFF;
	how.tol_bnd = 1e-9;
	how.tol_dj = 1e-9;
	glp_term_out(GLP_OFF);
	glp_scale_prob(lp, GLP_SF_AUTO);
	if (!glp_simplex(lp, &how) && glp_get_status(lp) == GLP_OPT)
		end = glp_get_obj_val(lp);
	glp_delete_prob(lp);
	return end;
}
