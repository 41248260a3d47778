// SPDX-License-Identifier: GPL-2.0-or-later
/* What every call has: its input, its clock, and the first members of its document. */
#include "ehplan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)2 << 30)

static int read_all(int fd, const char *name, char **text, size_t *length)
{
	size_t room = 1 << 16, at = 0, skip;
	char *buffer = NULL, *bigger;
	int code;
	ssize_t n;

	for (;;) {
		if (at >= INPUT_MAX) {
			code = fail(EXIT_USAGE, "%s: larger than 2 GiB", name);
			goto failed;
		}
		bigger = realloc(buffer, room);
		if (!bigger) {
			code = fail(EXIT_REFUSED, "%s: no memory for it", name);
			goto failed;
		}
		buffer = bigger;
		n = read(fd, buffer + at, room - at - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			code = fail(EXIT_USAGE, "%s: %s", name, strerror(errno));
			goto failed;
		}
		if (!n)
			break;
		at += n;
		if (at + 1 == room)
			room *= 2;
	}
	buffer[at] = '\0';
	skip = parse_mark(buffer);
	at -= skip;
	memmove(buffer, buffer + skip, at + 1);
	*text = buffer;
	*length = at;
	return 0;

failed:
	free(buffer);
	return code;
}

int call_read(const char *path, const char **name, char **text, size_t *length)
{
	int fd, code;

	if (!strcmp(path, "-")) {
		*name = "standard input";
		return read_all(STDIN_FILENO, *name, text, length);
	}
	*name = path;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(EXIT_USAGE, "%s: %s", path, strerror(errno));
	code = read_all(fd, path, text, length);
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

/* A run of less than a second shows nothing. */
static void progress(void *ctx, const char *what, uint64_t done, uint64_t all)
{
	const struct plan_call *call = ctx;

	if (progress_now() - call->began > 1)
		progress_show(what, done, all);
}

void call_begin(struct plan_call *call)
{
	call->began = progress_now();
	call->watch.now = progress_now;
	call->watch.progress = progress;
	call->watch.ctx = call;
	if (call->watch.until > 0)
		call->watch.until += call->began;
}

void call_end(struct plan_call *call)
{
	call->seconds = progress_now() - call->began;
}

json_t *call_document(const struct plan_call *call, const char *planner, const char *algorithm,
		      json_t *members)
{
	json_t *document = json_pack("{s:i, s:s, s:s, s:f, s:b}", "version", 1, "planner", planner,
				     "algorithm", algorithm, "seconds_to_plan", call->seconds,
				     "time_limit_hit", (int)call->watch.ended);

	if (json_object_update_new(document, members)) {
		json_decref(document);
		return NULL;
	}
	return document;
}

int call_hide_output(void)
{
	int saved = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	if (saved >= 0 && null >= 0)
		dup2(null, STDOUT_FILENO);
	if (null >= 0)
		close(null);
	return saved;
}

void call_show_output(int saved)
{
	fflush(stdout);
	if (saved >= 0) {
		dup2(saved, STDOUT_FILENO);
		close(saved);
	}
}
