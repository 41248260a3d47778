// SPDX-License-Identifier: GPL-2.0-or-later
#include "seen.h"

#include <errno.h>
#include <string.h>

#include "cursor.h"

void seen_encode(const struct seen *s, uint8_t out[SEEN_SIZE])
{
	const struct look_program *p = &s->program;
	const struct look_folder *f = &s->folder;
	struct cursor_out o = { out };

	cursor_put_u32(&o, s->error);
	cursor_put_u64(&o, p->dev);
	cursor_put_u64(&o, p->ino);
	cursor_put_u64(&o, p->size);
	cursor_put_u64(&o, (uint64_t)p->mtime_ns);
	cursor_put_u64(&o, (uint64_t)p->ctime_ns);
	cursor_put_u64(&o, f->dev);
	cursor_put_u64(&o, f->ino);
	cursor_put_u32(&o, f->mode);
	cursor_put_u32(&o, f->uid);
	cursor_put_u32(&o, f->gid);
}

int seen_decode(struct seen *s, const uint8_t *in, size_t length)
{
	struct cursor c = cursor_of(in, length);
	struct look_program *p = &s->program;
	struct look_folder *f = &s->folder;

	memset(s, 0, sizeof(*s));
	s->error = cursor_u32(&c);
	p->dev = cursor_u64(&c);
	p->ino = cursor_u64(&c);
	p->size = cursor_u64(&c);
	p->mtime_ns = (int64_t)cursor_u64(&c);
	p->ctime_ns = (int64_t)cursor_u64(&c);
	f->dev = cursor_u64(&c);
	f->ino = cursor_u64(&c);
	f->mode = cursor_u32(&c);
	f->uid = cursor_u32(&c);
	f->gid = cursor_u32(&c);
	return cursor_good(&c) ? 0 : -EBADMSG;
}
