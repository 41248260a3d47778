// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes of several users at the local socket of a whole agent: frames, JSON, jobs and ends that come back, in any order. */
#include "one_agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return one_agent_play(data, size,
			      1u << ONE_LOCAL | 1u << ONE_BYTES | 1u << ONE_FRAME |
				      1u << ONE_CLOSE | 1u << ONE_LAUNCHED);
}
