// SPDX-License-Identifier: GPL-2.0-or-later
/* Encoding of struct terminal: its members in their order, a zero after the control characters. */

#include "terminal.h"

#include <errno.h>
#include <string.h>

#include "cursor.h"

#define TERMINAL_FLAGS 0177777u /* of input, output and local modes */

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

void terminal_encode(uint8_t out[TERMINAL_SIZE], const struct terminal *t)
{
	struct cursor_out o = { out };

	cursor_put_u32(&o, t->iflag);
	cursor_put_u32(&o, t->oflag);
	cursor_put_u32(&o, t->cflag);
	cursor_put_u32(&o, t->lflag);
	cursor_put_bytes(&o, t->cc, TERMINAL_CC);
	cursor_put_u8(&o, t->zero);
	cursor_put_u16(&o, t->rows);
	cursor_put_u16(&o, t->columns);
	cursor_put_u16(&o, t->width);
	cursor_put_u16(&o, t->height);
}

int terminal_decode(struct terminal *t, const uint8_t *in, size_t length)
{
	struct cursor c = cursor_of(in, length);

	if (length != TERMINAL_SIZE)
		return -EBADMSG;
	t->iflag = cursor_u32(&c);
	t->oflag = cursor_u32(&c);
	t->cflag = cursor_u32(&c);
	t->lflag = cursor_u32(&c);
	cursor_copy(&c, t->cc, TERMINAL_CC);
	t->zero = cursor_u8(&c);
	t->rows = cursor_u16(&c);
	t->columns = cursor_u16(&c);
	t->width = cursor_u16(&c);
	t->height = cursor_u16(&c);
	if (t->zero || (t->iflag | t->oflag | t->lflag) & ~TERMINAL_FLAGS)
		return -EBADMSG;
	return 0;
}
