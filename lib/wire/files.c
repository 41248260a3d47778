// SPDX-License-Identifier: GPL-2.0-or-later
#include "files.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cursor.h"
#include "frame.h"

#define REF (FILES_F_HANDLE | FILES_F_DIR | FILES_F_INO | FILES_F_NAME)
#define ENTRY (FILES_F_DIR | FILES_F_NAME)
#define FILES_ERROR_MAX 4095 /* MAX_ERRNO of Linux */

static const uint32_t files_asked[FILES_OPS] = {
	[FILES_KNOW] = ENTRY | FILES_F_OFFSET | FILES_F_INO,
	[FILES_FORGET] = FILES_F_DIR,
	[FILES_LIST] = FILES_F_DIR,
	[FILES_LOOK] = ENTRY,
	[FILES_STAT] = REF,
	[FILES_SET] =
		REF | FILES_F_FLAGS | FILES_F_MODE | FILES_F_OWNERS | FILES_F_SIZE | FILES_F_TIMES,
	[FILES_READLINK] = REF,
	[FILES_OPEN] = REF | FILES_F_HANDLE2 | FILES_F_FLAGS | FILES_F_SIZE | FILES_F_TIMES,
	[FILES_CREATE] = ENTRY | FILES_F_HANDLE2 | FILES_F_FLAGS | FILES_F_MODE,
	[FILES_READ] = FILES_F_HANDLE | FILES_F_OFFSET | FILES_F_SIZE,
	[FILES_WRITE] = FILES_F_HANDLE | FILES_F_OFFSET | FILES_F_DATA,
	[FILES_FLUSH] = FILES_F_HANDLE | FILES_F_OWNER,
	[FILES_FSYNC] = FILES_F_HANDLE | FILES_F_FLAGS,
	[FILES_CLOSE] = FILES_F_HANDLE,
	[FILES_READDIR] = FILES_F_HANDLE | FILES_F_OFFSET | FILES_F_SIZE,
	[FILES_MKDIR] = ENTRY | FILES_F_MODE,
	[FILES_MKNOD] = ENTRY | FILES_F_MODE | FILES_F_SIZE,
	[FILES_SYMLINK] = ENTRY | FILES_F_TEXT,
	[FILES_LINK] = REF | FILES_F_DIR2 | FILES_F_TEXT,
	[FILES_UNLINK] = ENTRY,
	[FILES_RMDIR] = ENTRY,
	[FILES_RENAME] = ENTRY | FILES_F_INO | FILES_F_DIR2 | FILES_F_TEXT | FILES_F_FLAGS,
	[FILES_STATFS] = REF,
	[FILES_ACCESS] = REF | FILES_F_MODE,
	[FILES_GETXATTR] = REF | FILES_F_TEXT | FILES_F_SIZE,
	[FILES_SETXATTR] = REF | FILES_F_TEXT | FILES_F_FLAGS | FILES_F_DATA,
	[FILES_LISTXATTR] = REF | FILES_F_SIZE,
	[FILES_REMOVEXATTR] = REF | FILES_F_TEXT,
	[FILES_LOCK] = FILES_F_HANDLE | FILES_F_OWNER | FILES_F_MODE | FILES_F_FLAGS |
		       FILES_F_OFFSET | FILES_F_SIZE,
	[FILES_FLOCK] = FILES_F_HANDLE | FILES_F_MODE,
	[FILES_FALLOCATE] = FILES_F_HANDLE | FILES_F_MODE | FILES_F_OFFSET | FILES_F_SIZE,
	[FILES_NEWS] = ENTRY | FILES_F_FLAGS | FILES_F_INO | FILES_F_OFFSET,
};

static const uint32_t files_answered[FILES_OPS] = {
	[FILES_LIST] = FILES_F_FLAGS | FILES_F_DATA,
	[FILES_LOOK] = FILES_F_ATTR,
	[FILES_STAT] = FILES_F_ATTR,
	[FILES_SET] = FILES_F_ATTR,
	[FILES_READLINK] = FILES_F_TEXT,
	[FILES_OPEN] = FILES_F_ATTR | FILES_F_FLAGS | FILES_F_DATA,
	[FILES_CREATE] = FILES_F_ATTR,
	[FILES_READ] = FILES_F_DATA,
	[FILES_READDIR] = FILES_F_DATA,
	[FILES_MKDIR] = FILES_F_ATTR,
	[FILES_MKNOD] = FILES_F_ATTR,
	[FILES_SYMLINK] = FILES_F_ATTR,
	[FILES_LINK] = FILES_F_ATTR,
	[FILES_STATFS] = FILES_F_DATA,
	[FILES_GETXATTR] = FILES_F_DATA | FILES_F_SIZE,
	[FILES_LISTXATTR] = FILES_F_DATA | FILES_F_SIZE,
	[FILES_LOCK] = FILES_F_MODE | FILES_F_OFFSET | FILES_F_SIZE | FILES_F_OWNER,
};

/* An answer with an error has only that. */
static uint32_t files_fields(uint32_t op, int32_t error)
{
	if (op & FILES_ANSWER)
		return error ? 0 : files_answered[op & ~FILES_ANSWER];
	return files_asked[op];
}

/* How a field is written. */
enum files_kind {
	FILES_U32,
	FILES_U64,
	FILES_TIME, /* struct files_time */
	FILES_ATTRIBUTES, /* struct files_attr */
	FILES_NAME, /* one component: no slash, "." or ".." */
	FILES_TEXT,
};

struct files_slot {
	enum files_field field;
	enum files_kind kind;
	size_t offset; /* in struct files_message */
};

#define AT(member) offsetof(struct files_message, member)

/* The order of the wire: a line for each. */
/* clang-format off */
static const struct files_slot files_slots[] = {
	{ FILES_F_HANDLE, FILES_U32, AT(handle) },
	{ FILES_F_DIR, FILES_U64, AT(dir) },
	{ FILES_F_INO, FILES_U64, AT(ino) },
	{ FILES_F_HANDLE2, FILES_U32, AT(handle2) },
	{ FILES_F_DIR2, FILES_U64, AT(dir2) },
	{ FILES_F_OFFSET, FILES_U64, AT(offset) },
	{ FILES_F_SIZE, FILES_U64, AT(size) },
	{ FILES_F_OWNER, FILES_U64, AT(owner) },
	{ FILES_F_FLAGS, FILES_U32, AT(flags) },
	{ FILES_F_MODE, FILES_U32, AT(mode) },
	{ FILES_F_OWNERS, FILES_U32, AT(uid) },
	{ FILES_F_OWNERS, FILES_U32, AT(gid) },
	{ FILES_F_TIMES, FILES_TIME, AT(times[0]) },
	{ FILES_F_TIMES, FILES_TIME, AT(times[1]) },
	{ FILES_F_ATTR, FILES_ATTRIBUTES, AT(attr) },
	{ FILES_F_NAME, FILES_NAME, AT(name) },
	{ FILES_F_TEXT, FILES_TEXT, AT(text) },
};
/* clang-format on */
#define FILES_SLOTS (sizeof(files_slots) / sizeof(files_slots[0]))

/* ---- out ---- */

static void files_put_time(struct cursor_out *o, const struct files_time *t)
{
	cursor_put_u64(o, t->sec);
	cursor_put_u32(o, t->nsec);
}

static void files_put_text(struct cursor_out *o, const char *text, size_t most)
{
	size_t n = strnlen(text, most);

	cursor_put_u16(o, n);
	cursor_put_bytes(o, text, n);
}

static void files_put_attr(struct cursor_out *o, const struct files_attr *a)
{
	cursor_put_u64(o, a->dev);
	cursor_put_u64(o, a->ino);
	cursor_put_u64(o, a->size);
	cursor_put_u64(o, a->blocks);
	cursor_put_u64(o, a->rdev);
	cursor_put_u32(o, a->mode);
	cursor_put_u32(o, a->nlink);
	cursor_put_u32(o, a->uid);
	cursor_put_u32(o, a->gid);
	cursor_put_u32(o, a->blksize);
	files_put_time(o, &a->atime);
	files_put_time(o, &a->mtime);
	files_put_time(o, &a->ctime);
}

static void files_put_slot(struct cursor_out *o, enum files_kind kind, const void *from)
{
	switch (kind) {
	case FILES_U32:
		cursor_put_u32(o, *(const uint32_t *)from);
		break;
	case FILES_U64:
		cursor_put_u64(o, *(const uint64_t *)from);
		break;
	case FILES_TIME:
		files_put_time(o, from);
		break;
	case FILES_ATTRIBUTES:
		files_put_attr(o, from);
		break;
	case FILES_NAME:
		files_put_text(o, from, FILES_NAME_MAX);
		break;
	case FILES_TEXT:
		files_put_text(o, from, FILES_TEXT_MAX);
		break;
	}
}

size_t files_encode(uint8_t out[FILES_HEAD_MAX], const struct files_message *m)
{
	uint32_t fields = files_fields(m->op, m->error);
	struct cursor_out o = { out + FILES_HEADER };
	size_t length;

	for (size_t i = 0; i < FILES_SLOTS; i++)
		if (fields & files_slots[i].field)
			files_put_slot(&o, files_slots[i].kind,
				       (const char *)m + files_slots[i].offset);
	length = o.at - out;
	o.at = out;
	cursor_put_u32(&o, length - FILES_HEADER + (fields & FILES_F_DATA ? m->length : 0));
	cursor_put_u32(&o, m->op);
	cursor_put_u32(&o, m->tag);
	cursor_put_u32(&o, m->error);
	return length;
}

/* ---- in ---- */

static void files_take_time(struct cursor *c, struct files_time *t)
{
	t->sec = cursor_u64(c);
	t->nsec = cursor_u32(c);
}

static void files_take_text(struct cursor *c, char *text, size_t most)
{
	size_t n = cursor_u16(c);
	const uint8_t *bytes = cursor_bytes(c, n);

	text[0] = '\0';
	if (!bytes || n > most || memchr(bytes, 0, n)) {
		cursor_fail(c);
		return;
	}
	memcpy(text, bytes, n);
	text[n] = '\0';
}

static void files_take_name(struct cursor *c, char *name)
{
	files_take_text(c, name, FILES_NAME_MAX);
	if (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		cursor_fail(c);
}

static void files_take_attr(struct cursor *c, struct files_attr *a)
{
	a->dev = cursor_u64(c);
	a->ino = cursor_u64(c);
	a->size = cursor_u64(c);
	a->blocks = cursor_u64(c);
	a->rdev = cursor_u64(c);
	a->mode = cursor_u32(c);
	a->nlink = cursor_u32(c);
	a->uid = cursor_u32(c);
	a->gid = cursor_u32(c);
	a->blksize = cursor_u32(c);
	files_take_time(c, &a->atime);
	files_take_time(c, &a->mtime);
	files_take_time(c, &a->ctime);
}

static void files_take_slot(struct cursor *c, enum files_kind kind, void *to)
{
	switch (kind) {
	case FILES_U32:
		*(uint32_t *)to = cursor_u32(c);
		break;
	case FILES_U64:
		*(uint64_t *)to = cursor_u64(c);
		break;
	case FILES_TIME:
		files_take_time(c, to);
		break;
	case FILES_ATTRIBUTES:
		files_take_attr(c, to);
		break;
	case FILES_NAME:
		files_take_name(c, to);
		break;
	case FILES_TEXT:
		files_take_text(c, to, FILES_TEXT_MAX);
		break;
	}
}

long files_length(const uint8_t *in, size_t length)
{
	uint32_t body;

	if (length < FILES_HEADER)
		return 0;
	body = frame_get_u32(in);
	return body <= FILES_BODY_MAX ? (long)body + FILES_HEADER : -EPROTO;
}

/* Attributes and times are large, and nobody reads them where they were not sent. */
static void files_clear(struct files_message *m)
{
	m->handle = m->handle2 = m->flags = m->mode = m->uid = m->gid = 0;
	m->dir = m->dir2 = m->ino = m->offset = m->size = m->owner = 0;
	m->name[0] = m->text[0] = '\0';
}

int files_decode(struct files_message *m, const uint8_t *in, size_t length)
{
	struct cursor c = cursor_of(in, length);
	uint32_t op, fields;

	if (files_length(in, length) != (long)length)
		return -EPROTO;
	cursor_u32(&c); /* the length */
	m->op = cursor_u32(&c);
	m->tag = cursor_u32(&c);
	m->error = cursor_u32(&c);
	op = m->op & ~FILES_ANSWER;
	files_clear(m);
	m->data = c.end;
	m->length = 0;
	if (!op || op >= FILES_OPS || m->error < 0 || m->error > FILES_ERROR_MAX ||
	    (m->error && !(m->op & FILES_ANSWER)))
		return -EPROTO;
	fields = files_fields(m->op, m->error);
	for (size_t i = 0; i < FILES_SLOTS; i++)
		if (fields & files_slots[i].field)
			files_take_slot(&c, files_slots[i].kind, (char *)m + files_slots[i].offset);
	if (fields & FILES_F_DATA) {
		m->length = cursor_left(&c);
		m->data = cursor_bytes(&c, m->length);
	}
	return cursor_good(&c) ? 0 : -EPROTO;
}

/* ---- entries of a directory ---- */

size_t files_entry_encode(uint8_t out[FILES_ENTRY_MAX], const struct files_attr *attr,
			  const char *name)
{
	struct cursor_out o = { out };

	files_put_attr(&o, attr);
	files_put_text(&o, name, FILES_NAME_MAX);
	return o.at - out;
}

bool files_entry_decode(struct files_entry *e, const uint8_t **at, const uint8_t *end)
{
	struct cursor c = cursor_of(*at, end - *at);

	if (*at == end)
		return false;
	files_take_attr(&c, &e->attr);
	files_take_text(&c, e->name, FILES_NAME_MAX);
	*at = c.at;
	return !c.bad;
}
