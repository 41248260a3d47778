// SPDX-License-Identifier: GPL-2.0-or-later
/* From the input's bytes to the document's head: what each planner's call begins and ends with. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ehplan.h"

#define INPUT_MAX ((size_t)2 << 30)

int read_input(const char *path, const char **name, char **text, size_t *length)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 1 << 16, at = 0;
	char *buffer = NULL, *bigger;
	int code = EXIT_USAGE;
	ssize_t n;

	*name = standard ? "standard input" : path;
	if (fd < 0)
		return fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
	for (;;) {
		bigger = at < INPUT_MAX ? realloc(buffer, room) : NULL;
		if (!bigger) {
			code = fail(at < INPUT_MAX ? EXIT_REFUSED : EXIT_USAGE, "%s: %s", *name,
				    at < INPUT_MAX ? "no memory for it" : "larger than 2 GiB");
			goto failed;
		}
		buffer = bigger;
		n = read(fd, buffer + at, room - at - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			code = fail(EXIT_USAGE, "%s: %s", *name, strerror(errno));
			goto failed;
		}
		if (!n)
			break;
		at += n;
		if (at + 1 == room)
			room *= 2;
	}
	buffer[at] = '\0';
	*text = buffer;
	*length = at;
	if (!standard)
		close(fd);
	return 0;

failed:
	free(buffer);
	if (!standard)
		close(fd);
	return code;
}

int call_refused(const char *name, const struct plan_refusal *refusal, int err)
{
	if (err != -EINVAL)
		return fail(EXIT_REFUSED, "%s: %s", name, strerror(-err));
	if (refusal->line)
		return fail(EXIT_USAGE, "%s:%zu: %s", name, refusal->line, refusal->what);
	return fail(EXIT_USAGE, "%s: %s%s%s", name, refusal->where, *refusal->where ? ": " : "",
		    refusal->what);
}

static double now(void *ctx)
{
	return progress_seconds(CLOCK_MONOTONIC);
}

/* Runs of less than a second show nothing. */
static void progress(void *ctx, const char *what, uint64_t done, uint64_t all)
{
	const struct plan_call *call = ctx;

	if (now(NULL) - call->began > 1)
		progress_show(what, done, all);
}

void call_begin(struct plan_call *call)
{
	/* the allocator gathers what the reader freed when much is asked for next: now, and not in
	 * the time to plan */
	free(malloc(1 << 20));
	call->began = now(NULL);
	call->watch.now = now;
	call->watch.progress = progress;
	call->watch.ctx = call;
	if (call->watch.until > 0)
		call->watch.until += call->began;
}

json_t *call_document(const struct plan_call *call, const char *planner, const char *algorithm)
{
	return json_pack("{s:i, s:s, s:s, s:f, s:b}", "version", 1, "planner", planner, "algorithm",
			 algorithm, "seconds_to_plan", now(NULL) - call->began, "time_limit_hit",
			 (int)call->watch.ended);
}
