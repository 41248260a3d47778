// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * graph FILE STEPS WORK BYTES: a program of MPI whose ranks are the nodes of a graph. FILE has the edges,
 * two ranks and a number of messages on each line. In each step a rank computes for WORK microseconds,
 * and exchanges as many messages of BYTES bytes with each neighbour, in the order of the file, which is
 * the same for all: nobody waits in a circle. Prints the seconds that it took, and the most seconds that
 * a rank spent with messages.
 */
#include <stdio.h>
#include <stdlib.h>

#include "polite.h"

static double computed(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	enum { EDGES = 4096, LARGEST = 1 << 20 };
	static int a[EDGES], b[EDGES], times[EDGES];
	static char out[LARGEST], in[LARGEST];
	int rank, size, n = 0, steps, bytes;
	double began, talked = 0, longest, work, since;
	FILE *f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	f = argc == 5 ? fopen(argv[1], "r") : NULL;
	bytes = f ? atoi(argv[4]) : LARGEST;
	if (!f || bytes >= LARGEST) {
		fprintf(stderr, "usage: graph FILE STEPS WORK BYTES\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
		return 2;
	}
	while (n < EDGES && fscanf(f, "%d %d %d", &a[n], &b[n], &times[n]) == 3)
		n++;
	fclose(f);
	steps = atoi(argv[2]);
	work = atof(argv[3]) / 1e6;
	polite_barrier();
	began = MPI_Wtime();
	for (int s = 0; s < steps; s++) {
		for (since = computed(); computed() - since < work;)
			;
		since = MPI_Wtime();
		for (int e = 0; e < n; e++)
			for (int i = 0; i < times[e] && (rank == a[e] || rank == b[e]); i++)
				polite_exchange(rank == a[e] ? b[e] : a[e], out, in, bytes);
		talked += MPI_Wtime() - since;
	}
	MPI_Reduce(&talked, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("graph: %d ranks, %.6f seconds, %.6f with messages\n", size,
		       MPI_Wtime() - began, longest);
	MPI_Finalize();
	return 0;
}
