// SPDX-License-Identifier: GPL-2.0-or-later
/* Encoding of struct job_spec. */

#include "job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

#define JOB_VERSION 1
#define JOB_WORDS 9 /* u32 of the head: version … envc */
#define JOB_HEAD (JOB_WORDS * 4 + JOB_RLIMITS * 16 + 16 + JOB_TRAITS * 8)
#define JOB_TOKEN_MAX 63
#define JOB_PATH_MAX 4095

size_t job_encoded_size(const struct job_spec *spec)
{
	size_t size = JOB_HEAD + 4ul * spec->ngroups;

	if (spec->flags & JOB_TTYS)
		size += TERMINAL_SIZE;
	size += strlen(spec->token) + strlen(spec->path) + strlen(spec->cwd) + 3;
	for (uint32_t i = 0; i < spec->argc; i++)
		size += strlen(spec->argv[i]) + 1;
	for (uint32_t i = 0; i < spec->envc; i++)
		size += strlen(spec->envp[i]) + 1;
	return size > FRAME_JOB_MAX ? 0 : size;
}

static uint8_t *job_put(uint8_t *out, const char *text)
{
	size_t n = strlen(text) + 1;

	memcpy(out, text, n);
	return out + n;
}

void job_encode(const struct job_spec *spec, uint8_t *out)
{
	const uint32_t words[JOB_WORDS] = { JOB_VERSION,   spec->flags, spec->umask,
					    spec->nice,	   spec->uid,	spec->gid,
					    spec->ngroups, spec->argc,	spec->envc };

	for (int i = 0; i < JOB_WORDS; i++, out += 4)
		frame_put_u32(out, words[i]);
	for (int i = 0; i < JOB_RLIMITS; i++, out += 16) {
		frame_put_u64(out, spec->rlimit[i][0]);
		frame_put_u64(out + 8, spec->rlimit[i][1]);
	}
	frame_put_u64(out, spec->sigmask);
	frame_put_u64(out + 8, spec->sigignore);
	out += 16;
	for (int i = 0; i < JOB_TRAITS; i++, out += 8)
		frame_put_u64(out, spec->traits[i]);
	if (spec->flags & JOB_TTYS) {
		terminal_encode(out, &spec->terminal);
		out += TERMINAL_SIZE;
	}
	for (uint32_t i = 0; i < spec->ngroups; i++, out += 4)
		frame_put_u32(out, spec->groups[i]);
	out = job_put(out, spec->token);
	out = job_put(out, spec->path);
	out = job_put(out, spec->cwd);
	for (uint32_t i = 0; i < spec->argc; i++)
		out = job_put(out, spec->argv[i]);
	for (uint32_t i = 0; i < spec->envc; i++)
		out = job_put(out, spec->envp[i]);
}

struct job_cursor {
	const uint8_t *at, *end;
};

static uint32_t job_u32(struct job_cursor *c)
{
	c->at += 4;
	return frame_get_u32(c->at - 4);
}

static uint64_t job_u64(struct job_cursor *c)
{
	c->at += 8;
	return frame_get_u64(c->at - 8);
}

/* The next string, in place; NULL: its end is missing or it is longer than `most`. */
static const char *job_string(struct job_cursor *c, size_t most)
{
	const char *text = (const char *)c->at;
	const uint8_t *nul = memchr(c->at, 0, c->end - c->at);

	if (!nul || (size_t)(nul - c->at) > most)
		return NULL;
	c->at = nul + 1;
	return text;
}

/* A descriptor that is the terminal is open, and none that is /dev/null. */
static int job_terminal(struct job_spec *spec, struct job_cursor *c)
{
	uint32_t ttys = (spec->flags & JOB_TTYS) / JOB_TTY(0);

	if (!ttys)
		return spec->flags & JOB_BACKGROUND ? -EBADMSG : 0;
	if ((size_t)(c->end - c->at) < TERMINAL_SIZE || ttys & ~spec->flags ||
	    ttys & spec->flags / JOB_NULL(0))
		return -EBADMSG;
	c->at += TERMINAL_SIZE;
	return terminal_decode(&spec->terminal, c->at - TERMINAL_SIZE, TERMINAL_SIZE);
}

int job_decode(struct job_spec *spec, const uint8_t *in, size_t length)
{
	struct job_cursor c = { in, in + length };
	uint32_t *groups;
	const char **texts;
	uint64_t ntexts;

	memset(spec, 0, sizeof(*spec));
	if (length < JOB_HEAD || length > FRAME_JOB_MAX || job_u32(&c) != JOB_VERSION)
		return -EBADMSG;
	spec->flags = job_u32(&c);
	spec->umask = job_u32(&c);
	spec->nice = (int32_t)job_u32(&c);
	spec->uid = job_u32(&c);
	spec->gid = job_u32(&c);
	spec->ngroups = job_u32(&c);
	spec->argc = job_u32(&c);
	spec->envc = job_u32(&c);
	for (int i = 0; i < JOB_RLIMITS; i++) {
		spec->rlimit[i][0] = job_u64(&c);
		spec->rlimit[i][1] = job_u64(&c);
	}
	spec->sigmask = job_u64(&c);
	spec->sigignore = job_u64(&c);
	for (int i = 0; i < JOB_TRAITS; i++)
		spec->traits[i] = job_u64(&c);
	if (spec->flags & ~JOB_FLAGS || spec->umask & ~0777u || spec->nice < -20 ||
	    spec->nice > 19 || spec->ngroups > JOB_GROUPS_MAX)
		return -EBADMSG;
	if (job_terminal(spec, &c))
		return -EBADMSG;
	if (4ul * spec->ngroups > (size_t)(c.end - c.at))
		return -EBADMSG;
	/* Each string takes at least a byte, which bounds the memory that a false count can cost. */
	ntexts = (uint64_t)spec->argc + spec->envc;
	if (!spec->argc || ntexts > (size_t)(c.end - c.at) - 4ul * spec->ngroups)
		return -EBADMSG;

	texts = malloc((ntexts + 2) * sizeof(*texts) + 4ul * spec->ngroups);
	if (!texts)
		return -ENOMEM;
	groups = (uint32_t *)(texts + ntexts + 2);
	for (uint32_t i = 0; i < spec->ngroups; i++)
		groups[i] = job_u32(&c);
	spec->groups = groups;
	spec->argv = texts;
	spec->envp = texts + spec->argc + 1;
	spec->argv[spec->argc] = NULL;
	spec->envp[spec->envc] = NULL;

	spec->token = job_string(&c, JOB_TOKEN_MAX);
	spec->path = spec->token ? job_string(&c, JOB_PATH_MAX) : NULL;
	spec->cwd = spec->path ? job_string(&c, JOB_PATH_MAX) : NULL;
	if (!spec->cwd || !spec->token[0] || !spec->path[0] || spec->cwd[0] != '/')
		goto malformed;
	for (uint32_t i = 0; i < spec->argc; i++) {
		spec->argv[i] = job_string(&c, FRAME_JOB_MAX);
		if (!spec->argv[i])
			goto malformed;
	}
	for (uint32_t i = 0; i < spec->envc; i++) {
		spec->envp[i] = job_string(&c, FRAME_JOB_MAX);
		if (!spec->envp[i])
			goto malformed;
	}
	if (c.at == c.end)
		return 0;
malformed:
	job_free(spec);
	return -EBADMSG;
}

void job_free(struct job_spec *spec)
{
	free(spec->argv);
	memset(spec, 0, sizeof(*spec));
}
