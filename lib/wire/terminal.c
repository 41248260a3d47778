// SPDX-License-Identifier: GPL-2.0-or-later
/* Encoding of struct terminal: its members in their order, a zero after the control characters. */

#include "terminal.h"

#include <errno.h>
#include <string.h>

#include "frame.h"

#define TERMINAL_FLAGS 0177777u /* of input, output and local modes */
#define TERMINAL_WORDS 4

static void put_u16(uint8_t *p, uint16_t v)
{
	p[0] = v;
	p[1] = v >> 8;
}

static uint16_t get_u16(const uint8_t *p)
{
	return p[0] | p[1] << 8;
}

void terminal_to_termios(const struct terminal *t, struct termios *modes)
{
	modes->c_iflag = t->iflag;
	modes->c_oflag = t->oflag;
	modes->c_cflag = t->cflag;
	modes->c_lflag = t->lflag;
	memcpy(modes->c_cc, t->cc, TERMINAL_CC);
}

void terminal_from_termios(struct terminal *t, const struct termios *modes)
{
	t->iflag = modes->c_iflag;
	t->oflag = modes->c_oflag;
	t->cflag = modes->c_cflag;
	t->lflag = modes->c_lflag & ~TERMINAL_EXTPROC;
	memcpy(t->cc, modes->c_cc, TERMINAL_CC);
}

_Static_assert(FRAME_TERMINAL_MAX == TERMINAL_SIZE + 4, "FRAME_TERMINAL: modes, perhaps one u32");

void terminal_encode(uint8_t out[TERMINAL_SIZE], const struct terminal *t)
{
	const uint32_t words[TERMINAL_WORDS] = { t->iflag, t->oflag, t->cflag, t->lflag };
	const uint16_t sizes[] = { t->rows, t->columns, t->width, t->height };

	for (int i = 0; i < TERMINAL_WORDS; i++, out += 4)
		frame_put_u32(out, words[i]);
	memcpy(out, t->cc, TERMINAL_CC);
	out[TERMINAL_CC] = t->zero;
	out += TERMINAL_CC + 1;
	for (int i = 0; i < 4; i++, out += 2)
		put_u16(out, sizes[i]);
}

int terminal_decode(struct terminal *t, const uint8_t *in, size_t length)
{
	uint32_t *words[TERMINAL_WORDS] = { &t->iflag, &t->oflag, &t->cflag, &t->lflag };
	uint16_t *sizes[] = { &t->rows, &t->columns, &t->width, &t->height };

	if (length != TERMINAL_SIZE)
		return -EBADMSG;
	for (int i = 0; i < TERMINAL_WORDS; i++, in += 4)
		*words[i] = frame_get_u32(in);
	memcpy(t->cc, in, TERMINAL_CC);
	t->zero = in[TERMINAL_CC];
	if (t->zero || (t->iflag | t->oflag | t->lflag) & ~TERMINAL_FLAGS)
		return -EBADMSG;
	in += TERMINAL_CC + 1;
	for (int i = 0; i < 4; i++, in += 2)
		*sizes[i] = get_u16(in);
	return 0;
}
