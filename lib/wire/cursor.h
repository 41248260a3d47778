/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file cursor.h
 * Little-endian fields one after the other, read from or written to memory. An
 * error while reading is kept: whatever is read after it is zero or empty, so a
 * decoder checks once, at its end. No I/O, and nothing but libc.
 */
#ifndef WIRE_CURSOR_H
#define WIRE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Reads. */
struct cursor {
	const uint8_t *at, *end; /**< what is left */
	bool bad; /**< something was missing, or cursor_fail() was called */
};

static inline struct cursor cursor_of(const uint8_t *in, size_t length)
{
	return (struct cursor){ in, in + length, false };
}

/** What was read is not valid. */
static inline void cursor_fail(struct cursor *c)
{
	c->bad = true;
}

/** Returns the bytes left to read, 0 after an error. */
size_t cursor_left(const struct cursor *c);
/** Returns the next `n` bytes in place, NULL after an error. */
const uint8_t *cursor_bytes(struct cursor *c, size_t n);
/** Copies the next `n` bytes, zeros after an error. */
void cursor_copy(struct cursor *c, void *to, size_t n);
uint8_t cursor_u8(struct cursor *c);
/** Returns the next byte, which is 0 or 1. */
bool cursor_bool(struct cursor *c);
uint16_t cursor_u16(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
/** Returns the next string in place, which ends with a NUL. An error if it has more than `most`
 *  bytes without the NUL. */
const char *cursor_string(struct cursor *c, size_t most);
/** Whether everything was read, without an error. */
bool cursor_done(const struct cursor *c);
/**
 * Whether all that was read was there; more may follow it, which a newer version has added at the end
 * (docs/protocol.md, "Versions").
 */
static inline bool cursor_good(const struct cursor *c)
{
	return !c->bad;
}

/** Writes; the memory must have room for all that is put. */
struct cursor_out {
	uint8_t *at;
};

/** Numbers are little-endian. */
void cursor_put_u8(struct cursor_out *o, uint8_t v);
void cursor_put_u16(struct cursor_out *o, uint16_t v);
void cursor_put_u32(struct cursor_out *o, uint32_t v);
void cursor_put_u64(struct cursor_out *o, uint64_t v);
void cursor_put_bytes(struct cursor_out *o, const void *bytes, size_t n);
/** With its NUL. */
void cursor_put_string(struct cursor_out *o, const char *text);

#endif
