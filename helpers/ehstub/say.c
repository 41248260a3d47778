// SPDX-License-Identifier: GPL-2.0-or-later
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"
#include "helpers/end/calls.h"
#include "wire/clean.h"

#define SAY_MS 1000
#define SAY_LINE (PATH_MAX + 1024) /* of a message */

void say_line(const char *const *parts, int n)
{
	const int64_t until = calls_now() + SAY_MS;
	int64_t left = SAY_MS;
	char line[SAY_LINE];
	size_t length = 0, at = 0;
	struct pollfd p = { .events = POLLOUT };
	enum kind kind = KIND_OTHER;
	ssize_t done = 0;

	/* Names of users and words of other nodes are in it. In one piece, so that what others say is not in between. */
	for (int i = 0; i < n; i++) {
		clean_text(line + length, sizeof(line) - length, parts[i]);
		length += strlen(line + length);
	}
	line[length++] = '\n';
	p.fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
	if (p.fd >= 0)
		kind = descriptor_adopt(p.fd);
	else
		p.fd = 2;
	/* A terminal may be held by its user, a pipe be full: nobody can be told then. */
	while (at < length && left > 0 && (done >= 0 || done == -EAGAIN) &&
	       poll(&p, 1, (int)left) > 0) {
		done = descriptor_write(p.fd, kind, (const uint8_t *)line + at, length - at);
		if (done > 0)
			at += done;
		left = until - calls_now();
	}
	if (p.fd != 2)
		close(p.fd);
}
