// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mpi [DIRECTORY]: each rank says its host; all add up their numbers. With DIRECTORY it then writes a
 * file there, and waits in a barrier that rank 0 does not come to.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, size, sum = 0;
	char host[64], name[512];
	FILE *f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	gethostname(host, sizeof(host));
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d of %d on %s: %d\n", rank, size, host, sum);
	fflush(stdout);
	if (argc > 1) {
		snprintf(name, sizeof(name), "%s/%d", argv[1], rank);
		f = fopen(name, "w");
		if (f)
			fclose(f);
		while (!rank)
			pause();
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
