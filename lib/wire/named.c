// SPDX-License-Identifier: GPL-2.0-or-later
#include "named.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "cursor.h"

#define NAMED_HEAD 20 /* type, size, time (u32, u64, u64); the path with its NUL follows */

const char *named_path(const char *arg)
{
	const char *slash = strchr(arg, '/');

	if (!slash || strlen(slash) >= PATH_MAX)
		return NULL;
	if (slash == arg || arg[0] == '-' || strchr("=@:,", slash[-1]))
		return slash;
	return NULL;
}

size_t named_put(uint8_t *out, size_t room, const struct named *n)
{
	size_t length = NAMED_HEAD + strlen(n->path) + 1;
	struct cursor_out o = { out };

	if (length > room)
		return 0;
	cursor_put_u32(&o, n->type);
	cursor_put_u64(&o, n->size);
	cursor_put_u64(&o, n->mtime_ns);
	cursor_put_string(&o, n->path);
	return length;
}

int named_next(const uint8_t **at, const uint8_t *end, struct named *n)
{
	struct cursor c = cursor_of(*at, end - *at);

	if (*at == end)
		return 0;
	n->type = cursor_u32(&c);
	n->size = cursor_u64(&c);
	n->mtime_ns = cursor_u64(&c);
	n->path = cursor_string(&c, PATH_MAX - 1);
	if (c.bad || n->path[0] != '/')
		return -EBADMSG;
	*at = c.at;
	return 1;
}

int named_check(const uint8_t *list, size_t length, const char **path)
{
	const uint8_t *end;
	unsigned int count = 0;
	struct named n;
	int ret;

	*path = NULL;
	/* NULL, perhaps */
	if (!length)
		return 0;
	end = list + length;
	while ((ret = named_next(&list, end, &n)) > 0) {
		if (++count > NAMED_MAX)
			return -EBADMSG;
		if (!*path && (S_ISFIFO(n.type) || S_ISSOCK(n.type)))
			*path = n.path;
	}
	if (ret)
		return ret;
	return *path ? -EXDEV : 0;
}
