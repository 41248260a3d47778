// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/config_file.h"

#include <errno.h>
#include <fcntl.h>
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
