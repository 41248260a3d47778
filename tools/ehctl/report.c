// SPDX-License-Identifier: GPL-2.0-or-later
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "attend.h"
#include "client.h"
#include "wire/clean.h"
#include "past.h"
#include "tools/common/common.h"

#define REPORT_KINDS 16 /* nodes, or reasons, that are named */

/* What the child tells, in one write. */
struct report_told {
	bool managed;
	char session[64];
};

/* How often each word was found; the most frequent are shown. */
struct tally {
	const char *word[REPORT_KINDS];
	unsigned int count[REPORT_KINDS], kinds, others;
};

/* ---- the report ---- */

static void tally_add(struct tally *t, const char *word)
{
	unsigned int i = 0;

	while (i < t->kinds && strcmp(t->word[i], word))
		i++;
	if (i == REPORT_KINDS) {
		t->others++;
		return;
	}
	if (i == t->kinds)
		t->word[t->kinds++] = word;
	t->count[i]++;
}

static void tally_print(const struct tally *t)
{
	bool shown[REPORT_KINDS] = { false };
	const char *comma = "";

	for (unsigned int n = 0; n < t->kinds; n++) {
		unsigned int best = REPORT_KINDS;

		for (unsigned int i = 0; i < t->kinds; i++)
			if (!shown[i] && (best == REPORT_KINDS || t->count[i] > t->count[best]))
				best = i;
		shown[best] = true;
		fprintf(stderr, "%s%s %u", comma, t->word[best], t->count[best]);
		comma = ", ";
	}
	if (t->others)
		fprintf(stderr, "%sothers %u", comma, t->others);
}

static const char *clock_of(double seconds)
{
	json_t *value = json_pack("{s:f}", "s", seconds > 0 ? seconds : 0);
	const char *text = duration_of(value, "s");

	json_decref(value);
	return text;
}

static double number_of(const json_t *task, const char *member)
{
	return json_number_value(json_object_get(task, member));
}

static double used_by_children(void)
{
	struct rusage use;

	if (getrusage(RUSAGE_CHILDREN, &use))
		return 0;
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/*
 * No time is said to be won: how long the session would have taken here alone depends on what else ran
 * and waited, which nobody has measured.
 */
static void report_print(const struct report_told *told, const char *what, double elapsed,
			 const json_t *tasks)
{
	struct tally nodes = { .kinds = 0 }, reasons = { .kinds = 0 };
	unsigned int away = 0, lost = 0;
	double elsewhere = 0, here = used_by_children();
	json_t *task;
	size_t i;

	json_array_foreach((json_t *)tasks, i, task) {
		if (strcmp(text_of(task, "executor"), text_of(task, "home"))) {
			away++;
			lost += !strcmp(text_of(task, "state"), "lost");
			elsewhere += number_of(task, "cpu_user") + number_of(task, "cpu_system");
			tally_add(&nodes, client_host(task, "executor"));
		} else {
			tally_add(&reasons, text_of(task, "reason"));
		}
	}
	/* text_of() has them in the tasks, which are still there. */
	if (told->managed)
		here -= elsewhere;
	fprintf(stderr,
		"ehsched: %s: ended after %s; of %zu tasks that were to be placed %u ran elsewhere",
		what, clock_of(elapsed), json_array_size(tasks), away);
	if (away) {
		fprintf(stderr, " (");
		tally_print(&nodes);
		fprintf(stderr, ")");
	}
	fprintf(stderr, "\n         CPU here %s, elsewhere %s", clock_of(here),
		clock_of(elsewhere));
	if (lost)
		fprintf(stderr, "; %u lost", lost);
	if (reasons.kinds) {
		fprintf(stderr, "\n         stayed: ");
		tally_print(&reasons);
	}
	if (told->managed || json_array_size(tasks))
		fprintf(stderr, "\n         `ehctl history --session %s` lists them\n",
			told->session);
	else
		fprintf(stderr,
			"\n         without the module those of `ehctl exec` are of no session: "
			"`ehctl history` lists them\n");
}

static void report_make(const struct report_told *told, const char *what, double elapsed,
			time_t began)
{
	bool more;
	int code;
	json_t *tasks;

	if (!*told->session) {
		fprintf(stderr, "ehsched: %s: no report: there was no session\n", what);
		return;
	}
	tasks = past_ask(
		json_pack("{s:s,s:I}", "session", told->session, "since", (json_int_t)began * 1000),
		0, &more, &code);
	if (!tasks)
		return;
	report_print(told, what, elapsed, tasks);
	json_decref(tasks);
}

/* ---- the two processes ---- */

static int report_wait(pid_t child, int from, const char *command)
{
	char what[128];
	struct report_told told = { .session = "" };
	const time_t began = time(NULL);
	struct timespec start, end;
	int status;

	clean_text(what, sizeof(what), command);
	clock_gettime(CLOCK_MONOTONIC, &start);
	attend(child);
	status = attend_end(child);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (read(from, &told, sizeof(told)) != sizeof(told))
		told.session[0] = '\0';
	close(from);
	report_make(&told, what,
		    (double)(end.tv_sec - start.tv_sec) +
			    (double)(end.tv_nsec - start.tv_nsec) / 1e9,
		    began);
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
