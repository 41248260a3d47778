// SPDX-License-Identifier: GPL-2.0-or-later
#include "handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct handle *handles;

struct handle *handle_find(uint32_t id)
{
	struct handle *h;

	HASH_FIND(hh, handles, &id, sizeof(id), h);
	return h;
}

/* Its name may have been given to another file. */
static bool handle_is_at(const struct handle *h, struct folder *f)
{
	int dir = folder_fd(f);
	struct stat st;

	return dir >= 0 && !fstatat(dir, h->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) &&
	       st.st_dev == h->dev && st.st_ino == h->ino;
}

bool handle_writes(struct folder *f, const char *name)
{
	const struct folder *of;

	for (const struct handle *h = handles; h; h = h->hh.next) {
		if (!h->writes || strcmp(h->name, name))
			continue;
		of = folder_find(h->dir);
		if (of && of->wd == f->wd && handle_is_at(h, f))
			return true;
	}
	return false;
}

int handle_add(const message *m, int fd, const struct files_attr *attr)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h)
		return ENOMEM;
	h->id = m->handle2;
	h->fd = fd;
	h->writes = S_ISREG(attr->mode) && (m->flags & O_ACCMODE) != O_RDONLY;
	h->dev = attr->dev;
	h->ino = attr->ino;
	h->dir = m->dir;
	strcpy(h->name, m->name);
	HASH_ADD(hh, handles, id, sizeof(h->id), h);
	return 0;
}

void handle_failed(const struct handle *of, int error)
{
	for (struct handle *h = handles; h; h = h->hh.next)
		if (h->writes && h->dev == of->dev && h->ino == of->ino)
			h->error = error;
}

bool handle_drop(struct handle *h)
{
	const struct handle *other;

	HASH_DEL(handles, h);
	for (other = handles; other; other = other->hh.next)
		if (other->dev == h->dev && other->ino == h->ino)
			break;
	free(h);
	return !other;
}
