// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/argfiles.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "wire/frame.h"
#include "wire/job.h"

/* Each costs a stat() and perhaps a round trip. Enough for a linker's command line. */
#define ARGFILES_MAX 128
#define ARGFILES_HEAD 20 /* type, size, time (u32, u64, u64); the path with its NUL follows */

/*
 * The path in "/x", "-I/x", "--name=/x", "if=/x", "@/x", "a:/x". Relative paths depend on the
 * working directory, which is compared anyway.
 */
static const char *argfiles_path(const char *arg)
{
	const char *slash = strchr(arg, '/');

	if (!slash || strlen(slash) >= PATH_MAX)
		return NULL;
	if (slash == arg || arg[0] == '-' || strchr("=@:,", slash[-1]))
		return slash;
	return NULL;
}

static uint64_t argfiles_time(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000ull + st->st_mtim.tv_nsec;
}

static void argfiles_put(uint8_t *out, const struct stat *st)
{
	/* Sizes and times of directories differ even between hosts installed alike. */
	uint64_t size = S_ISREG(st->st_mode) ? st->st_size : 0;
	uint64_t when = S_ISREG(st->st_mode) ? argfiles_time(st) : 0;

	frame_put_u32(out, st->st_mode & S_IFMT);
	frame_put_u32(out + 4, size);
	frame_put_u32(out + 8, size >> 32);
	frame_put_u32(out + 12, when);
	frame_put_u32(out + 16, when >> 32);
}

int argfiles_encode(const struct job_spec *spec, uint8_t **payload, size_t *length,
		    const char **path)
{
	unsigned int count = 0;
	uint8_t *list = NULL, *grown;
	struct stat st;
	int err;
	size_t n;

	*payload = NULL;
	*length = 0;
	for (uint32_t i = 1; i < spec->argc && count < ARGFILES_MAX; i++) {
		*path = argfiles_path(spec->argv[i]);
		if (!*path || stat(*path, &st))
			continue;
		/* It may be visible there too, but what is written to it arrives only here. */
		err = -EXDEV;
		if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
			goto free_list;
		n = strlen(*path) + 1;
		if (*length + ARGFILES_HEAD + n > frame_limit(FRAME_NAMED))
			break;
		err = -ENOMEM;
		grown = realloc(list, *length + ARGFILES_HEAD + n);
		if (!grown)
			goto free_list;
		list = grown;
		argfiles_put(list + *length, &st);
		memcpy(list + *length + ARGFILES_HEAD, *path, n);
		*length += ARGFILES_HEAD + n;
		count++;
	}
	*payload = list;
	return 0;

free_list:
	free(list);
	*length = 0;
	return err;
}

int argfiles_check(const uint8_t *payload, size_t length, const char **path)
{
	uint8_t here[ARGFILES_HEAD];
	struct stat st;

	if (!length)
		return 0;
	for (const uint8_t *end = payload + length; payload < end;) {
		const uint8_t *nul;

		if ((size_t)(end - payload) <= ARGFILES_HEAD)
			return -EPROTO;
		*path = (const char *)payload + ARGFILES_HEAD;
		nul = memchr(*path, '\0', end - payload - ARGFILES_HEAD);
		if (!nul || **path != '/')
			return -EPROTO;
		if (stat(*path, &st))
			return -EXDEV;
		argfiles_put(here, &st);
		if (memcmp(here, payload, ARGFILES_HEAD))
			return -EXDEV;
		payload = nul + 1;
	}
	return 0;
}
