// SPDX-License-Identifier: GPL-2.0-or-later
#include "input.h"

const uint8_t *input_bytes(struct input *in, size_t *length)
{
	const uint8_t *at;

	*length = input_byte(in) << 8;
	*length |= input_byte(in);
	at = in->at;
	if (*length > in->left)
		*length = in->left;
	in->at += *length;
	in->left -= *length;
	return at;
}
