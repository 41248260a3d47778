// SPDX-License-Identifier: GPL-2.0-or-later
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/common.h"

static int write_line(int fd, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	size_t length = text ? strlen(text) : 0;
	int err = text ? 0 : -ENOMEM;

	json_decref(line);
	if (text) {
		/* one write: lines of several processes do not mix */
		text[length] = '\n';
		if (write(fd, text, length + 1) != (ssize_t)length + 1)
			err = errno ? -errno : -EIO;
	}
	free(text);
	return err;
}

int journal_sync(int fd)
{
	return fdatasync(fd) ? -errno : 0;
}

int journal_write(int fd, const char *task, uint64_t key, const char *host, int code,
		  double seconds)
{
	char digest[20];

	snprintf(digest, sizeof(digest), "%016" PRIx64, key);
	return write_line(fd, json_pack("{s:s, s:s, s:s, s:i, s:f}", "end", task, "command", digest,
					"host", host, "code", code, "seconds", seconds));
}

/* Lines that are not ends, or were cut off by a power failure, are left out; one of which only the end of the line is
 * missing is whole. Returns whether the last one was cut off. */
static bool read_lines(int fd, journal_ended ended, void *ctx)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *file = own < 0 ? NULL : fdopen(own, "r");
	bool torn = false;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while (file && (n = getline(&line, &room, file)) > 0) {
		json_t *entry = json_loadb(line, n, 0, NULL);
		const char *task = json_string_value(json_object_get(entry, "end"));
		const char *key = json_string_value(json_object_get(entry, "command"));

		torn = line[n - 1] != '\n';
		if (task && key)
			ended(ctx, task, strtoull(key, NULL, 16),
			      (int)json_integer_value(json_object_get(entry, "code")));
		json_decref(entry);
	}
	free(line);
	if (file)
		fclose(file);
	else if (own >= 0)
		close(own);
	return torn;
}

/* Whether it is empty, or begins as journals do. */
static bool is_journal(int fd)
{
	char begin[96];
	ssize_t n = pread(fd, begin, sizeof(begin), 0);
	const char *end = n > 0 ? memchr(begin, '\n', n) : NULL;
	json_t *line = end ? json_loadb(begin, end - begin, 0, NULL) : NULL;
	bool is = !n || (json_object_get(line, "version") && json_object_get(line, "run"));

	json_decref(line);
	return is;
}

/* What another user wrote says nothing of what is done, and no other file is emptied by mistake. */
static int check(int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return fail(EXIT_REFUSED, "%s: not a regular file; --journal names another one",
			    path);
	if (st.st_uid != geteuid())
		return fail(EXIT_REFUSED, "%s: it belongs to user %u; --journal names another file",
			    path, (unsigned int)st.st_uid);
	if (!is_journal(fd))
		return fail(EXIT_REFUSED,
			    "%s: not a journal; remove it, or name another file by --journal",
			    path);
	return 0;
}

/* 0 or an exit code after a message. */
static int lock(int fd, const char *path, bool resume)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return fail(EXIT_REFUSED, "%s: %s", path, strerror(errno));
	if (!resume)
		return fail(EXIT_REFUSED,
			    "%s: another run uses it, or tasks of one that was killed still run; "
			    "--resume waits for them and continues",
			    path);
	fail(0, "waiting for the tasks of an earlier run");
	while (flock(fd, LOCK_EX))
		if (errno != EINTR)
			return fail(EXIT_REFUSED, "%s: %s", path, strerror(errno));
	return 0;
}

int journal_open(const char *path, bool resume, journal_ended ended, void *ctx, int *code)
{
	/* Beside a file of others it may be a link that they made, to a file that this would empty. */
	int fd =
		open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
	bool torn = false;
	int err = 0;

	if (fd < 0) {
		*code = fail(EXIT_REFUSED, "%s: %s; --journal names another file", path,
			     strerror(errno));
		return -1;
	}
	*code = check(fd, path);
	if (!*code)
		*code = lock(fd, path, resume);
	if (*code)
		goto close_fd;
	if (resume)
		torn = read_lines(fd, ended, ctx);
	else if (ftruncate(fd, 0))
		err = -errno;
	if (torn && write(fd, "\n", 1) != 1)
		err = -errno;
	if (!err)
		err = write_line(fd, json_pack("{s:i, s:i}", "version", 1, "run", (int)getpid()));
	if (!err)
		err = journal_sync(fd);
	if (!err)
		return fd;
	*code = fail(EXIT_REFUSED, "%s: %s", path, strerror(-err));
close_fd:
	close(fd);
	return -1;
}
