// SPDX-License-Identifier: GPL-2.0-or-later
#include "links.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/common/companion.h"
#include "probe.h"
#include "remote.h"
#include "tools/common/common.h"

#define LINE_MOST 64u
#define PATIENCE_S 60 /* without a line from any host */
#define EACH_S 10 /* more for all, for each that the first host probes */
#define SECONDS_MOST 1e4
#define PER_BYTE_MOST 1.0

/* ---- on a host ---- */

int links_main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	for (int i = 1; i < argc; i++) {
		struct cluster_host host = { .name = argv[i] };

		/* the input of a job is asked for: a byte there and back is four messages, one after the
		 * other; of many bytes as many go there as back, at the same time */
		if (probe_host(&host, NULL))
			printf("?\n");
		else
			printf("%.9g %.9g\n", host.round_trip / 4, 1 / host.rate);
		fflush(stdout);
	}
	return 0;
}

/* ---- at home ---- */

struct row {
	pid_t pid; /* 0: none */
	int fd; /* -1: its end was read, or it was not started */
	uint32_t lines; /* that were read */
	char line[LINE_MOST];
	uint32_t length; /* of what is read of a line */
};

static bool start_row(const struct cluster_host *hosts, uint32_t n, uint32_t a, struct row *row)
{
	char **argv = calloc(n + 3, sizeof(*argv)), program[4096];
	int out[2], words = 0;
	pid_t pid;

	if (!argv || !companion("ehplan", program, sizeof(program)) || pipe2(out, O_CLOEXEC)) {
		free(argv);
		return false;
	}
	argv[words++] = program;
	argv[words++] = (char *)"--links";
	for (uint32_t b = a + 1; b < n; b++)
		argv[words++] = hosts[b].name;
	pid = remote_start(&hosts[a], NULL, argv,
			   &(struct remote_files){ -1, out[1], STDERR_FILENO });
	close(out[1]);
	free(argv);
	if (pid < 0) {
		close(out[0]);
		return false;
	}
	row->pid = pid;
	row->fd = out[0];
	return true;
}

/* What a host says is believed within bounds only: it is another's. */
static void take_line(struct row *row, uint32_t a, uint32_t n, struct assign_link *links)
{
	struct assign_link link;
	uint32_t b = a + 1 + row->lines++;

	row->line[row->length] = '\0';
	row->length = 0;
	if (b < n && sscanf(row->line, "%lf %lf", &link.seconds, &link.per_byte) == 2 &&
	    link.seconds > 0 && link.seconds < SECONDS_MOST && link.per_byte > 0 &&
	    link.per_byte < PER_BYTE_MOST)
		links[(size_t)a * n + b] = link;
}

static void take_bytes(struct row *row, uint32_t a, uint32_t n, struct assign_link *links)
{
	char bytes[512];
	ssize_t got = read(row->fd, bytes, sizeof(bytes));

	if (got < 0 && errno == EINTR)
		return;
	for (ssize_t i = 0; i < got; i++)
		if (bytes[i] == '\n')
			take_line(row, a, n, links);
		else if (row->length < LINE_MOST - 1)
			row->line[row->length++] = bytes[i];
	if (got > 0 && row->lines < n - 1 - a)
		return;
	close(row->fd);
	row->fd = -1;
}

/* Until all rows are read, a signal comes, or it takes too long, whatever a host says meanwhile. The signal
 * or 0. */
static int read_rows(struct row *rows, uint32_t n, int signals, struct assign_link *links)
{
	struct pollfd *p = calloc((size_t)n + 1, sizeof(*p));
	double now = progress_now(), said = now;
	double end = now + PATIENCE_S + (double)EACH_S * n;
	uint32_t open = 1, done, before = 0;
	int ended = 0;

	while (p && open && !ended) {
		open = done = 0;
		p[n] = (struct pollfd){ signals, POLLIN, 0 };
		for (uint32_t a = 0; a < n; a++) {
			p[a] = (struct pollfd){ rows[a].fd, POLLIN, 0 };
			open += rows[a].fd >= 0;
			done += rows[a].lines;
		}
		progress_show("probing links", done, n * (n - 1) / 2);
		now = progress_now();
		if (done > before)
			said = now;
		before = done;
		if (!open || now > fmin(said + PATIENCE_S, end))
			break;
		if (poll(p, n + 1, (int)(fmin(said + PATIENCE_S, end) - now) * 1000 + 1000) <= 0)
			continue;
		if (p[n].revents)
			ended = remote_take_signal(signals);
		for (uint32_t a = 0; a < n; a++)
			if (p[a].revents)
				take_bytes(&rows[a], a, n, links);
	}
	progress_show("probing links", 1, 1);
	free(p);
	return ended;
}

static void end_rows(struct row *rows, uint32_t n)
{
	for (uint32_t a = 0; a < n; a++) {
		if (rows[a].fd >= 0)
			close(rows[a].fd);
		/* all was said; whether the host lets it end is up to the host */
		if (rows[a].pid)
			kill(-rows[a].pid, SIGKILL);
		while (rows[a].pid && waitpid(rows[a].pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
}

/* What is not known costs as much as the worst that is. */
static void fill_gaps(const struct cluster_host *hosts, uint32_t n, struct assign_link *links)
{
	struct assign_link worst = { 0 };

	for (size_t i = 0; i < (size_t)n * n; i++) {
		worst.seconds = fmax(worst.seconds, links[i].seconds);
		worst.per_byte = fmax(worst.per_byte, links[i].per_byte);
	}
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 1; b < n; b++) {
			struct assign_link *link = &links[(size_t)a * n + b];

			if (link->seconds > 0)
				continue;
			fail(0, "the link between %s and %s is not measured: it counts as slow",
			     hosts[a].name, hosts[b].name);
			*link = worst;
		}
}

int links_measure(const struct cluster_host *hosts, uint32_t n, int signals,
		  struct assign_link *links)
{
	struct row *rows = calloc(n, sizeof(*rows));
	int ended;

	if (!rows)
		return fail(EXIT_REFUSED, "no memory");
	memset(links, 0, (size_t)n * n * sizeof(*links));
	for (uint32_t a = 0; a < n; a++)
		rows[a].fd = -1;
	for (uint32_t a = 0; a + 1 < n; a++)
		if (!start_row(hosts, n, a, &rows[a]))
			fail(0, "%s: no process for its links can be started", hosts[a].name);
	ended = read_rows(rows, n, signals, links);
	end_rows(rows, n);
	free(rows);
	if (ended)
		return fail(128 + ended, "interrupted");
	fill_gaps(hosts, n, links);
	return 0;
}
