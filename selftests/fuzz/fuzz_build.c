// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What make or ninja print when ehctl dag asks them what they would run: the first byte says which of them, and a NUL
 * is between one answer and the next. Refused, or a graph in which each command is once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/names.h"
#include "tools/ehplan/build.h"
#include "tools/ehplan/ehplan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct answers {
	const char *at;
	size_t left;
} answers;

/* ---- what build_ask.c and call.c do ---- */

static char *next(size_t *length)
{
	const char *end = memchr(answers.at, 0, answers.left);
	const size_t n = end ? (size_t)(end - answers.at) : answers.left;
	char *text = strndup(answers.at, n);

	if (!text)
		exit(1);
	answers.at += n + !!end;
	answers.left -= n + !!end;
	*length = n;
	return text;
}

char *build_ask(const struct build *b, char *const *argv, int *status, size_t *length)
{
	*status = 0;
	return next(length);
}

/* Lines that make runs itself are in the last answer, each ended by a byte that is NUL in the file. */
int call_read(const char *path, const char **name, char **text, size_t *length)
{
	*name = path;
	*text = next(length);
	for (char *at = *text; *at; at++)
		if (*at == '\035')
			*at = '\0';
	return 0;
}

/* ---- as build.c ends it ---- */

static void end(struct build *b, struct workflow *w)
{
	for (uint32_t t = 0; t < b->nlines; t++) {
		free(b->lines[t].where);
		free(b->lines[t].text);
	}
	free(b->lines);
	free(b->first);
	if (b->places)
		plan_names_free(b->places);
	free(b->directory);
	free(b->shell);
	free(b->flags);
	workflow_close(w);
}

static void check(const struct build *b, const struct workflow *w)
{
	uint32_t n = 0;

	if (!w->graph || w->graph->tasks != b->nlines)
		abort();
	/* Each command is found by its place, once. */
	for (uint32_t p = 0; b->places && p < plan_names_count(b->places); p++)
		for (uint32_t t = b->first[p]; t != BUILD_NO_TASK; t = b->lines[t].next) {
			if (strcmp(b->lines[t].where, plan_names_text(b->places, p)) ||
			    n++ > b->nlines)
				abort();
		}
	if (n != b->nlines)
		abort();
}

static char folder[] = "/dev/shm/ehs-fuzz-XXXXXX", here[sizeof(folder) + 8];

static void clean(void)
{
	unlink(here);
	rmdir(folder);
}

/* With "here" in it, of which the lines are the last answer. */
static void prepare(void)
{
	int fd;

	if (!mkdtemp(folder))
		exit(1);
	snprintf(here, sizeof(here), "%s/here", folder);
	fd = open(here, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || close(fd))
		exit(1);
	atexit(clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *const args[] = { (char *)"-C", (char *)"x", (char *)"all", NULL };
	struct build b = { .args = args, .listener = -1, .events = -1 };
	struct workflow w = { 0 };
	int code;

	if (!size)
		return 0;
	if (!*here)
		prepare();
	strcpy(b.folder, folder);
	answers = (struct answers){ (const char *)data + 1, size - 1 };
	b.ninja = data[0] & 1;
	code = b.ninja ? build_ninja_read(&b, &w) : build_make_read(&b, &w);
	if (!code)
		check(&b, &w);
	end(&b, &w);
	return 0;
}
