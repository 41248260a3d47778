/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits for messages without keeping a processor busy: most MPIs wait in a loop, which costs others on
 * the same host as much as work does.
 */
#ifndef EXAMPLES_POLITE_H
#define EXAMPLES_POLITE_H

#include <mpi.h>
#include <stdio.h>
#include <time.h>

/* One request, or two. */
static inline void polite_wait(int count, MPI_Request *requests)
{
	struct timespec pause = { 0, 50000 };
	MPI_Status ends[2];
	int there = 0;

	MPI_Testall(count, requests, &there, ends);
	while (!there) {
		nanosleep(&pause, NULL);
		/* looking takes time, too */
		if (pause.tv_nsec < 2000000)
			pause.tv_nsec *= 2;
		MPI_Testall(count, requests, &there, ends);
	}
}

/* Sends `out` and receives `in`, `count` bytes each, with the same rank. */
static inline void polite_exchange(int with, const void *out, void *in, int count)
{
	MPI_Request both[2];

	MPI_Irecv(in, count, MPI_BYTE, with, 1, MPI_COMM_WORLD, &both[0]);
	MPI_Isend(out, count, MPI_BYTE, with, 1, MPI_COMM_WORLD, &both[1]);
	polite_wait(2, both);
}

static inline void polite_send(int to, const void *out, int count)
{
	MPI_Request one;

	MPI_Isend(out, count, MPI_BYTE, to, 2, MPI_COMM_WORLD, &one);
	polite_wait(1, &one);
}

static inline void polite_receive(int from, void *in, int count)
{
	MPI_Request one;

	MPI_Irecv(in, count, MPI_BYTE, from, 2, MPI_COMM_WORLD, &one);
	polite_wait(1, &one);
}

static inline void polite_barrier(void)
{
	MPI_Request one;

	MPI_Ibarrier(MPI_COMM_WORLD, &one);
	polite_wait(1, &one);
}

/* alpha and beta of the models, between ranks 0 and 1: seconds of a message, and of each byte of it. */
static inline void polite_measure(int rank, double *alpha, double *beta)
{
	enum { TIMES = 200, LARGE = 1 << 18 };
	static char out[LARGE], in[LARGE];
	double began, seconds[2];

	*alpha = *beta = 0;
	if (rank > 1)
		return;
	for (int k = 0; k < 2; k++) {
		int bytes = k ? LARGE : 8, times = k ? TIMES / 10 : TIMES;

		polite_exchange(!rank, out, in, bytes);
		began = MPI_Wtime();
		for (int i = 0; i < times; i++)
			polite_exchange(!rank, out, in, bytes);
		seconds[k] = (MPI_Wtime() - began) / times;
	}
	*alpha = seconds[0];
	*beta = seconds[1] > seconds[0] ? (seconds[1] - seconds[0]) / LARGE : 0;
}

/* ---- how the programs end: rank 0 speaks ---- */

static inline int polite_is_first(void)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	return !rank;
}

/* The seconds since `began`, and the sum, which does not depend on the number of ranks. */
static inline void polite_tell(const char *name, double began, double sum)
{
	int size;

	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (polite_is_first())
		printf("%s: %d ranks, %.6f seconds, sum %.6f\n", name, size, MPI_Wtime() - began,
		       sum);
}

/* Wrong arguments. The exit status. */
static inline int polite_usage(const char *usage)
{
	if (polite_is_first())
		fprintf(stderr, "usage: %s\n", usage);
	MPI_Finalize();
	return 2;
}

#endif
