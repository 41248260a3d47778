// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/common/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MOUNTINFO_MAX (4u << 20) /* bytes that are looked at */

/* Type and source in a line of this device, "ID PARENT MAJOR:MINOR … - TYPE SOURCE …"; NULL: it is of another. */
static const char *mountinfo_take(const char *line, dev_t device, size_t *length)
{
	const char *at = strchr(line, ' ');
	unsigned long high, low;
	char *end;

	at = at ? strchr(at + 1, ' ') : NULL;
	if (!at)
		return NULL;
	high = strtoul(at + 1, &end, 10);
	if (*end != ':')
		return NULL;
	low = strtoul(end + 1, &end, 10);
	at = high == major(device) && low == minor(device) ? strstr(end, " - ") : NULL;
	if (!at)
		return NULL;
	at += 3;
	*length = strcspn(at, " ");
	if (at[*length])
		*length += 1 + strcspn(at + *length + 1, " ");
	return at;
}

int mountinfo_find(dev_t device, char *out, size_t size)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	size_t have = 0, length = 0;
	const char *at = NULL;
	char *all;
	ssize_t n;

	if (fd < 0)
		return -errno;
	all = mmap(NULL, MOUNTINFO_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	/* The last byte stays a NUL. */
	while ((n = read(fd, all + have, MOUNTINFO_MAX - 1 - have)) > 0)
		have += n;
	close(fd);
	for (char *line = strtok(all, "\n"); line && !at; line = strtok(NULL, "\n"))
		at = mountinfo_take(line, device, &length);
	if (at) {
		have = length < size ? length : size - 1;
		memcpy(out, at, have);
		out[have] = '\0';
	}
	munmap(all, MOUNTINFO_MAX);
	return at ? (int)length : 0;
}
