// SPDX-License-Identifier: GPL-2.0-or-later
/* The module's requests, news, lists and answers, as a whole agent reads them. */
#include "one_agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return one_agent_play(data, size,
			      1u << ONE_KERNEL | 1u << ONE_LAUNCHED | 1u << ONE_LOCAL |
				      1u << ONE_FRAME);
}
