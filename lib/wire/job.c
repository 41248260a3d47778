// SPDX-License-Identifier: GPL-2.0-or-later
/* Encoding of struct job_spec. */

#include "job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "frame.h"

#define JOB_VERSION 3
#define JOB_WORDS 10 /* u32 of the head: version … loginuid */
#define JOB_HEAD (JOB_WORDS * 4 + JOB_RLIMITS * 16 + 16 + JOB_TRAITS * 8)
#define JOB_TOKEN_MAX 63
#define JOB_PATH_MAX 4095

size_t job_encoded_size(const struct job_spec *spec)
{
	size_t size = JOB_HEAD + 4ul * spec->ngroups;

	if (spec->flags & JOB_CTTY)
		size += TERMINAL_SIZE;
	size += strlen(spec->token) + strlen(spec->path) + strlen(spec->cwd) + 3;
	for (uint32_t i = 0; i < spec->argc; i++)
		size += strlen(spec->argv[i]) + 1;
	for (uint32_t i = 0; i < spec->envc; i++)
		size += strlen(spec->envp[i]) + 1;
	return size > FRAME_JOB_MAX ? 0 : size;
}

void job_encode(const struct job_spec *spec, uint8_t *out)
{
	const uint32_t words[JOB_WORDS] = { JOB_VERSION, spec->flags,	spec->umask,   spec->nice,
					    spec->uid,	 spec->gid,	spec->ngroups, spec->argc,
					    spec->envc,	 spec->loginuid };
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

static void job_take_numbers(struct cursor *c, struct job_spec *spec)
{
	if (cursor_u32(c) != JOB_VERSION)
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

/* One allocation for argv and envp, each with its NULL, and the groups, which are returned. */
static uint32_t *job_reserve(struct job_spec *spec)
{
	size_t ntexts = (size_t)spec->argc + spec->envc + 2;
	uint32_t *groups;

	spec->argv = calloc(1, ntexts * sizeof(*spec->argv) + 4ul * spec->ngroups);
	if (!spec->argv)
		return NULL;
	spec->envp = spec->argv + spec->argc + 1;
	groups = (uint32_t *)(spec->argv + ntexts);
	spec->groups = groups;
	return groups;
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

int job_decode(struct job_spec *spec, const uint8_t *in, size_t length)
{
	struct cursor c = cursor_of(in, length);
	uint32_t *groups;

	memset(spec, 0, sizeof(*spec));
	if (length > FRAME_JOB_MAX)
		return -EBADMSG;
	job_take_numbers(&c, spec);
	job_take_terminal(&c, spec);
	/* Each string takes at least a byte, which bounds the memory that a false count can cost. */
	if (c.bad || 4ull * spec->ngroups + spec->argc + spec->envc > cursor_left(&c))
		return -EBADMSG;
	groups = job_reserve(spec);
	if (!groups)
		return -ENOMEM;
	job_take_groups(&c, groups, spec->ngroups);
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
