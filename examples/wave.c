// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wave [--model] POINTS STEPS [WORK]: a vibrating string by finite differences, the first program of
 * paper 1. Each rank has an equal part of the points and exchanges its outermost ones with its
 * neighbours in each step; rank 0 collects the string. WORK repeats the arithmetic of each point, since
 * processors have become faster than networks. Prints the seconds it took, and a sum of the string,
 * which does not depend on the number of ranks.
 *
 * --model, with two ranks or more: measures this job and prints its model for `ehctl gang`.
 *
 *	mpicc -O2 -o wave wave.c -lm
 *	mpirun -n 2 ./wave --model 100000 1000 >wave.json
 *	ehctl gang --model wave.json -- mpirun ./wave 100000 1000
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "polite.h"

static int rank, size;
static long points, steps, work = 1;
static long first, count; /* of this rank's points */
static double *before, *now, *after; /* from 1 to count; 0 and count + 1 are the neighbours' */

static long first_of(int r)
{
	return points * r / size;
}

static void begin(void)
{
	first = first_of(rank);
	count = first_of(rank + 1) - first;
	before = calloc(count + 2, sizeof(double));
	now = calloc(count + 2, sizeof(double));
	after = calloc(count + 2, sizeof(double));
	if (!before || !now || !after) {
		fprintf(stderr, "wave: no memory for %ld points\n", count);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (long i = 1; i <= count; i++)
		now[i] = before[i] = sin(2 * M_PI * (double)(first + i - 1) / (double)(points - 1));
}

/* First all pairs whose left rank is even, then the others: nobody waits for a chain of others. */
static void exchange(void)
{
	for (int turn = 0; turn < 2; turn++) {
		int right = rank % 2 == turn, with = right ? rank + 1 : rank - 1;

		if (with < 0 || with >= size)
			continue;
		if (right)
			polite_exchange(with, &now[count], &now[count + 1], sizeof(double));
		else
			polite_exchange(with, &now[1], &now[0], sizeof(double));
	}
}

static void step(void)
{
	double *swap = before;

	for (long w = 0; w < work; w++) {
		for (long i = 1; i <= count; i++)
			after[i] = 2.0 * now[i] - before[i] +
				   0.09 * (now[i - 1] - 2.0 * now[i] + now[i + 1]);
		/* the compiler must not leave repeats out */
		__asm__ volatile("" : : "r"(after) : "memory");
	}
	if (!rank)
		after[1] = 0;
	if (rank == size - 1)
		after[count] = 0;
	before = now;
	now = after;
	after = swap;
}

/* Rank 0: the sum of all points, one rank after the other. */
static double collect(void)
{
	double sum = 0, *part;

	if (rank) {
		polite_send(0, now + 1, (int)(count * (long)sizeof(double)));
		return 0;
	}
	part = malloc((points / size + 2) * sizeof(double));
	for (long i = 1; i <= count; i++)
		sum += now[i] * (double)(first + i);
	for (int r = 1; r < size; r++) {
		long n = first_of(r + 1) - first_of(r);

		polite_receive(r, part, (int)(n * (long)sizeof(double)));
		for (long i = 0; i < n; i++)
			sum += part[i] * (double)(first_of(r) + i + 1);
	}
	free(part);
	return sum;
}

/* Seconds of a step of this rank's points, without messages: of enough steps for the clock. */
static double measure_steps(void)
{
	double began = MPI_Wtime(), took;
	long done = 0;

	do {
		step();
		done++;
		took = MPI_Wtime() - began;
	} while (took < 3);
	return took / (double)done;
}

static void print_model(void)
{
	double alpha, beta, each = 0;

	polite_measure(rank, &alpha, &beta);
	polite_barrier();
	/* seven operations for each point; they are not told apart */
	if (!rank)
		each = measure_steps() / (double)count / 7;
	polite_barrier();
	if (!rank)
		printf("{\"model\": {\"kind\": \"wave\", \"points\": %ld, \"steps\": %ld, \"alpha\": %.9g, \"beta\": %.9g, "
		       "\"t_mult\": %.9g, \"t_add\": %.9g}}\n",
		       points, steps, alpha, beta, each, each);
}

int main(int argc, char **argv)
{
	int model = argc > 1 && !strcmp(argv[1], "--model");
	double began, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	argv += model;
	argc -= model;
	points = argc > 2 ? atol(argv[1]) : 0;
	steps = argc > 2 ? atol(argv[2]) : 0;
	if (argc > 3)
		work = atol(argv[3]);
	if (points < size || steps < 1 || work < 1 || points > 1l << 27)
		return polite_usage("wave [--model] POINTS STEPS [WORK]");
	begin();
	polite_barrier();
	if (model) {
		print_model();
	} else {
		began = MPI_Wtime();
		for (long s = 0; s < steps; s++) {
			exchange();
			step();
		}
		sum = collect();
		polite_tell("wave", began, sum);
	}
	MPI_Finalize();
	return 0;
}
