// SPDX-License-Identifier: GPL-2.0-or-later
#include "helpers/end/names.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "wire/frame.h"
#include "wire/named.h"

static int names_look(const char *path, struct named *n)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	*n = (struct named){ .type = st.st_mode & S_IFMT, .path = path };
	/* Sizes and times of directories differ even between hosts installed alike. */
	if (S_ISREG(st.st_mode)) {
		n->size = st.st_size;
		n->mtime_ns = st.st_mtim.tv_sec * 1000000000ull + st.st_mtim.tv_nsec;
	}
	return 0;
}

/* What the task itself has open, which is carried, or keeps it at home. */
static bool names_is_own(const char *path)
{
	static const char *const own[] = { "/dev/fd/", "/dev/std", "/proc/self/",
					   "/proc/thread-self/" };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strncmp(path, own[i], strlen(own[i])))
			return true;
	return false;
}

size_t names_make(char *const *argv, uint8_t *out)
{
	unsigned int count = 0;
	size_t length = 0, n;

	for (int i = 1; argv[0] && argv[i] && count < NAMED_MAX; i++) {
		const char *path = named_path(argv[i]);
		struct named file;

		if (!path || names_is_own(path) || names_look(path, &file))
			continue;
		n = named_put(out + length, FRAME_NAMED_MAX - length, &file);
		if (!n)
			break;
		length += n;
		count++;
	}
	return length;
}

int names_compare(const uint8_t *list, size_t length, const char **path)
{
	const uint8_t *end = list + length;
	struct named there, here = { 0 };
	int ret;

	while ((ret = named_next(&list, end, &there)) > 0) {
		*path = there.path;
		if (names_look(there.path, &here) || here.type != there.type ||
		    here.size != there.size || here.mtime_ns != there.mtime_ns)
			return -EXDEV;
	}
	return ret;
}
