// SPDX-License-Identifier: GPL-2.0-or-later
#include "cursor.h"

#include <string.h>

#include "frame.h"

size_t cursor_left(const struct cursor *c)
{
	return c->bad ? 0 : c->end - c->at;
}

const uint8_t *cursor_bytes(struct cursor *c, size_t n)
{
	if (c->bad || (size_t)(c->end - c->at) < n) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return c->at - n;
}

void cursor_copy(struct cursor *c, void *to, size_t n)
{
	const uint8_t *p = cursor_bytes(c, n);

	if (p)
		memcpy(to, p, n);
	else
		memset(to, 0, n);
}

uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 1);

	return p ? *p : 0;
}

bool cursor_bool(struct cursor *c)
{
	const uint8_t v = cursor_u8(c);

	if (v > 1)
		cursor_fail(c);
	return v;
}

uint16_t cursor_u16(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 2);

	return p ? p[0] | p[1] << 8 : 0;
}

uint32_t cursor_u32(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 4);

	return p ? frame_get_u32(p) : 0;
}

uint64_t cursor_u64(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 8);

	return p ? frame_get_u64(p) : 0;
}

const char *cursor_string(struct cursor *c, size_t most)
{
	size_t left = cursor_left(c);
	const uint8_t *text = c->at, *nul = left ? memchr(text, 0, left) : NULL;

	if (!nul || (size_t)(nul - text) > most) {
		c->bad = true;
		return "";
	}
	c->at = nul + 1;
	return (const char *)text;
}

bool cursor_done(const struct cursor *c)
{
	return !c->bad && c->at == c->end;
}

void cursor_put_u8(struct cursor_out *o, uint8_t v)
{
	*o->at++ = v;
}

void cursor_put_u16(struct cursor_out *o, uint16_t v)
{
	*o->at++ = v;
	*o->at++ = v >> 8;
}

void cursor_put_u32(struct cursor_out *o, uint32_t v)
{
	frame_put_u32(o->at, v);
	o->at += 4;
}

void cursor_put_u64(struct cursor_out *o, uint64_t v)
{
	frame_put_u64(o->at, v);
	o->at += 8;
}

void cursor_put_bytes(struct cursor_out *o, const void *bytes, size_t n)
{
	if (n)
		memcpy(o->at, bytes, n);
	o->at += n;
}

void cursor_put_string(struct cursor_out *o, const char *text)
{
	cursor_put_bytes(o, text, strlen(text) + 1);
}
