// SPDX-License-Identifier: GPL-2.0-or-later
#include "durations.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/common.h"

#define MOST 20000
#define FILE_MOST (8 << 20) /* bytes that are read */

/* {"version":1,"commands":{"KEY":[seconds, time of the last run]}} */
struct durations {
	json_t *commands;
	bool changed;
};

/* The directory, which is made if `make`. 0 or -errno. */
static int folder(char *path, size_t size, bool make)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int length;

	if (state && *state == '/')
		length = snprintf(path, size, "%s/ehsched", state);
	else
		length = snprintf(path, size, "%s/.local/state/ehsched", home ? home : "/");
	if (length < 0 || (size_t)length >= size)
		return -ENAMETOOLONG;
	for (char *at = path + 1; make && at; at++) {
		at = strchr(at, '/');
		if (at)
			*at = '\0';
		if (mkdir(path, 0700) && errno != EEXIST)
			return -errno;
		if (!at)
			break;
		*at = '/';
	}
	return 0;
}

static json_t *read_commands(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	json_t *document = NULL, *commands = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < FILE_MOST)
		document = json_loadfd(fd, 0, NULL);
	close(fd);
	if (json_integer_value(json_object_get(document, "version")) == 1)
		commands = json_incref(json_object_get(document, "commands"));
	json_decref(document);
	if (json_is_object(commands))
		return commands;
	json_decref(commands);
	return NULL;
}

struct durations *durations_open(void)
{
	struct durations *d = calloc(1, sizeof(*d));
	char path[4096];

	if (!d)
		return NULL;
	if (!folder(path, sizeof(path) - 20, false)) {
		strcat(path, "/durations.json");
		d->commands = read_commands(path);
	}
	if (!d->commands)
		d->commands = json_object();
	return d;
}

double durations_get(const struct durations *d, uint64_t key)
{
	char name[20];
	const json_t *seconds;

	snprintf(name, sizeof(name), "%016" PRIx64, key);
	seconds = json_array_get(json_object_get(d->commands, name), 0);
	return json_is_number(seconds) && json_number_value(seconds) >= 0
		       ? json_number_value(seconds)
		       : -1;
}

void durations_put(struct durations *d, uint64_t key, double seconds)
{
	double known = durations_get(d, key);
	char name[20];

	snprintf(name, sizeof(name), "%016" PRIx64, key);
	json_object_set_new(d->commands, name,
			    json_pack("[f, I]", known < 0 ? seconds : (known + seconds) / 2,
				      (json_int_t)time(NULL)));
	d->changed = true;
}

static json_int_t ran_at(const json_t *entry)
{
	return json_integer_value(json_array_get(entry, 1));
}

static int by_time(const void *a, const void *b)
{
	json_int_t x = *(const json_int_t *)a, y = *(const json_int_t *)b;

	return x < y ? -1 : x > y;
}

/* Removes the oldest beyond the bound. */
static void forget(struct durations *d)
{
	size_t count = json_object_size(d->commands), i = 0;
	json_int_t *times, least;
	const char *key;
	json_t *entry;
	void *next;

	if (count <= MOST)
		return;
	times = malloc(count * sizeof(*times));
	if (!times) {
		json_object_clear(d->commands);
		return;
	}
	json_object_foreach(d->commands, key, entry)
		times[i++] = ran_at(entry);
	qsort(times, count, sizeof(*times), by_time);
	least = times[count - MOST];
	free(times);
	json_object_foreach_safe(d->commands, next, key, entry)
		if (ran_at(entry) < least)
			json_object_del(d->commands, key);
	/* many of the same second */
	json_object_foreach_safe(d->commands, next, key, entry)
		if (json_object_size(d->commands) > MOST)
			json_object_del(d->commands, key);
}

static int write_file(const json_t *commands)
{
	char path[4096], other[4096 + 24];
	json_t *document;
	int fd, err = folder(path, sizeof(path) - 20, true);

	if (err)
		return err;
	strcat(path, "/durations.json");
	snprintf(other, sizeof(other), "%s.%d", path, getpid());
	fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	document = json_pack("{s:i, s:O}", "version", 1, "commands", commands);
	if (!document || json_dumpfd(document, fd, JSON_COMPACT | JSON_REAL_PRECISION(6)) ||
	    fsync(fd))
		err = -EIO;
	json_decref(document);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(other, path))
		err = -errno;
	if (err)
		unlink(other);
	return err;
}

void durations_close(struct durations *d)
{
	int err;

	if (!d)
		return;
	forget(d);
	err = d->changed ? write_file(d->commands) : 0;
	if (err)
		fail(0, "what tasks took is not kept for the next plan: durations.json: %s",
		     strerror(-err));
	json_decref(d->commands);
	free(d);
}
