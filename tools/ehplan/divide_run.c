// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs the parts of a load on their workers. */
#include "divide_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote.h"

#define LOOK_MS 500 /* between two looks at the cluster */
#define FULL_LEAST 0.3 /* seconds until a part starts again that found too many others */
#define FULL_MOST 10 /* each time it is twice as long */
#define COMMAND_MOST ((size_t)128 << 10)

double divide_run_now(const struct divide_run *run)
{
	return progress_now() - run->began;
}

double divide_run_startup(const struct divide_run *run, uint32_t worker)
{
	return run->cluster.hosts[run->workers[worker].host].startup;
}

double divide_run_seconds(const struct divide_run *run, uint32_t worker, double cost)
{
	const struct divide_worker *w = &run->workers[worker];

	return divide_run_startup(run, worker) + w->fixed + w->unit * cost;
}

int64_t divide_run_add(struct divide_run *run, const struct divide_part *part)
{
	struct divide_part *more = reallocarray(run->parts, run->nparts + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	run->parts = more;
	more[run->nparts] = *part;
	return run->nparts++;
}

static struct cluster_host *host_of(const struct divide_run *run, const struct divide_part *p)
{
	return &run->cluster.hosts[run->workers[p->worker].host];
}

void divide_run_path(const struct divide_run *run, uint32_t number, char path[DIVIDE_PATH_MOST])
{
	snprintf(path, DIVIDE_PATH_MOST, "%s/%u", run->folder, number);
}

bool divide_run_has_units(const char *command)
{
	return strstr(command, "{first}") || strstr(command, "{last}") ||
	       strstr(command, "{next}") || strstr(command, "{count}");
}

/* The command with its numbers. 0 or -E2BIG. */
static int fill_command(const struct divide_run *run, const struct divide_part *p, char *out,
			size_t size)
{
	const struct {
		const char *name;
		uint64_t value;
	} words[] = { { "{first}", run->from + p->first },
		      { "{last}", run->from + p->first + p->count - 1 },
		      { "{next}", run->from + p->first + p->count },
		      { "{count}", p->count } };
	size_t used = 0;

	for (const char *at = run->command; *at;) {
		int taken = 0;

		if (used + 24 >= size)
			return -E2BIG;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !taken; i++) {
			if (strncmp(at, words[i].name, strlen(words[i].name)))
				continue;
			taken = (int)strlen(words[i].name);
			used += snprintf(out + used, size - used, "%" PRIu64, words[i].value);
		}
		if (!taken)
			out[used++] = *at;
		at += taken ? taken : 1;
	}
	out[used] = '\0';
	return 0;
}

static int start_part(struct divide_run *run, uint32_t number)
{
	static char command[COMMAND_MOST];
	struct divide_part *p = &run->parts[number];
	char *const argv[] = { (char *)"sh", (char *)"-c", command, NULL };
	char path[DIVIDE_PATH_MOST];
	int fd;

	if (fill_command(run, p, command, sizeof(command)))
		return fail(EXIT_USAGE, "--cmd: longer than %zu bytes", sizeof(command));
	divide_run_path(run, number, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(EXIT_REFUSED, "%s: %s", path, strerror(errno));
	p->start = divide_run_now(run);
	p->pid = remote_start(host_of(run, p), run->view, argv,
			      &(struct remote_files){ -1, fd, STDERR_FILENO });
	close(fd);
	if (p->pid < 0)
		return fail(EXIT_REFUSED, "cannot start a command: %s", strerror(-(int)p->pid));
	p->state = DIVIDE_RUNS;
	run->workers[p->worker].part = number;
	return 0;
}

/* Each free worker takes its first part that waits, in the order of the ring. */
static int start_waiting(struct divide_run *run)
{
	double now = divide_run_now(run);
	int code = 0;

	for (uint32_t i = 0; i < run->nparts && !code; i++)
		if (run->parts[i].state == DIVIDE_WAITS &&
		    run->workers[run->parts[i].worker].part == UINT32_MAX &&
		    run->workers[run->parts[i].worker].not_before <= now)
			code = start_part(run, i);
	return code;
}

/* A worker whose parts are all done helps another one. */
static int start_all(struct divide_run *run)
{
	int code = start_waiting(run);

	for (uint32_t w = 0; w < run->nworkers && !code; w++) {
		const struct divide_worker *worker = &run->workers[w];

		if (!(run->planned_at > 0) || worker->part != UINT32_MAX || worker->lost ||
		    worker->not_before > divide_run_now(run) ||
		    !cluster_usable(&run->cluster.hosts[worker->host]))
			continue;
		code = divide_shares_help(run, w);
		if (!code)
			code = start_waiting(run);
	}
	return code;
}

static void tell_all(const struct divide_run *run, int signal)
{
	for (uint32_t i = 0; i < run->nparts; i++)
		if (run->parts[i].state == DIVIDE_RUNS)
			kill(-run->parts[i].pid, signal);
}

/* ---- ends ---- */

/* The worker is gone: the others share what it had. */
static int lose(struct divide_run *run, uint32_t worker)
{
	int code = 0;

	run->workers[worker].lost = true;
	for (uint32_t i = 0; i < run->nparts && !code; i++) {
		struct divide_part p = run->parts[i];

		if (p.worker != worker || p.state != DIVIDE_WAITS)
			continue;
		run->parts[i].state = DIVIDE_MOVED;
		run->moved++;
		code = divide_shares_again(run, &p);
	}
	return code;
}

/* Too many parts were there, or on their way: it starts again. */
static void start_later(struct divide_run *run, struct divide_part *p)
{
	struct divide_worker *w = &run->workers[p->worker];

	if (!run->told_full)
		fail(0, "some parts wait, as %s takes no more at a time: use fewer --slots",
		     host_of(run, p)->name);
	run->told_full = true;
	p->state = DIVIDE_WAITS;
	w->wait = fmin(fmax(2 * w->wait, FULL_LEAST), FULL_MOST);
	w->not_before = p->finish + w->wait;
}

static int take_failure(struct divide_run *run, uint32_t number, int exit_code)
{
	struct divide_part *p = &run->parts[number];
	struct cluster_host *host = host_of(run, p);
	char why[DIVIDE_RUN_WHY] = "it is gone";
	bool own = host->self;

	if (!own && !p->dropped) {
		enum cluster_way way;

		cluster_look(&run->cluster);
		way = cluster_way(p->pid, why, sizeof(why));
		if (way == CLUSTER_FULL) {
			start_later(run, p);
			return 0;
		}
		own = way == CLUSTER_WENT && host->up;
	}
	if (own)
		return fail(EXIT_REFUSED, "units %" PRIu64 " to %" PRIu64 " failed on %s: %s %d",
			    run->from + p->first, run->from + p->first + p->count - 1, host->name,
			    exit_code > 128 ? "signal" : "exit status",
			    exit_code > 128 ? exit_code - 128 : exit_code);
	fail(0, "other hosts take units of %s: %s", host->name, *why ? why : "it is gone");
	p->state = DIVIDE_WAITS;
	return lose(run, p->worker);
}

static int take_end(struct divide_run *run, uint32_t number, int status)
{
	struct divide_part *p = &run->parts[number];
	struct divide_worker *w = &run->workers[p->worker];
	char path[DIVIDE_PATH_MOST];
	struct stat st;

	w->part = UINT32_MAX;
	p->finish = divide_run_now(run);
	p->state = DIVIDE_DONE;
	if (remote_code(status))
		return take_failure(run, number, remote_code(status));
	w->wait = 0;
	divide_run_path(run, number, path);
	if (stat(path, &st))
		return fail(EXIT_REFUSED, "%s: %s", path, strerror(errno));
	p->bytes = (double)st.st_size;
	/* the first parts may have been held up: no start takes longer than a whole part */
	w->fixed =
		fmin(w->fixed, fmax(0, p->finish - p->start - divide_run_startup(run, p->worker)));
	return 0;
}

static int reap(struct divide_run *run)
{
	int status, code = 0;
	pid_t pid;

	while (!code && (pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (uint32_t i = 0; i < run->nparts; i++) {
			if (run->parts[i].state != DIVIDE_RUNS || run->parts[i].pid != pid)
				continue;
			code = take_end(run, i, status);
			break;
		}
	return code;
}

/* Parts on hosts that have been down for long enough end like others. */
static void drop_lost(struct divide_run *run)
{
	double now = divide_run_now(run);

	cluster_note_down(&run->cluster, now, run->down_since);
	for (uint32_t i = 0; i < run->nparts; i++) {
		struct divide_part *p = &run->parts[i];
		double since = run->down_since[run->workers[p->worker].host];

		if (p->state != DIVIDE_RUNS || p->dropped ||
		    !cluster_is_lost(since, now, run->grace))
			continue;
		p->dropped = true;
		kill(-p->pid, SIGKILL);
	}
}

static bool any(const struct divide_run *run, enum divide_state state)
{
	for (uint32_t i = 0; i < run->nparts; i++)
		if (run->parts[i].state == state)
			return true;
	return false;
}

int divide_run_signals(struct divide_run *run)
{
	run->signal = remote_take_signal(run->signals);
	return run->signal ? fail(128 + run->signal, "interrupted") : 0;
}

/* Nothing of it runs on. */
static void end_all(struct divide_run *run)
{
	tell_all(run, SIGTERM);
	for (int waits = 0; any(run, DIVIDE_RUNS) && waits < 100; waits++) {
		for (uint32_t i = 0; i < run->nparts; i++) {
			struct divide_part *p = &run->parts[i];

			if (p->state == DIVIDE_RUNS && waitpid(p->pid, NULL, WNOHANG) == p->pid)
				p->state = DIVIDE_MOVED;
		}
		if (any(run, DIVIDE_RUNS))
			poll(NULL, 0, 50);
	}
	tell_all(run, SIGKILL);
}

int divide_run_all(struct divide_run *run)
{
	/* the second one is a question to the agent, which may be slow to answer */
	struct pollfd p[] = { { run->signals, POLLIN, 0 }, { -1, POLLIN, 0 } };
	double look_at = 0;
	int code = 0;

	while (!code && (any(run, DIVIDE_WAITS) || any(run, DIVIDE_RUNS))) {
		code = start_all(run);
		if (!code && poll(p, 2, LOOK_MS) < 0 && errno != EINTR)
			code = fail(EXIT_REFUSED, "poll: %s", strerror(errno));
		if (!code)
			code = divide_run_signals(run);
		if (!code)
			code = reap(run);
		if (p[1].fd >= 0 && p[1].revents) {
			cluster_answer(&run->cluster, p[1].fd);
			p[1].fd = -1;
			drop_lost(run);
		}
		if (divide_run_now(run) < look_at)
			continue;
		if (p[1].fd < 0)
			p[1].fd = cluster_ask();
		drop_lost(run);
		look_at = divide_run_now(run) + LOOK_MS / 1000.0;
	}
	if (p[1].fd >= 0)
		close(p[1].fd);
	if (code)
		end_all(run);
	return code;
}
