// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The same as a linear programme, for results that wait for a link which data still use; the
 * equations do not decide those. Relays are not merged here, because each link has its order. The
 * simplex method starts from the solution of the equations, where the order on no link matters: it
 * is feasible in the dual, and about as many steps away as there are such links.
 */
#include "ring.h"

#include <errno.h>
#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>

/* Columns of processor i, from `first` on: share, load that arrives, time left then, results that
 * leave it, time left when they leave. W and f of processor 0 come before these. */
enum { SHARE, LOAD, LEFT, RESULT, LEAVE, COLUMNS };
#define SHARE_0 1
#define LEFT_0 2

struct rows {
	glp_prob *lp;
	uint32_t first, last;
	const bool *has;
	int column[8];
	double value[8];
	int count;
};

static int column(const struct rows *rows, uint32_t i, int which)
{
	return 3 + COLUMNS * (int)(i - rows->first) + which;
}

static void add(struct rows *rows, int col, double value)
{
	if (value == 0)
		return;
	rows->column[++rows->count] = col;
	rows->value[rows->count] = value;
}

/* The row that was added is at least, or equal to, the right side. */
static void end_row(struct rows *rows, int kind, double right)
{
	int row = glp_add_rows(rows->lp, 1);

	glp_set_row_bnds(rows->lp, row, kind, right, right);
	glp_set_row_stat(rows->lp, row, kind == GLP_FX ? GLP_NS : GLP_NL);
	glp_set_mat_row(rows->lp, row, rows->count, rows->column, rows->value);
	rows->count = 0;
}

/* At first the last row does not decide. */
static void loose(struct rows *rows)
{
	glp_set_row_stat(rows->lp, glp_get_num_rows(rows->lp), GLP_BS);
}

static void put_columns(struct rows *rows, const struct divide_ring *r)
{
	glp_add_cols(rows->lp, 2 + COLUMNS * (int)(rows->last - rows->first + 1));
	glp_set_col_bnds(rows->lp, SHARE_0, GLP_LO, 0, 0);
	glp_set_col_bnds(rows->lp, LEFT_0, GLP_LO, 0, 0);
	glp_set_obj_coef(rows->lp, LEFT_0, 1);
	glp_set_col_stat(rows->lp, SHARE_0, GLP_BS);
	glp_set_col_stat(rows->lp, LEFT_0, GLP_BS);
	for (uint32_t i = rows->first; i <= rows->last; i++)
		for (int k = 0; k < COLUMNS; k++) {
			bool fixed = k == SHARE && !r->allowed[i];

			glp_set_col_bnds(rows->lp, column(rows, i, k), fixed ? GLP_FX : GLP_LO, 0,
					 0);
			glp_set_col_stat(rows->lp, column(rows, i, k),
					 k != SHARE || rows->has[i] ? GLP_BS
					 : fixed		    ? GLP_NS
								    : GLP_NL);
		}
}

static void put_limits(struct rows *rows, const struct divide_ring *r)
{
	for (uint32_t i = rows->first; r->low && i <= rows->last; i++)
		if (r->allowed[i])
			glp_set_col_bnds(rows->lp, column(rows, i, SHARE),
					 r->low[i] < r->high[i] ? GLP_DB : GLP_FX, r->low[i],
					 r->high[i]);
}

/* The results of processor i alone are at least the line's. */
static void put_line(struct rows *rows, uint32_t i, double m, double b)
{
	add(rows, column(rows, i, RESULT), 1);
	if (i > rows->first)
		add(rows, column(rows, i - 1, RESULT), -1);
	add(rows, column(rows, i, SHARE), -m);
	end_row(rows, GLP_LO, b);
	loose(rows);
}

static void put_lines(struct rows *rows, const struct divide_ring *r)
{
	for (uint32_t i = rows->first; r->nlines && i <= rows->last; i++)
		if (r->allowed[i])
			put_line(rows, i, 0, 0);
	for (size_t k = 0; k < r->nlines; k++) {
		uint32_t i = r->lines[k].of;

		if (i >= rows->first && i <= rows->last && r->allowed[i])
			put_line(rows, i, r->lines[k].m, r->lines[k].b);
	}
}

static void put_head(struct rows *rows, const struct divide_ring *r)
{
	uint32_t first = rows->first;

	add(rows, SHARE_0, 1);
	add(rows, column(rows, first, LOAD), 1);
	end_row(rows, GLP_FX, 1);
	add(rows, LEFT_0, 1);
	add(rows, SHARE_0, -r->a[0]);
	if (r->serial)
		add(rows, column(rows, first, LOAD), -r->c[0]);
	end_row(rows, GLP_LO, r->serial ? r->sd[0] : 0);
	add(rows, LEFT_0, 1);
	add(rows, column(rows, first, LEFT), -1);
	add(rows, column(rows, first, LOAD), -divide_sum(r->c, 0, first));
	end_row(rows, GLP_FX, divide_sum(r->sd, 0, first));
}

/* One message may use the link when the other has left it. */
static void put_order(struct rows *rows, const struct divide_ring *r, uint32_t i)
{
	double right = 0;

	if (r->results_first[i]) {
		add(rows, column(rows, i, LEAVE), 1);
		add(rows, column(rows, i, RESULT), -r->c[i]);
		add(rows, column(rows, i + 1, LEFT), -1);
		add(rows, column(rows, i + 1, LOAD), -r->c[i]);
		right = r->sr[i] + r->sd[i];
	} else {
		add(rows, column(rows, i + 1, LEFT), 1);
		add(rows, column(rows, i, LEAVE), -1);
	}
	end_row(rows, GLP_LO, right);
	loose(rows);
}

static void put_processor(struct rows *rows, const struct divide_ring *r, uint32_t i)
{
	bool sends = i < rows->last;

	/* its share */
	add(rows, column(rows, i, LOAD), 1);
	add(rows, column(rows, i, SHARE), -1);
	if (sends)
		add(rows, column(rows, i + 1, LOAD), -1);
	end_row(rows, GLP_FX, 0);
	/* its results and those before; the caller leaves out the constant part without work */
	add(rows, column(rows, i, RESULT), 1);
	if (i > rows->first)
		add(rows, column(rows, i - 1, RESULT), -1);
	add(rows, column(rows, i, SHARE), -r->m[i]);
	end_row(rows, r->nlines ? GLP_LO : GLP_FX, r->allowed[i] ? r->b[i] : 0);
	/* results leave when it has computed; before the data if it has no work and they may */
	if (r->allowed[i] || !r->results_first[i] || !r->results_first[i - 1]) {
		add(rows, column(rows, i, LEFT), 1);
		add(rows, column(rows, i, SHARE), -r->a[i]);
		add(rows, column(rows, i, LEAVE), -1);
		if (r->serial && sends)
			add(rows, column(rows, i + 1, LOAD), -r->c[i]);
		end_row(rows, GLP_LO, r->serial && sends ? r->sd[i] : 0);
		if (!rows->has[i])
			loose(rows);
	}
	if (sends) {
		/* data come to the next, */
		add(rows, column(rows, i, LEFT), 1);
		add(rows, column(rows, i + 1, LEFT), -1);
		add(rows, column(rows, i + 1, LOAD), -r->c[i]);
		end_row(rows, r->results_first[i] ? GLP_LO : GLP_FX, r->sd[i]);
		put_order(rows, r, i);
	}
	/* and those before have come */
	add(rows, column(rows, i, LEAVE), 1);
	add(rows, column(rows, i, RESULT), sends ? -r->c[i] : -divide_sum(r->c, i, r->n));
	if (sends)
		add(rows, column(rows, i + 1, LEAVE), -1);
	end_row(rows, GLP_LO, sends ? r->sr[i] : divide_sum(r->sr, i, r->n));
}

static void gave_up(void *jump)
{
	longjmp(*(jmp_buf *)jump, 1);
}

static int solve(glp_prob *lp, int milliseconds)
{
	glp_smcp how;
	int err;

	glp_init_smcp(&how);
	how.msg_lev = GLP_MSG_OFF;
	how.tol_bnd = 1e-10;
	how.tol_dj = 1e-10;
	how.meth = GLP_DUALP;
	how.presolve = GLP_OFF;
	how.it_lim = 20 * glp_get_num_rows(lp);
	how.tm_lim = milliseconds;
	err = glp_simplex(lp, &how);
	if (err != GLP_ETMLIM && (err || glp_get_status(lp) != GLP_OPT)) {
		/* too strict for GLPK */
		how.tol_bnd = how.tol_dj = 1e-8;
		glp_std_basis(lp);
		how.meth = GLP_PRIMAL;
		err = glp_simplex(lp, &how);
	}
	return err || glp_get_status(lp) != GLP_OPT ? -EDOM : 0;
}

/* A value below its tolerance is 0. */
static bool take(const struct rows *rows, uint32_t n, struct divide_answer *answer)
{
	double all = 0, least = 1e-9 / (rows->last - rows->first + 1);

	for (uint32_t i = 0; i < n; i++) {
		int col = i ? column(rows, i, SHARE) : SHARE_0;

		answer->w[i] = 0;
		if (i && (i < rows->first || i > rows->last))
			continue;
		answer->w[i] = glp_get_col_prim(rows->lp, col);
		if (answer->w[i] < least)
			answer->w[i] = 0;
		all += answer->w[i];
	}
	if (!(fabs(all - 1) < 1e-3))
		return false;
	for (uint32_t i = 0; i < n; i++)
		answer->w[i] /= all;
	return true;
}

int divide_lp(const struct divide_ring *r, const struct divide_room *room, int milliseconds,
	      struct divide_answer *answer)
{
	struct rows rows = { .has = room->has };
	jmp_buf jump;
	int err;

	rows.last = r->n - 1;
	for (rows.first = 1; rows.first < r->n && !r->allowed[rows.first];)
		rows.first++;
	while (rows.last >= rows.first && !r->allowed[rows.last])
		rows.last--;
	if (rows.first > rows.last)
		return -EDOM;
	if (setjmp(jump)) {
		/* GLPK says no more than that it cannot go on; its memory is all that it takes */
		glp_error_hook(NULL, NULL);
		glp_free_env();
		return -ENOMEM;
	}
	glp_term_out(GLP_OFF);
	glp_error_hook(gave_up, &jump);
	rows.lp = glp_create_prob();
	glp_set_obj_dir(rows.lp, GLP_MIN);
	put_columns(&rows, r);
	put_head(&rows, r);
	for (uint32_t i = rows.first; i <= rows.last; i++)
		put_processor(&rows, r, i);
	put_limits(&rows, r);
	put_lines(&rows, r);
	err = solve(rows.lp, milliseconds);
	if (!err && !take(&rows, r->n, answer))
		err = -EDOM;
	if (!err) {
		answer->bound = glp_get_obj_val(rows.lp) * (1 - 1e-9);
		answer->exact = true;
	}
	glp_delete_prob(rows.lp);
	glp_error_hook(NULL, NULL);
	glp_free_env();
	return err;
}
