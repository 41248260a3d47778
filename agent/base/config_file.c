// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_FILE_MAX (4 << 20)

/* libconfuse 3.3 counts the line of a comment three times, so it gets to see none. */
static void config_file_blank_comments(char *text)
{
	char quote = 0;

	for (; *text; text++) {
		if (quote) {
			if (*text == '\\' && text[1])
				text++;
			else if (*text == quote)
				quote = 0;
		} else if (*text == '"' || *text == '\'') {
			quote = *text;
		} else if (*text == '#') {
			while (*text && *text != '\n')
				*text++ = ' ';
			if (!*text)
				return;
		}
	}
}

/* libconfuse would end the process on a read error (of a directory, say): a reload must not. */
char *config_file_read(const char *file, FILE *errors)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st)) {
		fprintf(errors, "%s:1: cannot read: %s\n", file, strerror(errno));
		goto close_file;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > CONFIG_FILE_MAX) {
		fprintf(errors, "%s:1: not a regular file, or larger than %d bytes\n", file,
			CONFIG_FILE_MAX);
		goto close_file;
	}
	text = malloc(st.st_size + 1);
	n = text ? read(fd, text, st.st_size) : -1;
	if (n < 0 || memchr(text, 0, n)) {
		fprintf(errors, "%s:1: cannot read: %s\n", file,
			n < 0 ? strerror(errno) : "not a text file");
		free(text);
		text = NULL;
		goto close_file;
	}
	text[n] = '\0';
	config_file_blank_comments(text);
close_file:
	if (fd >= 0)
		close(fd);
	return text;
}

/* In a directory of root's that all may write to, as /tmp, nobody can move what is root's. */
static bool config_file_is_safe(const char *path, char why[CONFIG_FILE_WHY])
{
	struct stat st;

	if (stat(path, &st)) {
		snprintf(why, CONFIG_FILE_WHY, "%s:1: cannot read: %s", path, strerror(errno));
		return false;
	}
	if (!st.st_uid &&
	    (!(st.st_mode & (S_IWGRP | S_IWOTH)) || (S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX)))
		return true;
	snprintf(why, CONFIG_FILE_WHY,
		 "%s:1: others than root can change it, and with it who may be what on this host: "
		 "chown root, chmod go-w",
		 path);
	return false;
}

bool config_file_is_roots(const char *file, char real[PATH_MAX], char why[CONFIG_FILE_WHY])
{
	char above[PATH_MAX];
	const char *path = real;

	if (!realpath(file, real)) {
		snprintf(why, CONFIG_FILE_WHY, "%s:1: cannot read: %s", file, strerror(errno));
		return false;
	}
	/* The file, and each directory above, the last of which is "/". */
	strcpy(above, real);
	while (config_file_is_safe(path, why)) {
		if (!path[1])
			return true;
		path = dirname(above);
	}
	return false;
}
