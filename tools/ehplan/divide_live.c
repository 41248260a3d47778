// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl divide: one load, divided among the hosts of the live cluster. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "divide_run.h"
#include "live.h"
#include "probe.h"
#include "remote.h"

#define END_MS 5000 /* that a command has to end after SIGTERM */
#define SIZE_MOST ((uint64_t)1 << 53) /* units that the planner's numbers have exactly */

static struct settings {
	const char *command, *combine, *view;
	struct cluster_wish wish;
	bool quiet;
	uint64_t size, from, probe, slots;
	double data, grace;
} settings = { .combine = "cat", .data = 1, .grace = 5 };

static const struct option_row options[] = {
	{ "size", OPTION_COUNT, offsetof(struct settings, size), "N", .count = { 1, SIZE_MOST },
	  .wanted = "a number of units from 1 to 2^53 is needed", .help = "units of the load" },
	{ "cmd", OPTION_TEXT, offsetof(struct settings, command), "CMD",
	  .help = "for sh: does some units; {first}, {last}, {next} and {count} say which" },
	{ "combine", OPTION_TEXT, offsetof(struct settings, combine), "CMD",
	  .help = "for sh, here: reads the outputs of all parts in order (cat)" },
	{ "from", OPTION_COUNT, offsetof(struct settings, from), "F", .count = { 0, SIZE_MOST },
	  .help = "number of the first unit (0)" },
	{ "data", OPTION_REAL, offsetof(struct settings, data), "BYTES", .real = { 0, 1e12 },
	  .help = "what CMD reads of home's files for a unit (1)" },
	{ "probe", OPTION_COUNT, offsetof(struct settings, probe), "UNITS",
	  .count = { 1, SIZE_MOST }, .help = "size of a first part of each host (by size)" },
	{ "hosts", OPTION_TEXT, offsetof(struct settings, wish.only), "A,B,…",
	  .help = "use these hosts only" },
	{ "slots", OPTION_COUNT, offsetof(struct settings, slots), "N", .count = { 1, 1024 },
	  .wanted = "a number from 1 to 1024 is needed",
	  .help = "parts at a time on each host (its free processors, at least 1)" },
	{ "view", OPTION_TEXT, offsetof(struct settings, view), "shared|home|auto",
	  .wanted = "must be shared, home or auto",
	  .help = "whose files CMD sees: as for `ehctl run`" },
	{ "grace", OPTION_REAL, offsetof(struct settings, grace), "S", .real = { 0, 86400 },
	  .wanted = "seconds from 0 to 86400 are needed",
	  .help = "seconds that a host may be down before others take its units (5)" },
	{ "quiet", OPTION_FLAG, offsetof(struct settings, quiet), NULL,
	  .help = "do not print predicted and real times" },
	{ 0 },
};

/* ---- the ring ---- */

/* Home first, then the hosts that start commands sooner. */
static int by_distance(const void *a, const void *b, void *ctx)
{
	const struct cluster *c = ctx;
	const struct divide_worker *v = a, *w = b;
	const struct cluster_host *x = &c->hosts[v->host], *y = &c->hosts[w->host];

	if (x->self != y->self)
		return x->self ? -1 : 1;
	if (x->startup != y->startup)
		return x->startup < y->startup ? -1 : 1;
	return (v->host > w->host) - (v->host < w->host);
}

static int make_workers(struct divide_run *run)
{
	uint64_t most = 0;

	for (uint32_t h = 0; h < run->cluster.n; h++)
		most += run->cluster.hosts[h].slots;
	run->workers = calloc(most, sizeof(*run->workers));
	run->down_since = calloc(run->cluster.n, sizeof(*run->down_since));
	if (!run->workers || !run->down_since)
		return fail(EXIT_REFUSED, "no memory");
	for (uint32_t h = 0; h < run->cluster.n; h++)
		for (uint32_t k = 0; k < run->cluster.hosts[h].slots; k++)
			run->workers[run->nworkers++] =
				(struct divide_worker){ .host = h, .part = UINT32_MAX };
	qsort_r(run->workers, run->nworkers, sizeof(*run->workers), by_distance, &run->cluster);
	/* each has at least one unit to be measured with, and one to do */
	if (run->nworkers > run->size / 2)
		run->nworkers = run->size > 1 ? (uint32_t)(run->size / 2) : 1;
	return 0;
}

static int make_folder(struct divide_run *run)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(run->folder, sizeof(run->folder), "%s/ehctl-divide-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (mkdtemp(run->folder))
		return 0;
	fail(0, "%s: %s", run->folder, strerror(errno));
	*run->folder = '\0';
	return EXIT_REFUSED;
}

static void end_run(struct divide_run *run)
{
	char path[DIVIDE_PATH_MOST];

	for (uint32_t i = 0; i < run->nparts && *run->folder; i++) {
		divide_run_path(run, i, path);
		unlink(path);
	}
	if (*run->folder)
		rmdir(run->folder);
	if (run->signals >= 0)
		close(run->signals);
	free(run->workers);
	free(run->down_since);
	free(run->parts);
	free(run->places);
	cluster_close(&run->cluster);
}

/* ---- the results ---- */

/* The outputs of parts, in order, for the command of --combine. */
struct feed {
	struct divide_run *run;
	uint32_t *part, n, next; /* numbers of parts, by their first units */
	int file, pipe; /* -1: none */
};

static int by_first(const void *a, const void *b, void *ctx)
{
	const struct divide_part *parts = ctx;
	const struct divide_part *x = &parts[*(const uint32_t *)a],
				 *y = &parts[*(const uint32_t *)b];

	return x->first < y->first ? -1 : x->first > y->first;
}

static int make_feed(struct feed *f)
{
	const struct divide_run *run = f->run;

	f->part = calloc(run->nparts, sizeof(*f->part));
	if (!f->part)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->nparts; i++)
		if (run->parts[i].state == DIVIDE_DONE)
			f->part[f->n++] = i;
	qsort_r(f->part, f->n, sizeof(*f->part), by_first, run->parts);
	return 0;
}

/* As much as the pipe has room for. 1: there is more; 0: that was all; or -errno. */
static int feed_some(struct feed *f)
{
	char path[DIVIDE_PATH_MOST];
	ssize_t n;

	if (f->file < 0 && f->next == f->n)
		return 0;
	if (f->file < 0) {
		divide_run_path(f->run, f->part[f->next++], path);
		f->file = open(path, O_RDONLY | O_CLOEXEC);
		if (f->file < 0)
			return -errno;
	}
	n = sendfile(f->pipe, f->file, NULL, 1 << 20);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	if (!n) {
		close(f->file);
		f->file = -1;
	}
	return 1;
}

/* Until the command ends, whose status is put at `status`, or a signal comes. 0 or an exit code. */
static int feed_all(struct feed *f, pid_t pid, int *status)
{
	int code = 0, more = 1;

	for (;;) {
		struct pollfd p[] = { { f->run->signals, POLLIN, 0 }, { f->pipe, POLLOUT, 0 } };

		if (waitpid(pid, status, WNOHANG) == pid)
			return code;
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			code = fail(EXIT_REFUSED, "poll: %s", strerror(errno));
		else if (p[0].revents)
			code = divide_run_signals(f->run);
		if (!code && p[1].revents)
			more = feed_some(f);
		/* it need not read all */
		if (more < 0 && more != -EPIPE)
			code = fail(EXIT_REFUSED, "the results cannot be read: %s",
				    strerror(-more));
		if (code)
			break;
		if (more <= 0 && f->pipe >= 0) {
			close(f->pipe);
			f->pipe = -1;
		}
	}
	kill(-pid, SIGTERM);
	*status = remote_end(pid, END_MS);
	return code;
}

static int combine(struct divide_run *run, bool json)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)settings.combine, NULL };
	const struct cluster_host here = { .self = true };
	struct feed f = { .run = run, .file = -1, .pipe = -1 };
	int ends[2], status = 0, code, err = make_feed(&f);
	pid_t pid;

	if (!err && pipe2(ends, O_CLOEXEC))
		err = -errno;
	if (err) {
		code = fail(EXIT_REFUSED, "--combine: %s", strerror(-err));
		goto out;
	}
	f.pipe = ends[1];
	fcntl(f.pipe, F_SETFL, O_NONBLOCK);
	pid = remote_start(&here, NULL, argv,
			   &(struct remote_files){ ends[0], json ? STDERR_FILENO : STDOUT_FILENO,
						   STDERR_FILENO });
	close(ends[0]);
	code = pid < 0 ? fail(EXIT_REFUSED, "--combine: %s", strerror(-(int)pid))
		       : feed_all(&f, pid, &status);
	if (!code && remote_code(status))
		code = fail(EXIT_REFUSED, "--combine: exit status %d", remote_code(status));
	if (f.file >= 0)
		close(f.file);
	if (f.pipe >= 0)
		close(f.pipe);
out:
	free(f.part);
	return code;
}

/* ---- the command ---- */

static int prepare(struct divide_run *run)
{
	int code = cluster_open(&run->cluster, &settings.wish);

	if (!code)
		code = probe_cluster(&run->cluster, settings.view);
	if (!code)
		code = make_workers(run);
	if (!code)
		code = make_folder(run);
	if (code)
		return code;
	run->signals = remote_signals(SFD_NONBLOCK);
	return run->signals < 0 ? EXIT_REFUSED : 0;
}

static int carry_out(struct divide_run *run)
{
	/* one unit has nothing to be measured with */
	int code = run->size > 1 ? divide_probe(run) : 0;

	if (!code)
		code = divide_shares_rest(run);
	run->planned_at = divide_run_now(run);
	if (!code)
		code = divide_run_all(run);
	run->real = divide_run_now(run) - run->planned_at;
	return code;
}

static int run_divide(void *ctx, char **rest, bool json)
{
	struct divide_run run = { .signals = -1 };
	int code;

	if (rest[0])
		return bad_argument(rest[0]);
	if (!settings.size || !settings.command)
		return bad_usage("--size N and --cmd CMD are needed");
	if (!divide_run_has_units(settings.command))
		return bad_usage("--cmd: it needs {first}, {last}, {next} or {count}, "
				 "or all parts would be the same");
	run.size = settings.size;
	run.from = settings.from;
	run.probe = settings.probe;
	run.data = settings.data;
	run.command = settings.command;
	run.view = settings.view;
	run.grace = settings.grace;
	settings.wish.slots = (uint32_t)settings.slots;
	code = prepare(&run);
	run.began = progress_now();
	if (!code)
		code = carry_out(&run);
	if (!code)
		code = combine(&run, json);
	if (!code && json)
		code = divide_tell_json(&run);
	else if (!code && !settings.quiet)
		divide_tell_text(&run);
	end_run(&run);
	return code;
}

const struct live_command divide_live = {
	.name = "divide",
	.arguments =
		"--size N --cmd CMD [--combine CMD] [--from F] [--data BYTES] [--probe UNITS]\n"
		"       [--hosts A,B,…] [--slots N] [--view VIEW] [--grace S] [--quiet] [--json]",
	.help = "divide a load among the hosts of the cluster (paper 2)\n\n"
		"Each host does some first parts, which measure it and the load. The rest is divided by the\n"
		"plan of `ehctl plan divide`; each part is started as by `ehctl exec HOST --`. The outputs of\n"
		"all parts, in order, are the input of the command of --combine. A host that has done its\n"
		"share helps another one. If a host leaves, others have its units. CMD has one of {first},\n"
		"{last}, {next} and {count} at least. The exit status is 1 if a part failed, and 128 + N if\n"
		"signal N ended all: then parts and the command of --combine get SIGTERM.",
	.options = options,
	.run = run_divide,
	.settings = &settings,
};
