// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile: who sends how much to whom in a program of MPI, for `ehctl gang --assign`. It stands between
 * the program and MPI (the profiling interface, PMPI), linked with the program or loaded before it:
 *
 *	mpicc -O2 -o wave wave.c profile.c -lm
 *	mpicc -O2 -shared -fPIC -o profile.so profile.c		(mpirun -x LD_PRELOAD=$PWD/profile.so …)
 *	ehctl gang --profile wave.comm --learn -- mpirun ./wave 100000 1000
 *	ehctl gang --assign wave.comm -- mpirun ./wave 100000 1000
 *
 * When the program ends, rank 0 writes the file that EHSCHED_PROFILE names, in its directory: for each
 * rank its host, the seconds of processor time outside MPI (work), those from MPI_Init to MPI_Finalize
 * and those of them within MPI; for each pair of ranks the messages and bytes in both directions.
 *
 * Messages are counted where they are sent. MPI_Bcast, MPI_Scatter, MPI_Gather and MPI_Reduce count as a
 * message between the root and each other rank, MPI_Alltoall as one from each to each. Other collective
 * calls, persistent requests and one-sided communication are not counted.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;
static double *sent; /* messages to each rank, then bytes */
static double began, within, work, work_since;
static int depth; /* of calls: some are made of others */

static double computed(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double enter(void)
{
	if (!depth++)
		work += computed() - work_since;
	return PMPI_Wtime();
}

static int leave(double since, int result)
{
	if (!--depth) {
		within += PMPI_Wtime() - since;
		work_since = computed();
	}
	return result;
}

static void count_world(int to, double bytes)
{
	if (!sent || to < 0 || to >= size || to == rank)
		return;
	sent[to]++;
	sent[size + to] += bytes;
}

/* `to` is a rank of the communicator. */
static void count(int number, MPI_Datatype type, int to, MPI_Comm comm)
{
	MPI_Group here, world;
	int bytes, inter;

	if (!sent || to == MPI_PROC_NULL || depth > 1)
		return;
	PMPI_Type_size(type, &bytes);
	if (comm != MPI_COMM_WORLD) {
		PMPI_Comm_test_inter(comm, &inter);
		if (inter)
			PMPI_Comm_remote_group(comm, &here);
		else
			PMPI_Comm_group(comm, &here);
		PMPI_Comm_group(MPI_COMM_WORLD, &world);
		PMPI_Group_translate_ranks(here, 1, &to, world, &to);
		PMPI_Group_free(&here);
		PMPI_Group_free(&world);
	}
	count_world(to, (double)bytes * number);
}

/* All others of a communicator, or only the root, if this rank is not the root. */
static void count_star(int number, MPI_Datatype type, int root, int from_root, MPI_Comm comm)
{
	int own, others, inter;

	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		return;
	PMPI_Comm_rank(comm, &own);
	PMPI_Comm_size(comm, &others);
	if (!from_root && own != root)
		count(number, type, root, comm);
	for (int r = 0; from_root && own == root && r < others; r++)
		if (r != own)
			count(number, type, r, comm);
}

/* ---- the beginning and the end ---- */

static void begin(void)
{
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	sent = calloc(2 * (size_t)size, sizeof(*sent));
	began = PMPI_Wtime();
	work_since = computed();
}

int MPI_Init(int *argc, char ***argv)
{
	int result = PMPI_Init(argc, argv);

	begin();
	return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int result = PMPI_Init_thread(argc, argv, required, provided);

	begin();
	return result;
}

struct of_rank {
	double work, seconds, mpi;
	char host[MPI_MAX_PROCESSOR_NAME];
};

/* A name in JSON. */
static void write_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++)
		if ((unsigned char)*text >= ' ' && *text != '"' && *text != '\\')
			fputc(*text, out);
	fputc('"', out);
}

static void write_ranks(FILE *out, const struct of_rank *ranks)
{
	fprintf(out, "{\"version\": 1,\n \"ranks\": [");
	for (int r = 0; r < size; r++) {
		fprintf(out, "%s{\"host\": ", r ? ",\n  " : "");
		write_text(out, ranks[r].host);
		fprintf(out, ", \"work\": %.9f, \"seconds\": %.9f, \"mpi\": %.9f}", ranks[r].work,
			ranks[r].seconds, ranks[r].mpi);
	}
}

/* Row a, then the part of each further row that is about a. */
static void write_pairs(FILE *out, const double *all)
{
	const char *before = "";
	size_t row = 2 * (size_t)size;

	fprintf(out, "],\n \"messages\": [");
	for (int a = 0; a < size; a++)
		for (int b = a + 1; b < size; b++) {
			double messages = all[a * row + b] + all[b * row + a];
			double bytes = all[a * row + size + b] + all[b * row + size + a];

			if (!(messages > 0))
				continue;
			fprintf(out, "%s{\"a\": %d, \"b\": %d, \"count\": %.0f, \"bytes\": %.0f}",
				before, a, b, messages, bytes);
			before = ",\n  ";
		}
	fprintf(out, "]}\n");
}

/* Complete, or not at all: it is renamed when it is. */
static void write_file(const char *path, const struct of_rank *ranks, const double *all)
{
	size_t length = strlen(path) + 8;
	char *part = malloc(length);
	FILE *out = NULL;
	int bad = 1;

	if (part) {
		snprintf(part, length, "%s.part", path);
		out = fopen(part, "w");
	}
	if (out) {
		write_ranks(out, ranks);
		write_pairs(out, all);
		bad = ferror(out);
		bad |= fclose(out);
	}
	if (bad || rename(part, path)) {
		fprintf(stderr, "profile: %s: ", path);
		perror(NULL);
	}
	free(part);
}

static const char *wanted(void)
{
	const char *path = getenv("EHSCHED_PROFILE");

	/* Open MPI takes only variables with its own prefix to other hosts */
	return path ? path : getenv("OMPI_EHSCHED_PROFILE");
}

int MPI_Finalize(void)
{
	const char *path = wanted();
	struct of_rank own = { 0 }, *ranks = NULL;
	double *all = NULL;
	int length, ready[2], good;

	if (path) {
		own.work = work + computed() - work_since;
		own.seconds = PMPI_Wtime() - began;
		own.mpi = within;
		PMPI_Get_processor_name(own.host, &length);
		if (!rank) {
			ranks = calloc(size, sizeof(*ranks));
			all = calloc(2 * (size_t)size * size, sizeof(*all));
		}
		/* all gather, or none */
		ready[0] = sent && (rank || (ranks && all));
		PMPI_Allreduce(ready, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
		if (good) {
			PMPI_Gather(&own, sizeof(own), MPI_BYTE, ranks, sizeof(own), MPI_BYTE, 0,
				    MPI_COMM_WORLD);
			PMPI_Gather(sent, 2 * size, MPI_DOUBLE, all, 2 * size, MPI_DOUBLE, 0,
				    MPI_COMM_WORLD);
			if (!rank)
				write_file(path, ranks, all);
		} else if (!rank) {
			fprintf(stderr, "profile: no memory\n");
		}
		free(ranks);
		free(all);
	}
	free(sent);
	sent = NULL;
	return PMPI_Finalize();
}

/* ---- what is counted ---- */

#define SEND(name)                                                                      \
	int MPI_##name(const void *buf, int number, MPI_Datatype type, int to, int tag, \
		       MPI_Comm comm)                                                   \
	{                                                                               \
		double since = enter();                                                 \
                                                                                        \
		count(number, type, to, comm);                                          \
		return leave(since, PMPI_##name(buf, number, type, to, tag, comm));     \
	}

SEND(Send)
SEND(Ssend)
SEND(Rsend)
SEND(Bsend)

#define ISEND(name)                                                                          \
	int MPI_##name(const void *buf, int number, MPI_Datatype type, int to, int tag,      \
		       MPI_Comm comm, MPI_Request *request)                                  \
	{                                                                                    \
		double since = enter();                                                      \
                                                                                             \
		count(number, type, to, comm);                                               \
		return leave(since, PMPI_##name(buf, number, type, to, tag, comm, request)); \
	}

ISEND(Isend)
ISEND(Issend)
ISEND(Irsend)
ISEND(Ibsend)

int MPI_Sendrecv(const void *out, int number, MPI_Datatype type, int to, int tag, void *in,
		 int most, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
		 MPI_Status *status)
{
	double since = enter();

	count(number, type, to, comm);
	return leave(since, PMPI_Sendrecv(out, number, type, to, tag, in, most, in_type, from,
					  in_tag, comm, status));
}

int MPI_Sendrecv_replace(void *buf, int number, MPI_Datatype type, int to, int tag, int from,
			 int in_tag, MPI_Comm comm, MPI_Status *status)
{
	double since = enter();

	count(number, type, to, comm);
	return leave(since,
		     PMPI_Sendrecv_replace(buf, number, type, to, tag, from, in_tag, comm, status));
}

int MPI_Bcast(void *buf, int number, MPI_Datatype type, int root, MPI_Comm comm)
{
	double since = enter();

	count_star(number, type, root, 1, comm);
	return leave(since, PMPI_Bcast(buf, number, type, root, comm));
}

int MPI_Scatter(const void *out, int number, MPI_Datatype type, void *in, int most,
		MPI_Datatype in_type, int root, MPI_Comm comm)
{
	double since = enter();

	count_star(number, type, root, 1, comm);
	return leave(since, PMPI_Scatter(out, number, type, in, most, in_type, root, comm));
}

int MPI_Gather(const void *out, int number, MPI_Datatype type, void *in, int most,
	       MPI_Datatype in_type, int root, MPI_Comm comm)
{
	double since = enter();

	count_star(number, type, root, 0, comm);
	return leave(since, PMPI_Gather(out, number, type, in, most, in_type, root, comm));
}

int MPI_Reduce(const void *out, void *in, int number, MPI_Datatype type, MPI_Op op, int root,
	       MPI_Comm comm)
{
	double since = enter();

	count_star(number, type, root, 0, comm);
	return leave(since, PMPI_Reduce(out, in, number, type, op, root, comm));
}

int MPI_Alltoall(const void *out, int number, MPI_Datatype type, void *in, int most,
		 MPI_Datatype in_type, MPI_Comm comm)
{
	double since = enter();
	int own, others, inter;

	PMPI_Comm_rank(comm, &own);
	PMPI_Comm_size(comm, &others);
	PMPI_Comm_test_inter(comm, &inter);
	for (int r = 0; !inter && r < others; r++)
		if (r != own)
			count(number, type, r, comm);
	return leave(since, PMPI_Alltoall(out, number, type, in, most, in_type, comm));
}

/* ---- what only takes time ---- */

#define TIMED(name, arguments, call)                   \
	int MPI_##name arguments                       \
	{                                              \
		double since = enter();                \
                                                       \
		return leave(since, PMPI_##name call); \
	}

TIMED(Recv,
      (void *buf, int most, MPI_Datatype type, int from, int tag, MPI_Comm comm,
       MPI_Status *status),
      (buf, most, type, from, tag, comm, status))
TIMED(Wait, (MPI_Request * request, MPI_Status *status), (request, status))
TIMED(Waitall, (int n, MPI_Request *requests, MPI_Status *statuses), (n, requests, statuses))
TIMED(Waitany, (int n, MPI_Request *requests, int *which, MPI_Status *status),
      (n, requests, which, status))
TIMED(Waitsome, (int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses),
      (n, requests, done, which, statuses))
TIMED(Test, (MPI_Request * request, int *done, MPI_Status *status), (request, done, status))
TIMED(Testall, (int n, MPI_Request *requests, int *done, MPI_Status *statuses),
      (n, requests, done, statuses))
TIMED(Testany, (int n, MPI_Request *requests, int *which, int *done, MPI_Status *status),
      (n, requests, which, done, status))
TIMED(Probe, (int from, int tag, MPI_Comm comm, MPI_Status *status), (from, tag, comm, status))
TIMED(Iprobe, (int from, int tag, MPI_Comm comm, int *there, MPI_Status *status),
      (from, tag, comm, there, status))
TIMED(Barrier, (MPI_Comm comm), (comm))
TIMED(Allreduce,
      (const void *out, void *in, int number, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
      (out, in, number, type, op, comm))
TIMED(Allgather,
      (const void *out, int number, MPI_Datatype type, void *in, int most, MPI_Datatype in_type,
       MPI_Comm comm),
      (out, number, type, in, most, in_type, comm))
