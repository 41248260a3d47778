// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the launchers of MPI read, and the variables that make them read it and start their daemons by
 * ehrsh. All are set: a launcher ignores those of others, and the command may be a script.
 */
#include "gang_place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helpers/common/companion.h"
#include "tools/common/common.h"

enum { HOSTFILE, RANKFILE, HOSTS, NODES };
_Static_assert(NODES + 1 == GANG_FILES, "each has its place in struct gang_run");
static const char *const names_of_files[] = { "hostfile", "rankfile", "hosts", "nodes" };

#define PATH_SIZE 48

static const char *host_of(const struct gang_run *run, uint32_t i)
{
	return run->offers[run->chosen[i]].host;
}

static uint32_t ranks_of(const struct gang_run *run)
{
	return run->place ? run->place->profile.ranks : run->count * run->slots;
}

static uint32_t place_of(const struct gang_run *run, uint32_t rank)
{
	return run->place ? run->place->at[rank] : rank / run->slots;
}

/* By this path the launcher finds it as long as this process lives. */
static void path_of(const struct gang_run *run, int file, char out[PATH_SIZE])
{
	snprintf(out, PATH_SIZE, "/proc/%d/fd/%d", (int)getpid(), fileno(run->files[file]));
}

/*
 * Open MPI: how many ranks a host has, and on which host each is. A rankfile must also say on which
 * processors, which here are all: the host may have fewer than slots, or another gang.
 */
static int write_open_mpi(const struct gang_run *run, FILE *hosts, FILE *ranks)
{
	uint32_t *taken = calloc(run->count, sizeof(*taken));

	if (!taken)
		return -1;
	for (uint32_t rank = 0; rank < ranks_of(run); rank++) {
		uint32_t i = place_of(run, rank);

		fprintf(ranks, "rank %u=%s slot=S*\n", rank, host_of(run, i));
		taken[i]++;
	}
	for (uint32_t i = 0; i < run->count; i++)
		if (taken[i])
			fprintf(hosts, "%s slots=%u\n", host_of(run, i), taken[i]);
	free(taken);
	return 0;
}

/* MPICH: ranks in their order, by how many one after the other are on a host. */
static void write_mpich(const struct gang_run *run, FILE *out)
{
	uint32_t ranks = ranks_of(run), first = 0;

	for (uint32_t rank = 1; rank <= ranks; rank++) {
		if (rank < ranks && place_of(run, rank) == place_of(run, first))
			continue;
		fprintf(out, "%s:%u\n", host_of(run, place_of(run, first)), rank - first);
		first = rank;
	}
}

static int write_files(struct gang_run *run)
{
	bool bad;

	for (int file = 0; file < GANG_FILES; file++) {
		int fd = memfd_create(names_of_files[file], MFD_CLOEXEC);

		run->files[file] = fd < 0 ? NULL : fdopen(fd, "w");
		if (!run->files[file])
			return fail(EXIT_REFUSED, "no memory for the %s: %s", names_of_files[file],
				    strerror(errno));
	}
	bad = write_open_mpi(run, run->files[HOSTFILE], run->files[RANKFILE]) != 0;
	write_mpich(run, run->files[HOSTS]);
	/* Slurm: a line for each part, in their order */
	for (uint32_t rank = 0; rank < ranks_of(run); rank++)
		fprintf(run->files[NODES], "%s\n", host_of(run, place_of(run, rank)));
	for (int file = 0; file < GANG_FILES; file++)
		bad |= fflush(run->files[file]) || ferror(run->files[file]);
	return bad ? fail(EXIT_REFUSED, "no memory for the hostfiles") : 0;
}

/* The names with commas between them, allocated; NULL: no memory. */
static char *names(const struct gang_run *run)
{
	size_t length = 1;
	char *text, *at;

	for (uint32_t i = 0; i < run->count; i++)
		length += strlen(host_of(run, i)) + 1;
	at = text = malloc(length);
	if (!text)
		return NULL;
	*at = '\0';
	for (uint32_t i = 0; i < run->count; i++) {
		if (i)
			*at++ = ',';
		at = stpcpy(at, host_of(run, i));
	}
	return text;
}

static int set_environment(const struct gang_run *run)
{
	char hostfile[PATH_SIZE], rankfile[PATH_SIZE], hosts[PATH_SIZE], nodes[PATH_SIZE];
	char rsh[4096], count[16], ranks[16];
	char *list = names(run);
	int err = 0;

	path_of(run, HOSTFILE, hostfile);
	path_of(run, RANKFILE, rankfile);
	path_of(run, HOSTS, hosts);
	path_of(run, NODES, nodes);
	snprintf(count, sizeof(count), "%u", run->count);
	snprintf(ranks, sizeof(ranks), "%u", ranks_of(run));
	if (!list)
		return fail(EXIT_REFUSED, "no memory");
	if (!companion("ehrsh", rsh, sizeof(rsh))) {
		free(list);
		return fail(EXIT_REFUSED, "ehrsh is not installed next to ehplan");
	}
	const char *const variables[][2] = {
		{ "EHSCHED_GANG_HOSTS", list },
		{ "EHSCHED_GANG_COUNT", count },
		{ "EHSCHED_GANG_RANKS", ranks },
		{ "EHSCHED_GANG_HOSTFILE", hostfile },
		{ "EHSCHED_GANG_RANKFILE", rankfile },
		{ "EHSCHED_RSH", rsh },
		/* Open MPI up to 4, and from 5 on */
		{ "OMPI_MCA_plm_rsh_agent", rsh },
		{ "OMPI_MCA_orte_default_hostfile", hostfile },
		{ "PRTE_MCA_plm_ssh_agent", rsh },
		{ "PRTE_MCA_prte_default_hostfile", hostfile },
		/* MPICH */
		{ "HYDRA_LAUNCHER", "ssh" },
		{ "HYDRA_LAUNCHER_EXEC", rsh },
		{ "HYDRA_HOST_FILE", hosts },
		/* Slurm: srun --distribution=arbitrary */
		{ "SLURM_HOSTFILE", nodes },
	};
	/*
	 * Open MPI ends a job by SIGCONT, SIGTERM and SIGKILL, with so many seconds between them, and each
	 * daemon waits for those below it: the default of 1 takes three seconds to end a rank.
	 */
	static const char *const hurried[] = {
		"OMPI_MCA_odls_base_sigkill_timeout",
		"PRTE_MCA_odls_base_sigkill_timeout",
	};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && !err; i++)
		err = setenv(variables[i][0], variables[i][1], 1);
	/* Unless the user has chosen. */
	for (size_t i = 0; i < sizeof(hurried) / sizeof(hurried[0]) && !err; i++)
		err = setenv(hurried[i], "0", 0);
	/* Open MPI up to 4 starts the ranks of a rankfile without a word about it; from 5 on --rankfile is
	 * needed, or --map-by */
	if (run->place && !err)
		err = setenv("OMPI_MCA_orte_rankfile", rankfile, 1);
	free(list);
	return err ? fail(EXIT_REFUSED, "no memory for the environment") : 0;
}

int gang_files_write(struct gang_run *run)
{
	int code = write_files(run);

	return code ? code : set_environment(run);
}

void gang_files_remove(struct gang_run *run)
{
	for (int file = 0; file < GANG_FILES; file++)
		if (run->files[file]) {
			fclose(run->files[file]);
			run->files[file] = NULL;
		}
}

/* ---- the command ---- */

/* A word with its braces filled in, allocated; NULL: no memory. */
static char *fill(const char *word, const char *const (*values)[2], size_t n)
{
	size_t length = 0;
	char *out = NULL;
	FILE *to = open_memstream(&out, &length);

	if (!to)
		return NULL;
	while (*word) {
		size_t i, taken = 0;

		for (i = 0; i < n && !taken; i++) {
			if (strncmp(word, values[i][0], strlen(values[i][0])))
				continue;
			taken = strlen(values[i][0]);
			fputs(values[i][1], to);
		}
		if (!taken)
			fputc(*word, to);
		word += taken ? taken : 1;
	}
	if (fclose(to)) {
		free(out);
		return NULL;
	}
	return out;
}

void gang_files_drop(char **filled)
{
	for (char **word = filled; *word; word++)
		free(*word);
	free(filled);
}

char **gang_files_fill(const struct gang_run *run, char **words)
{
	const char *const values[][2] = {
		{ "{count}", getenv("EHSCHED_GANG_COUNT") },
		{ "{ranks}", getenv("EHSCHED_GANG_RANKS") },
		{ "{hosts}", getenv("EHSCHED_GANG_HOSTS") },
		{ "{hostfile}", getenv("EHSCHED_GANG_HOSTFILE") },
		{ "{rankfile}", getenv("EHSCHED_GANG_RANKFILE") },
	};
	size_t count = 0;
	char **filled;

	while (words[count])
		count++;
	filled = calloc(count + 1, sizeof(*filled));
	for (size_t i = 0; filled && i < count; i++) {
		filled[i] = fill(words[i], values, sizeof(values) / sizeof(values[0]));
		if (filled[i])
			continue;
		gang_files_drop(filled);
		return NULL;
	}
	return filled;
}
