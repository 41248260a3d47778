// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tokens of make's jobserver: two descriptors of a pipe, which MAKEFLAGS names, or a FIFO, which is
 * made into two such descriptors, because its path leads to another FIFO on the executor, or to none.
 */
#include "tokens.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/common/number.h"
#include "helpers/end/open.h"

#define TOKENS_FIFO "fifo:"

/* What follows the last --jobserver-auth= (before make 4.2: --jobserver-fds=); NULL: nothing. */
static char *tokens_find(char *flags, char **option)
{
	static const char *const names[] = { "--jobserver-auth=", "--jobserver-fds=" };
	char *found = NULL, *at;

	for (size_t i = 0; i < 2 && !found; i++)
		for (at = flags; (at = strstr(at, names[i]));) {
			*option = at;
			found = at += strlen(names[i]);
		}
	return found;
}

static struct job_file *tokens_file(struct opens *o, unsigned long number)
{
	for (uint32_t i = 0; i < o->ndescriptors; i++) {
		uint32_t channel = o->descriptors[i].channel;

		if (o->descriptors[i].number == number && channel >= JOB_CHANNEL_FILES)
			return &o->files[channel - JOB_CHANNEL_FILES];
	}
	return NULL;
}

/*
 * Marks what these descriptors lead to, if that is one pipe. In a task that make does not know to be another make
 * they may lead anywhere, though MAKEFLAGS names them.
 */
static void tokens_mark(struct opens *o, unsigned long read, unsigned long write)
{
	struct job_file *from = tokens_file(o, read), *to = tokens_file(o, write);
	struct stat a, b;

	if (!from || !to || fstat(read, &a) || fstat(write, &b) || !S_ISFIFO(a.st_mode) ||
	    a.st_dev != b.st_dev || a.st_ino != b.st_ino || !(from->flags & JOB_OPEN_READ) ||
	    !(to->flags & JOB_OPEN_WRITE))
		return;
	from->flags |= JOB_OPEN_TOKENS;
	to->flags |= JOB_OPEN_TOKENS;
	o->tokens = true;
}

static int tokens_open(const char *path, int mode)
{
	return open_above_2(open(path, mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

static void tokens_add(struct opens *o, int fd, uint32_t flags)
{
	o->files[o->nfiles] = (struct job_file){
		.kind = JOB_STREAM, .flags = flags | JOB_OPEN_TOKENS, .place = "", .path = ""
	};
	o->fds[o->nfiles] = fd;
	opens_put(o, fd, JOB_CHANNEL_FILES + o->nfiles++);
}

/* The environment with another text for one variable. False: no memory. */
static bool tokens_environment(struct opens *o, const char *old, char *text)
{
	char **base = o->environment ? o->environment : environ, **all;
	uint32_t n = 0;

	while (base[n])
		n++;
	all = malloc((n + 1) * sizeof(*all));
	for (uint32_t i = 0; all && i <= n; i++)
		all[i] = base[i] == old ? text : base[i];
	free(o->environment);
	o->environment = all;
	return all;
}

/* A FIFO that the task gets two descriptors of. */
struct fifo {
	const char *path; /* NULL: none yet */
	size_t length;
	int in, out;
};

static bool tokens_fifo_open(struct opens *o, struct fifo *f, const char *text, size_t length)
{
	char path[PATH_MAX];
	struct stat st;
	int in, out;

	if (o->tokens)
		return f->path && length == f->length && !memcmp(f->path, text, length);
	if (length >= sizeof(path) || o->nfiles + 2 > JOB_FILES_MAX ||
	    o->ndescriptors + 2 > JOB_DESCRIPTORS_MAX)
		return false;
	memcpy(path, text, length);
	path[length] = '\0';
	/* It is of no use without a maker, and then make itself says so. */
	if (stat(path, &st) || !S_ISFIFO(st.st_mode))
		return false;
	in = tokens_open(path, O_RDONLY);
	if (in < 0)
		return false;
	out = tokens_open(path, O_WRONLY);
	if (out < 0) {
		close(in);
		return false;
	}
	tokens_add(o, in, JOB_OPEN_READ);
	tokens_add(o, out, JOB_OPEN_WRITE);
	o->tokens = true;
	*f = (struct fifo){ text, length, in, out };
	return true;
}

/*
 * What follows `option` in the variable, at `auth`, is a FIFO of home. Clients look for the last one; those that know only
 * descriptors find these. False: no memory.
 */
static bool tokens_fifo(struct opens *o, struct fifo *f, char *variable, const char *option,
			const char *auth)
{
	const size_t length = strcspn(auth, " "), room = strlen(variable) + 128;
	char *text, *at;

	if (!tokens_fifo_open(o, f, auth + strlen(TOKENS_FIFO), length - strlen(TOKENS_FIFO)))
		return true;
	text = malloc(room);
	if (!text)
		return false;
	memcpy(text, variable, option - variable);
	strcpy(text + (option - variable), "--jobserver-auth=");
	at = number_text(f->in, text + strlen(text));
	*at++ = ',';
	at = number_text(f->out, at);
	strcpy(at, " " JOB_TOKENS_PATH);
	at = number_text(f->in, at + strlen(at));
	strcpy(at, auth + length);
	return tokens_environment(o, variable, text);
}

static bool tokens_look_in(struct opens *o, struct fifo *f, const char *name)
{
	char *variable = getenv(name), *auth, *option, *end;
	unsigned long read, write;

	auth = variable ? tokens_find(variable, &option) : NULL;
	if (!auth)
		return true;
	if (!strncmp(auth, TOKENS_FIFO, strlen(TOKENS_FIFO)))
		return tokens_fifo(o, f, variable - strlen(name) - 1, option, auth);
	read = strtoul(auth, &end, 10);
	if (end == auth || *end != ',')
		return true;
	auth = end + 1;
	write = strtoul(auth, &end, 10);
	if (end == auth)
		return true;
	/* Those of one pipe only: another may be a make's above that one. */
	if (!o->tokens)
		tokens_mark(o, read, write);
	return true;
}

bool tokens_look(struct opens *o)
{
	struct fifo f = { 0 };

	/* What cargo tells compilers and scripts comes before what it was told itself. */
	return tokens_look_in(o, &f, "CARGO_MAKEFLAGS") && tokens_look_in(o, &f, "MAKEFLAGS") &&
	       tokens_look_in(o, &f, "MFLAGS");
}
