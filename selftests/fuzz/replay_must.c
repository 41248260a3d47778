// SPDX-License-Identifier: GPL-2.0-or-later
/* A target that any byte breaks: is it seen? */
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	must(!input_byte(&in));
	return 0;
}
