// SPDX-License-Identifier: GPL-2.0-or-later
#include "files.h"

#include <errno.h>
#include <string.h>

#include "frame.h"

#define REF (FILES_F_HANDLE | FILES_F_DIR | FILES_F_INO | FILES_F_NAME)
#define ENTRY (FILES_F_DIR | FILES_F_NAME)

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
	[FILES_RENAME] = ENTRY | FILES_F_DIR2 | FILES_F_TEXT | FILES_F_FLAGS,
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

/* ---- the two ways ---- */

struct files_out {
	uint8_t *at;
};

static void files_put32(struct files_out *o, uint32_t v)
{
	frame_put_u32(o->at, v);
	o->at += 4;
}

static void files_put64(struct files_out *o, uint64_t v)
{
	frame_put_u64(o->at, v);
	o->at += 8;
}

static void files_put_time(struct files_out *o, const struct files_time *t)
{
	files_put64(o, t->sec);
	files_put32(o, t->nsec);
}

static void files_put_text(struct files_out *o, const char *text, size_t most)
{
	size_t n = strnlen(text, most);

	*o->at++ = n;
	*o->at++ = n >> 8;
	memcpy(o->at, text, n);
	o->at += n;
}

static void files_put_attr(struct files_out *o, const struct files_attr *a)
{
	files_put64(o, a->dev);
	files_put64(o, a->ino);
	files_put64(o, a->size);
	files_put64(o, a->blocks);
	files_put64(o, a->rdev);
	files_put32(o, a->mode);
	files_put32(o, a->nlink);
	files_put32(o, a->uid);
	files_put32(o, a->gid);
	files_put32(o, a->blksize);
	files_put_time(o, &a->atime);
	files_put_time(o, &a->mtime);
	files_put_time(o, &a->ctime);
}

struct files_in {
	const uint8_t *at, *end;
	bool bad;
};

static const uint8_t *files_take(struct files_in *in, size_t n)
{
	static const uint8_t none[8];

	if (in->bad || (size_t)(in->end - in->at) < n) {
		in->bad = true;
		return none;
	}
	in->at += n;
	return in->at - n;
}

static uint32_t files_get32(struct files_in *in)
{
	return frame_get_u32(files_take(in, 4));
}

static uint64_t files_get64(struct files_in *in)
{
	return frame_get_u64(files_take(in, 8));
}

static void files_get_time(struct files_in *in, struct files_time *t)
{
	t->sec = files_get64(in);
	t->nsec = files_get32(in);
}

static void files_get_text(struct files_in *in, char *text, size_t most)
{
	const uint8_t *head = files_take(in, 2), *bytes;
	size_t n = head[0] | head[1] << 8;

	text[0] = '\0';
	if (n > most) {
		in->bad = true;
		return;
	}
	bytes = files_take(in, n);
	if (in->bad)
		return;
	if (memchr(bytes, 0, n)) {
		in->bad = true;
		return;
	}
	memcpy(text, bytes, n);
	text[n] = '\0';
}

static void files_get_name(struct files_in *in, char *name)
{
	files_get_text(in, name, FILES_NAME_MAX);
	if (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		in->bad = true;
}

static void files_get_attr(struct files_in *in, struct files_attr *a)
{
	a->dev = files_get64(in);
	a->ino = files_get64(in);
	a->size = files_get64(in);
	a->blocks = files_get64(in);
	a->rdev = files_get64(in);
	a->mode = files_get32(in);
	a->nlink = files_get32(in);
	a->uid = files_get32(in);
	a->gid = files_get32(in);
	a->blksize = files_get32(in);
	files_get_time(in, &a->atime);
	files_get_time(in, &a->mtime);
	files_get_time(in, &a->ctime);
}

/* ---- messages ---- */

size_t files_encode(uint8_t out[FILES_HEAD_MAX], const struct files_message *m)
{
	uint32_t f = files_fields(m->op, m->error);
	struct files_out o = { out + FILES_HEADER };
	size_t length;

	if (f & FILES_F_HANDLE)
		files_put32(&o, m->handle);
	if (f & FILES_F_DIR)
		files_put64(&o, m->dir);
	if (f & FILES_F_INO)
		files_put64(&o, m->ino);
	if (f & FILES_F_HANDLE2)
		files_put32(&o, m->handle2);
	if (f & FILES_F_DIR2)
		files_put64(&o, m->dir2);
	if (f & FILES_F_OFFSET)
		files_put64(&o, m->offset);
	if (f & FILES_F_SIZE)
		files_put64(&o, m->size);
	if (f & FILES_F_OWNER)
		files_put64(&o, m->owner);
	if (f & FILES_F_FLAGS)
		files_put32(&o, m->flags);
	if (f & FILES_F_MODE)
		files_put32(&o, m->mode);
	if (f & FILES_F_OWNERS) {
		files_put32(&o, m->uid);
		files_put32(&o, m->gid);
	}
	if (f & FILES_F_TIMES) {
		files_put_time(&o, &m->times[0]);
		files_put_time(&o, &m->times[1]);
	}
	if (f & FILES_F_ATTR)
		files_put_attr(&o, &m->attr);
	if (f & FILES_F_NAME)
		files_put_text(&o, m->name, FILES_NAME_MAX);
	if (f & FILES_F_TEXT)
		files_put_text(&o, m->text, FILES_TEXT_MAX);
	length = o.at - out;
	o.at = out;
	files_put32(&o, length - FILES_HEADER + (f & FILES_F_DATA ? m->length : 0));
	files_put32(&o, m->op);
	files_put32(&o, m->tag);
	files_put32(&o, m->error);
	return length;
}

long files_length(const uint8_t *in, size_t length)
{
	uint32_t body;

	if (length < FILES_HEADER)
		return 0;
	body = frame_get_u32(in);
	return body <= FILES_BODY_MAX ? (long)body + FILES_HEADER : -EPROTO;
}

int files_decode(struct files_message *m, const uint8_t *data, size_t length)
{
	struct files_in in = { data + FILES_HEADER, data + length, false };
	uint32_t f;

	if (files_length(data, length) != (long)length)
		return -EPROTO;
	m->op = frame_get_u32(data + 4);
	m->tag = frame_get_u32(data + 8);
	m->error = frame_get_u32(data + 12);
	m->handle = m->handle2 = m->flags = m->mode = m->uid = m->gid = 0;
	m->dir = m->dir2 = m->ino = m->offset = m->size = m->owner = 0;
	m->name[0] = m->text[0] = '\0';
	m->data = in.end;
	m->length = 0;
	if (!(m->op & ~FILES_ANSWER) || (m->op & ~FILES_ANSWER) >= FILES_OPS ||
	    (!(m->op & FILES_ANSWER) && m->error) || m->error < 0 || m->error > 4095)
		return -EPROTO;
	f = files_fields(m->op, m->error);
	if (f & FILES_F_HANDLE)
		m->handle = files_get32(&in);
	if (f & FILES_F_DIR)
		m->dir = files_get64(&in);
	if (f & FILES_F_INO)
		m->ino = files_get64(&in);
	if (f & FILES_F_HANDLE2)
		m->handle2 = files_get32(&in);
	if (f & FILES_F_DIR2)
		m->dir2 = files_get64(&in);
	if (f & FILES_F_OFFSET)
		m->offset = files_get64(&in);
	if (f & FILES_F_SIZE)
		m->size = files_get64(&in);
	if (f & FILES_F_OWNER)
		m->owner = files_get64(&in);
	if (f & FILES_F_FLAGS)
		m->flags = files_get32(&in);
	if (f & FILES_F_MODE)
		m->mode = files_get32(&in);
	if (f & FILES_F_OWNERS) {
		m->uid = files_get32(&in);
		m->gid = files_get32(&in);
	}
	if (f & FILES_F_TIMES) {
		files_get_time(&in, &m->times[0]);
		files_get_time(&in, &m->times[1]);
	}
	if (f & FILES_F_ATTR)
		files_get_attr(&in, &m->attr);
	if (f & FILES_F_NAME)
		files_get_name(&in, m->name);
	if (f & FILES_F_TEXT)
		files_get_text(&in, m->text, FILES_TEXT_MAX);
	if (f & FILES_F_DATA && !in.bad) {
		m->data = in.at;
		m->length = in.end - in.at;
		in.at = in.end;
	}
	return in.bad || in.at != in.end ? -EPROTO : 0;
}

size_t files_entry_encode(uint8_t out[FILES_ENTRY_MAX], const struct files_attr *attr,
			  const char *name)
{
	struct files_out o = { out };

	files_put_attr(&o, attr);
	files_put_text(&o, name, FILES_NAME_MAX);
	return o.at - out;
}

bool files_entry_decode(struct files_entry *e, const uint8_t **at, const uint8_t *end)
{
	struct files_in in = { *at, end, false };

	if (*at == end)
		return false;
	files_get_attr(&in, &e->attr);
	files_get_text(&in, e->name, FILES_NAME_MAX);
	*at = in.at;
	return !in.bad;
}
