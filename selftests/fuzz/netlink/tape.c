// SPDX-License-Identifier: GPL-2.0-or-later
#include "tape.h"

#include <ctype.h>
#include <string.h>

/* splitmix64, as in selftests/unit/random.h, but with a state for each worker */
uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint8_t tape_byte(struct tape *tape)
{
	if (tape->at == tape->len) {
		if (tape->len == TAPE_MAX || !tape->random)
			return 0;
		tape->bytes[tape->len++] = random_next(tape->random);
	}
	return tape->bytes[tape->at++];
}

uint64_t tape_below(struct tape *tape, uint64_t n)
{
	uint64_t value = 0, left = n - 1;

	/* no more bytes than needed, so that a changed byte changes little */
	for (; left; left >>= 8)
		value = value << 8 | tape_byte(tape);
	return n ? value % n : value;
}

bool tape_one_in(struct tape *tape, unsigned int n)
{
	return !tape_below(tape, n);
}

void tape_fill(struct tape *tape, void *to, size_t n)
{
	uint8_t *bytes = to;

	while (n--)
		*bytes++ = tape_byte(tape);
}

/* Puts @n bytes of @from, or random ones, at @at of @tape. */
static void tape_insert(struct tape *tape, size_t at, const uint8_t *from, size_t n,
			uint64_t *random)
{
	size_t i;

	if (n > TAPE_MAX - tape->len)
		n = TAPE_MAX - tape->len;
	memmove(tape->bytes + at + n, tape->bytes + at, tape->len - at);
	for (i = 0; i < n; i++)
		tape->bytes[at + i] = from ? from[i] : random_next(random);
	tape->len += n;
}

void tape_mutate(struct tape *to, const struct tape *tape, const struct tape *other,
		 uint64_t *random)
{
	unsigned int times = 1 + random_next(random) % 4;
	size_t at, n, from;

	*to = *tape;
	to->at = 0;
	while (times--) {
		at = random_next(random) % (to->len + 1);
		n = 1 + random_next(random) % 32;
		switch (random_next(random) % 5) {
		case 0:
			if (at < to->len)
				to->bytes[at] = random_next(random);
			break;
		case 1:
			if (n > to->len - at)
				n = to->len - at;
			memmove(to->bytes + at, to->bytes + at + n, to->len - at - n);
			to->len -= n;
			break;
		case 2:
			tape_insert(to, at, NULL, n, random);
			break;
		case 3:
			/* what comes after is new */
			to->len = at;
			break;
		case 4:
			if (!other || !other->len)
				break;
			from = random_next(random) % other->len;
			n = 1 + random_next(random) % (other->len - from);
			tape_insert(to, at, other->bytes + from, n, random);
			break;
		}
	}
}

void tape_write(const struct tape *tape, FILE *file)
{
	size_t i;

	for (i = 0; i < tape->len; i++)
		fprintf(file, "%02x", tape->bytes[i]);
	putc('\n', file);
}

int tape_read(struct tape *tape, FILE *file)
{
	unsigned int byte;
	int c;

	tape->len = tape->at = 0;
	for (;;) {
		c = getc(file);
		if (c == '\n' || (c == EOF && tape->len))
			return 1;
		if (c == EOF)
			return 0;
		ungetc(c, file);
		if (!isxdigit(c) || tape->len == TAPE_MAX || fscanf(file, "%2x", &byte) != 1)
			return -1;
		tape->bytes[tape->len++] = byte;
	}
}
