// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * With results: the equations of cases 3 and 4 for a set of processors that have work, where all
 * others are relays; and the search for that set.
 *
 * Written processor by processor they lose no accuracy, because each has few unknowns: for the j-th
 * processor with work, u_j, let x_j be the load that arrives there, f_j the time left then,
 * and Q_j the results that leave it. With the sums D, E of start-ups and times for a unit of the
 * links from u_j to u_{j+1}, and G_j the time left when u_j has computed (serial: and sent):
 *   W_j = x_j - x_{j+1}              G_j = f_j - A W_j (serial: - S - C x_{j+1})
 *   f_j - f_{j+1} - E_j x_{j+1} = D_j                   the data on their way        (phi_j)
 *   Q_j - Q_{j-1} - R(W_j) = 0                          the results of each          (z_j)
 *   G_j - G_{j+1} - E_j Q_j = D'_j                      the results on their way     (rho_j)
 *   x_0 = 1, f_0 = A_0 W_0 (serial: + S_0 + C_0 x_1), Q_0 = 0, and the last results are the end.
 * The finish time is f_0. The same matrix transposed, for the unit vector of f_0, gives the
 * prices at the right: how the finish time grows with each of these delays. They are flows along
 * the critical paths, so they prove the shares best when none is negative, when results wait for
 * computing and nothing else (rho_j >= rho_{j-1}), and when a unit of work costs no less on any
 * relay than on processor 0.
 */
#include "ring.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 60 /* usually a few are enough, but it need not end at all */
#define SLACK 1e-12
/* diagonals of the equations */
#define BELOW 2
#define ABOVE 4

int divide_room_begin(struct divide_room *room, uint32_t n)
{
	size_t unknowns = 3 * (size_t)n;

	*room = (struct divide_room){ 0 };
	room->x = calloc(2 * unknowns + 3 * ((size_t)n + 1), sizeof(double));
	room->used = calloc(n, sizeof(*room->used));
	room->has = calloc(n, sizeof(*room->has));
	if (band_begin(&room->band, unknowns, BELOW, ABOVE) || !room->x || !room->used ||
	    !room->has)
		return -ENOMEM;
	room->y = room->x + unknowns;
	room->phi = room->y + unknowns;
	room->rho = room->phi + n + 1;
	room->wait = room->rho + n + 1;
	return 0;
}

void divide_room_end(struct divide_room *room)
{
	band_end(&room->band);
	free(room->x);
	free(room->used);
	free(room->has);
	*room = (struct divide_room){ 0 };
}

/* The row of G_j, times sign, and its share of the right side. */
static double put_computed(const struct divide_ring *r, struct divide_room *room, size_t row,
			   uint32_t j, double sign)
{
	uint32_t u = room->used[j];
	bool sends = r->serial && j + 1 < room->nused;

	*band_at(&room->band, row, 3 * j + 1) += sign;
	*band_at(&room->band, row, 3 * j) -= sign * r->a[u];
	if (j + 1 < room->nused)
		*band_at(&room->band, row, 3 * j + 3) += sign * (r->a[u] - (sends ? r->c[u] : 0));
	return sends ? sign * r->sd[u] : 0;
}

static void put_equations(const struct divide_ring *r, struct divide_room *room, double *right)
{
	struct band *band = &room->band;
	uint32_t count = room->nused;

	band_clear(band, 3 * (size_t)count);
	*band_at(band, 0, 0) = 1;
	right[0] = 1;
	right[1] = put_computed(r, room, 1, 0, 1);
	*band_at(band, 2, 2) = 1;
	right[2] = 0;
	for (uint32_t j = 1; j < count; j++) {
		uint32_t u = room->used[j], before = room->used[j - 1];
		uint32_t next = j + 1 < count ? room->used[j + 1] : r->n;
		size_t row = 3 * (size_t)j;

		*band_at(band, row, row - 2) = 1;
		*band_at(band, row, row + 1) = -1;
		*band_at(band, row, row) = -divide_sum(r->c, before, u);
		right[row] = divide_sum(r->sd, before, u);

		*band_at(band, row + 1, row + 2) = 1;
		*band_at(band, row + 1, row - 1) = -1;
		*band_at(band, row + 1, row) = -r->m[u];
		if (j + 1 < count)
			*band_at(band, row + 1, row + 3) = r->m[u];
		right[row + 1] = r->b[u];

		right[row + 2] = divide_sum(r->sr, u, next) + put_computed(r, room, row + 2, j, 1);
		*band_at(band, row + 2, row + 2) = -divide_sum(r->c, u, next);
		if (j + 1 < count)
			right[row + 2] += put_computed(r, room, row + 2, j + 1, -1);
	}
}

bool divide_equations(const struct divide_ring *ring, struct divide_room *room, double *w,
		      double *finish)
{
	uint32_t count = room->nused;

	put_equations(ring, room, room->x);
	if (band_factor(&room->band))
		return false;
	band_solve(&room->band, room->x);
	memset(w, 0, ring->n * sizeof(*w));
	for (uint32_t j = 0; j < count; j++)
		w[room->used[j]] = room->x[3 * j] - (j + 1 < count ? room->x[3 * j + 3] : 0);
	*finish = room->x[1];
	return isfinite(*finish);
}

/* The prices of the links, from those of the equations. False: some are negative. */
static bool find_prices(const struct divide_ring *r, struct divide_room *room)
{
	uint32_t count = room->nused;
	double *y = room->y, before = 0;
	bool good = true;

	memset(y, 0, 3 * (size_t)count * sizeof(*y));
	y[1] = 1;
	band_solve_transposed(&room->band, y);
	memset(room->phi, 0, (r->n + 1) * sizeof(double));
	memset(room->rho, 0, (r->n + 1) * sizeof(double));
	if (y[1] < -SLACK)
		good = false;
	for (uint32_t j = 0; j < count; j++) {
		uint32_t u = room->used[j], next = j + 1 < count ? room->used[j + 1] : r->n;
		double rho = j ? y[3 * j + 2] : 0, phi = j + 1 < count ? y[3 * j + 3] : 0;
		double computing = j ? rho - before : y[1];

		if (computing < -SLACK || phi < -SLACK)
			good = false;
		for (uint32_t l = u; l < next; l++) {
			room->phi[l] = phi;
			room->rho[l] = rho;
		}
		if (r->serial && j + 1 < count)
			room->phi[u] += computing;
		before = rho;
	}
	return good;
}

/* Puts into room->wait how much less a unit costs on each relay than on processor 0. In each gap
 * the relay with the largest difference joins those with work. Returns how many join. */
static uint32_t join(const struct divide_ring *r, struct divide_room *room, bool *has)
{
	double price = room->y[0], back = 0, there = 0, most = 0;
	uint32_t joined = 0, best = 0;

	for (uint32_t i = r->n; i-- > 0;) {
		back += r->c[i] * room->rho[i];
		room->wait[i] = r->m[i] * back;
	}
	for (uint32_t i = 0; i < r->n; i++) {
		if (!has[i] && r->allowed[i] && price - there - room->wait[i] > most) {
			most = price - there - room->wait[i];
			best = i;
		}
		if (most > 1e-11 * price && (i + 1 == r->n || has[i + 1])) {
			has[best] = true;
			joined++;
		}
		if (i + 1 == r->n || has[i + 1])
			most = 0;
		there += r->c[i] * room->phi[i];
	}
	return joined;
}

void divide_direct(const struct divide_ring *r, struct divide_room *room,
		   struct divide_answer *answer)
{
	bool *has = room->has;
	double finish = 0;

	answer->exact = false;
	answer->bound = -INFINITY;
	memcpy(has, r->allowed, r->n * sizeof(*has));
	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint32_t left = 0;
		bool good;

		answer->rounds = round + 1;
		room->nused = 0;
		for (uint32_t i = 0; i < r->n; i++)
			if (has[i])
				room->used[room->nused++] = i;
		if (!divide_equations(r, room, answer->w, &finish))
			return;
		for (uint32_t i = 0; i < r->n; i++) {
			if (answer->w[i] >= -SLACK)
				continue;
			has[i] = false;
			left++;
		}
		if (!has[0])
			return;
		if (left)
			continue;
		good = find_prices(r, room);
		if (join(r, room, has))
			continue;
		for (uint32_t i = 0; i < r->n; i++)
			answer->w[i] = fmax(answer->w[i], 0);
		if (good)
			answer->bound = finish;
		answer->exact = good && divide_finish(r, answer->w) <= finish * (1 + 1e-11);
		return;
	}
}
