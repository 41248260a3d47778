// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What ehctl dag reads before it runs anything: a workflow with its commands, the journal of an earlier run, and how
 * long commands took, with a NUL between them. A journal that was read is written on and read again, the same and one
 * more; what is damaged is left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/common.h"
#include "tools/ehplan/durations.h"
#include "tools/ehplan/ehplan.h"
#include "tools/ehplan/journal.h"
#include "tools/ehplan/workflow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/dev/shm/ehs-fuzz-XXXXXX", journal[64], durations[64];

static void clean(void)
{
	char path[80];

	unlink(journal);
	unlink(durations);
	snprintf(path, sizeof(path), "%s/ehsched", folder);
	rmdir(path);
	rmdir(folder);
}

static void prepare(void)
{
	char path[80];

	if (!mkdtemp(folder) || setenv("XDG_STATE_HOME", folder, 1))
		exit(1);
	snprintf(path, sizeof(path), "%s/ehsched", folder);
	if (mkdir(path, 0700))
		exit(1);
	snprintf(journal, sizeof(journal), "%s/journal", folder);
	snprintf(durations, sizeof(durations), "%s/ehsched/durations.json", folder);
	atexit(clean);
}

static void put(const char *path, const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n || close(fd))
		exit(1);
}

static void read_workflow(const char *text, size_t n)
{
	struct workflow w;
	int code = workflow_read("x", text, n, &w);

	for (uint32_t t = 0; !code && t < w.graph->tasks; t++)
		if (!w.argv[t] || !w.argv[t][0])
			abort();
	workflow_close(&w);
}

struct ends {
	size_t n;
	uint64_t sum, key;
	int code;
	char last[16];
};

static void on_end(void *ctx, const char *task, uint64_t key, int code)
{
	struct ends *e = ctx;

	e->n++;
	e->sum = e->sum * 31 + key + (uint64_t)code + strlen(task);
	e->key = key;
	e->code = code;
	snprintf(e->last, sizeof(e->last), "%s", task);
}

static struct ends read_journal(bool more)
{
	struct ends e = { 0 };
	int code = 0, fd = journal_open(journal, true, on_end, &e, &code);

	if (fd < 0 || (more && journal_write(fd, "\"\n\\", 42, "n\1", -7, 0.5)))
		abort();
	close(fd);
	return e;
}

static void read_durations(void)
{
	struct durations *d = durations_open();
	double is;

	if (!d)
		exit(1);
	for (uint64_t key = 0; key < 3; key++) {
		is = durations_get(d, key);
		if (!isfinite(is) && is >= 0)
			abort();
		durations_put(d, key, 2);
		if (!(durations_get(d, key) >= 1))
			abort();
	}
	durations_close(d);
	/* What was written is read. */
	d = durations_open();
	if (!d || !(durations_get(d, 2) >= 1))
		abort();
	durations_close(d);
}

static const char *part(const char **at, size_t *left, size_t *n)
{
	const char *text = *at, *end = memchr(text, 0, *left);

	*n = end ? (size_t)(end - text) : *left;
	*at += *n + !!end;
	*left -= *n + !!end;
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1), *graph;
	const char *at = copy, *text;
	struct ends before, after;
	size_t n;

	if (!copy)
		exit(1);
	if (!*journal)
		prepare();
	memcpy(copy, data, size);
	copy[size] = '\0';
	text = part(&at, &size, &n);
	graph = strndup(text, n);
	if (!graph)
		exit(1);
	read_workflow(graph, n);
	free(graph);
	text = part(&at, &size, &n);
	put(journal, text, n);
	before = read_journal(true);
	after = read_journal(false);
	if (after.n != before.n + 1 || after.key != 42 || after.code != -7 ||
	    strcmp(after.last, "\"\n\\"))
		abort();
	text = part(&at, &size, &n);
	put(durations, text, n);
	read_durations();
	free(copy);
	return 0;
}
