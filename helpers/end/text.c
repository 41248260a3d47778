// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/end/text.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t text_read(int folder, const char *path, char *text, size_t size)
{
	int fd = openat(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : n;
}
