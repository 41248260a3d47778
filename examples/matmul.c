// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * matmul [--model] N: C = A B of N x N floats by Pipe-Multiply-Roll, the second program of paper 1. The
 * number of ranks is a square, root x root, and divides N by its root. In each of root rounds a block
 * of A is passed along each row, multiplied with the block of B that is there, and the blocks of B roll
 * upwards. Rank 0 gives the blocks out and collects C. Prints the seconds it took, and a sum of C,
 * which does not depend on the number of ranks.
 *
 * --model, with two ranks or more: measures this job and prints its model for `ehctl gang`.
 *
 *	mpicc -O2 -o matmul matmul.c
 *	mpirun -n 2 ./matmul --model 480 >matmul.json
 *	ehctl gang --model matmul.json -- mpirun ./matmul 480
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "polite.h"

static int rank, size, root, row, column;
static int n, b; /* rows of a matrix, of a block */
static float *own_a, *own_b, *passed, *rolled, *c;

static size_t block(void)
{
	return (size_t)b * b * sizeof(float);
}

static int at(int r, int k)
{
	return (r + root) % root * root + (k + root) % root;
}

static float *new_block(void)
{
	float *m = calloc(1, block());

	if (!m) {
		fprintf(stderr, "matmul: no memory for %d rows\n", b);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return m;
}

static void multiply(const float *x, const float *y)
{
	for (int i = 0; i < b; i++)
		for (int k = 0; k < b; k++) {
			float f = x[i * b + k];

			for (int j = 0; j < b; j++)
				c[i * b + j] += f * y[k * b + j];
		}
}

/* Small whole numbers: sums of floats are exact, in whatever order. */
static void fill(float *m, int r, int k, int of)
{
	for (int i = 0; i < b; i++)
		for (int j = 0; j < b; j++)
			m[i * b + j] =
				(float)(((r * b + i) * (of + 2) + (k * b + j) * (of + 1)) % 5);
}

static void give_out(void)
{
	if (rank) {
		polite_receive(0, own_a, (int)block());
		polite_receive(0, own_b, (int)block());
		return;
	}
	for (int r = size - 1; r >= 0; r--) {
		fill(own_a, r / root, r % root, 0);
		fill(own_b, r / root, r % root, 1);
		if (!r)
			break;
		polite_send(r, own_a, (int)block());
		polite_send(r, own_b, (int)block());
	}
}

/* The block of A of this column goes along its row, from one rank to the next. */
static const float *pipe_along(int from)
{
	if (column == from) {
		if (root > 1)
			polite_send(at(row, column + 1), own_a, (int)block());
		return own_a;
	}
	polite_receive(at(row, column - 1), passed, (int)block());
	if ((column + 1) % root != from)
		polite_send(at(row, column + 1), passed, (int)block());
	return passed;
}

static void roll(void)
{
	MPI_Request both[2];
	float *swap = own_b;

	if (root == 1)
		return;
	MPI_Irecv(rolled, (int)block(), MPI_BYTE, at(row + 1, column), 3, MPI_COMM_WORLD, &both[0]);
	MPI_Isend(own_b, (int)block(), MPI_BYTE, at(row - 1, column), 3, MPI_COMM_WORLD, &both[1]);
	polite_wait(2, both);
	own_b = rolled;
	rolled = swap;
}

static double sum_of(const float *m)
{
	double sum = 0;

	for (int i = 0; i < b * b; i++)
		sum += m[i];
	return sum;
}

static double collect(void)
{
	double sum = sum_of(c);

	if (rank) {
		polite_send(0, c, (int)block());
		return 0;
	}
	for (int r = 1; r < size; r++) {
		polite_receive(r, passed, (int)block());
		sum += sum_of(passed);
	}
	return sum;
}

static void print_model(void)
{
	double alpha, beta, began, took = 0;
	long done = 0;

	polite_measure(rank, &alpha, &beta);
	polite_barrier();
	began = MPI_Wtime();
	while (!rank && took < 3) {
		multiply(own_a, own_b);
		done++;
		took = MPI_Wtime() - began;
	}
	polite_barrier();
	/* they are not told apart */
	if (!rank) {
		took /= 2 * (double)done * b * b * b;
		printf("{\"model\": {\"kind\": \"matmul\", \"n\": %d, \"alpha\": %.9g, \"beta\": %.9g, \"t_mult\": %.9g, "
		       "\"t_add\": %.9g}}\n",
		       n, alpha, beta, took, took);
	}
}

int main(int argc, char **argv)
{
	int model = argc > 1 && !strcmp(argv[1], "--model");
	double began, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	n = argc > 1 + model ? atoi(argv[1 + model]) : 0;
	/* a model is measured with any number of ranks, each by itself */
	while (!model && (root + 1) * (root + 1) <= size)
		root++;
	if (model)
		root = 1;
	if (n < 1 || n > 20000 || n % root || (!model && root * root != size))
		return polite_usage(
			"matmul [--model] N, with a square number of ranks whose root divides N");
	row = rank / root;
	column = rank % root;
	/* of a model: blocks as of four ranks */
	b = model && n > 1 ? n / 2 : n / root;
	own_a = new_block();
	own_b = new_block();
	passed = new_block();
	rolled = new_block();
	c = new_block();
	polite_barrier();
	if (model) {
		print_model();
	} else {
		began = MPI_Wtime();
		give_out();
		for (int round = 0; round < root; round++) {
			multiply(pipe_along((row + round) % root), own_b);
			roll();
		}
		sum = collect();
		polite_tell("matmul", began, sum);
	}
	MPI_Finalize();
	return 0;
}
