// SPDX-License-Identifier: GPL-2.0-or-later
/* Encoding of struct job_spec. */

#include "job.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "frame.h"

#define JOB_VERSION JOB_OLDEST
#define JOB_VERSION_FILES JOB_NEWEST /* with open files */
#define JOB_FILE_LEAST (4 + 4 + 8 + 8 + 1 + 1)
#define JOB_DESCRIPTOR_SIZE 8
#define JOB_CHANNEL_TTY 3 /* job/message.h */
#define JOB_CHANNEL_FIRST 4
#define JOB_WORDS 10 /* u32 of the head: version … loginuid */
#define JOB_HEAD (JOB_WORDS * 4 + JOB_RLIMITS * 16 + 16 + JOB_TRAITS * 8)
#define JOB_TOKEN_MAX 63
#define JOB_PATH_MAX 4095

static bool job_has_files(const struct job_spec *spec)
{
	return spec->nfiles || spec->ndescriptors;
}

static size_t job_files_size(const struct job_spec *spec)
{
	size_t size = job_has_files(spec) ? 8 + spec->ndescriptors * JOB_DESCRIPTOR_SIZE : 0;

	for (uint32_t i = 0; i < spec->nfiles; i++)
		size += JOB_FILE_LEAST + strlen(spec->files[i].place) + strlen(spec->files[i].path);
	return size;
}

size_t job_encoded_size(const struct job_spec *spec)
{
	size_t size = JOB_HEAD + 4ul * spec->ngroups;

	if (spec->flags & JOB_CTTY)
		size += TERMINAL_SIZE;
	size += job_files_size(spec);
	size += strlen(spec->token) + strlen(spec->path) + strlen(spec->cwd) + 3;
	for (uint32_t i = 0; i < spec->argc; i++)
		size += strlen(spec->argv[i]) + 1;
	for (uint32_t i = 0; i < spec->envc; i++)
		size += strlen(spec->envp[i]) + 1;
	return size > FRAME_JOB_MAX ? 0 : size;
}

static void job_put_files(const struct job_spec *spec, struct cursor_out *o)
{
	if (!job_has_files(spec))
		return;
	cursor_put_u32(o, spec->nfiles);
	cursor_put_u32(o, spec->ndescriptors);
	for (uint32_t i = 0; i < spec->nfiles; i++) {
		const struct job_file *f = &spec->files[i];

		cursor_put_u32(o, f->kind);
		cursor_put_u32(o, f->flags);
		cursor_put_u64(o, f->offset);
		cursor_put_u64(o, f->ino);
		cursor_put_string(o, f->place);
		cursor_put_string(o, f->path);
	}
	for (uint32_t i = 0; i < spec->ndescriptors; i++) {
		cursor_put_u32(o, spec->descriptors[i].number);
		cursor_put_u32(o, spec->descriptors[i].channel);
	}
}

void job_encode(const struct job_spec *spec, uint8_t *out)
{
	const uint32_t version = job_has_files(spec) ? JOB_VERSION_FILES : JOB_VERSION;
	const uint32_t words[JOB_WORDS] = { version,	spec->flags,   spec->umask,   spec->nice,
					    spec->uid,	spec->gid,     spec->ngroups, spec->argc,
					    spec->envc, spec->loginuid };
	struct cursor_out o = { out };

	for (int i = 0; i < JOB_WORDS; i++)
		cursor_put_u32(&o, words[i]);
	for (int i = 0; i < JOB_RLIMITS; i++) {
		cursor_put_u64(&o, spec->rlimit[i][0]);
		cursor_put_u64(&o, spec->rlimit[i][1]);
	}
	cursor_put_u64(&o, spec->sigmask);
	cursor_put_u64(&o, spec->sigignore);
	for (int i = 0; i < JOB_TRAITS; i++)
		cursor_put_u64(&o, spec->traits[i]);
	if (spec->flags & JOB_CTTY) {
		terminal_encode(o.at, &spec->terminal);
		o.at += TERMINAL_SIZE;
	}
	job_put_files(spec, &o);
	for (uint32_t i = 0; i < spec->ngroups; i++)
		cursor_put_u32(&o, spec->groups[i]);
	cursor_put_string(&o, spec->token);
	cursor_put_string(&o, spec->path);
	cursor_put_string(&o, spec->cwd);
	for (uint32_t i = 0; i < spec->argc; i++)
		cursor_put_string(&o, spec->argv[i]);
	for (uint32_t i = 0; i < spec->envc; i++)
		cursor_put_string(&o, spec->envp[i]);
}

/* Returns whether open files follow. */
static bool job_take_numbers(struct cursor *c, struct job_spec *spec)
{
	const uint32_t version = cursor_u32(c);

	if (version != JOB_VERSION && version != JOB_VERSION_FILES)
		cursor_fail(c);
	spec->flags = cursor_u32(c);
	spec->umask = cursor_u32(c);
	spec->nice = (int32_t)cursor_u32(c);
	spec->uid = cursor_u32(c);
	spec->gid = cursor_u32(c);
	spec->ngroups = cursor_u32(c);
	spec->argc = cursor_u32(c);
	spec->envc = cursor_u32(c);
	spec->loginuid = cursor_u32(c);
	for (int i = 0; i < JOB_RLIMITS; i++) {
		spec->rlimit[i][0] = cursor_u64(c);
		spec->rlimit[i][1] = cursor_u64(c);
	}
	spec->sigmask = cursor_u64(c);
	spec->sigignore = cursor_u64(c);
	for (int i = 0; i < JOB_TRAITS; i++)
		spec->traits[i] = cursor_u64(c);
	if (spec->flags & ~JOB_FLAGS || spec->umask & ~0777u || spec->nice < -20 ||
	    spec->nice > 19 || spec->ngroups > JOB_GROUPS_MAX || !spec->argc)
		cursor_fail(c);
	return version == JOB_VERSION_FILES;
}

/* A descriptor that is the terminal is open, and none that is /dev/null. */
static void job_take_terminal(struct cursor *c, struct job_spec *spec)
{
	uint32_t ttys = (spec->flags & JOB_TTYS) / JOB_TTY(0);
	const uint8_t *in;

	if (!(spec->flags & JOB_CTTY)) {
		if (ttys || spec->flags & JOB_BACKGROUND)
			cursor_fail(c);
		return;
	}
	in = cursor_bytes(c, TERMINAL_SIZE);
	if (ttys & ~spec->flags || ttys & spec->flags / JOB_NULL(0) || !in ||
	    terminal_decode(&spec->terminal, in, TERMINAL_SIZE))
		cursor_fail(c);
}

/* What is allocated for the lists of a specification. */
struct job_lists {
	uint32_t *groups;
	struct job_file *files;
	struct job_descriptor *descriptors;
};

/* One allocation: argv and envp, each with its NULL, and the lists. 0 or -ENOMEM. */
static int job_reserve(struct job_spec *spec, struct job_lists *l)
{
	size_t ntexts = (size_t)spec->argc + spec->envc + 2;

	_Static_assert(sizeof(char *) == sizeof(uint64_t), "files are aligned as pointers are");
	spec->argv = calloc(1, ntexts * sizeof(*spec->argv) + spec->nfiles * sizeof(*l->files) +
				       spec->ndescriptors * sizeof(*l->descriptors) +
				       4ul * spec->ngroups);
	if (!spec->argv)
		return -ENOMEM;
	spec->envp = spec->argv + spec->argc + 1;
	spec->files = l->files = (struct job_file *)(spec->argv + ntexts);
	spec->descriptors = l->descriptors = (struct job_descriptor *)(l->files + spec->nfiles);
	spec->groups = l->groups = (uint32_t *)(l->descriptors + spec->ndescriptors);
	return 0;
}

static void job_take_counts(struct cursor *c, struct job_spec *spec)
{
	spec->nfiles = cursor_u32(c);
	spec->ndescriptors = cursor_u32(c);
	if (spec->nfiles > JOB_FILES_MAX || spec->ndescriptors > JOB_DESCRIPTORS_MAX ||
	    !job_has_files(spec))
		cursor_fail(c);
}

static void job_take_file(struct cursor *c, struct job_file *f)
{
	f->kind = cursor_u32(c);
	f->flags = cursor_u32(c);
	f->offset = cursor_u64(c);
	f->ino = cursor_u64(c);
	f->place = cursor_string(c, JOB_PATH_MAX);
	f->path = cursor_string(c, JOB_PATH_MAX);
	if (f->kind >= JOB_FILE_KINDS || f->flags & ~JOB_OPEN_FLAGS ||
	    !(f->flags & (JOB_OPEN_READ | JOB_OPEN_WRITE)) || f->offset > INT64_MAX ||
	    (f->kind == JOB_REAL && f->path[0] != '/'))
		cursor_fail(c);
}

/* Whether there is such a channel, and it may be that of this descriptor. */
static bool job_leads(const struct job_spec *spec, const struct job_descriptor *d)
{
	if (d->number < 3 && (spec->flags & JOB_FD(d->number) || d->channel < JOB_CHANNEL_FIRST))
		return false;
	if (d->channel == JOB_CHANNEL_TTY)
		return spec->flags & JOB_TTYS;
	if (d->channel < JOB_CHANNEL_TTY)
		return spec->flags & JOB_FD(d->channel) && !(spec->flags & JOB_TTY(d->channel));
	return d->channel - JOB_CHANNEL_FIRST < spec->nfiles;
}

static void job_take_files(struct cursor *c, const struct job_spec *spec, struct job_lists *l)
{
	for (uint32_t i = 0; i < spec->nfiles; i++)
		job_take_file(c, &l->files[i]);
	for (uint32_t i = 0; i < spec->ndescriptors; i++) {
		struct job_descriptor *d = &l->descriptors[i];

		d->number = cursor_u32(c);
		d->channel = cursor_u32(c);
		if (d->number > JOB_NUMBER_MAX || (i && d->number <= d[-1].number) ||
		    !job_leads(spec, d))
			cursor_fail(c);
	}
}

static void job_take_groups(struct cursor *c, uint32_t *groups, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		groups[i] = cursor_u32(c);
}

static void job_take_strings(struct cursor *c, const char **list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		list[i] = cursor_string(c, FRAME_JOB_MAX);
}

uint32_t job_version(const uint8_t *in, size_t length)
{
	return length < 4 ? 0 : frame_get_u32(in);
}

int job_decode(struct job_spec *spec, const uint8_t *in, size_t length)
{
	struct cursor c = cursor_of(in, length);
	struct job_lists lists;
	bool has_files;

	memset(spec, 0, sizeof(*spec));
	if (length > FRAME_JOB_MAX)
		return -EBADMSG;
	has_files = job_take_numbers(&c, spec);
	job_take_terminal(&c, spec);
	if (has_files)
		job_take_counts(&c, spec);
	/* Each string takes at least a byte, which bounds the memory that a false count can cost. */
	if (c.bad || 4ull * spec->ngroups + spec->argc + spec->envc > cursor_left(&c))
		return -EBADMSG;
	if (job_reserve(spec, &lists))
		return -ENOMEM;
	job_take_files(&c, spec, &lists);
	job_take_groups(&c, lists.groups, spec->ngroups);
	spec->token = cursor_string(&c, JOB_TOKEN_MAX);
	spec->path = cursor_string(&c, JOB_PATH_MAX);
	spec->cwd = cursor_string(&c, JOB_PATH_MAX);
	if (!spec->token[0] || !spec->path[0] || spec->cwd[0] != '/')
		cursor_fail(&c);
	job_take_strings(&c, spec->argv, spec->argc);
	job_take_strings(&c, spec->envp, spec->envc);
	if (cursor_done(&c))
		return 0;
	job_free(spec);
	return -EBADMSG;
}

void job_free(struct job_spec *spec)
{
	free(spec->argv);
	memset(spec, 0, sizeof(*spec));
}
