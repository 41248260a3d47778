// SPDX-License-Identifier: GPL-2.0-or-later
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "attend.h"
#include "client.h"
#include "wire/clean.h"
#include "outcome.h"
#include "tools/common/common.h"

/* What the child tells, in one write. */
struct report_told {
	bool managed;
	char session[64];
};

/* ---- the report ---- */

static double used_by_children(void)
{
	struct rusage use;

	if (getrusage(RUSAGE_CHILDREN, &use))
		return 0;
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void report_make(const struct report_told *told, const char *what, double elapsed,
			time_t began)
{
	struct outcome_seen seen = { elapsed, used_by_children(), told->managed };
	const char *const indent = "         ";
	json_t *outcome;
	char text[160];
	int code;

	if (!*told->session) {
		fprintf(stderr, "ehsched: %s: no report: there was no session\n", what);
		return;
	}
	outcome = outcome_ask(told->session, (json_int_t)began * 1000, &seen, &code);
	if (!outcome)
		return;
	snprintf(text, sizeof(text), "ehsched: %s", what);
	outcome_print(stderr, text, indent, outcome);
	if (told->managed || json_integer_value(json_object_get(outcome, "tasks")))
		fprintf(stderr, "%s`ehctl history --session %s` lists them\n", indent,
			told->session);
	else
		fprintf(stderr,
			"%swithout the module those of `ehctl exec` are of no session: "
			"`ehctl history` lists them\n",
			indent);
	json_decref(outcome);
}

/* ---- the two processes ---- */

static int report_wait(pid_t child, int from, const char *command)
{
	char what[128];
	struct report_told told = { .session = "" };
	const time_t began = time(NULL);
	const double start = progress_now();
	double elapsed;
	int status;

	clean_text(what, sizeof(what), command);
	attend(child);
	status = attend_end(child);
	elapsed = progress_now() - start;
	if (read(from, &told, sizeof(told)) != sizeof(told))
		told.session[0] = '\0';
	close(from);
	report_make(&told, what, elapsed, began);
	return attend_die(status);
}

int report_fork(struct report *r, const char *what)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return fail(EXIT_REFUSED, "cannot make a pipe: %s", strerror(errno));
	child = fork();
	if (child < 0)
		return fail(EXIT_REFUSED, "cannot start a process: %s", strerror(errno));
	if (!child) {
		close(ends[0]);
		r->to = ends[1];
		return -1;
	}
	close(ends[1]);
	return report_wait(child, ends[0], what);
}

void report_session(const struct report *r, const char *session, bool managed)
{
	struct report_told told = { .managed = managed };

	if (r->to < 0)
		return;
	snprintf(told.session, sizeof(told.session), "%s", session);
	/* Without it there is no report, which is said then. */
	if (write(r->to, &told, sizeof(told)) != sizeof(told))
		return;
}
