// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hosts that connect to a whole agent, and hosts that it connects to: HTTP/2, the bodies of all routes,
 * answers to its own requests, jobs with both of their ends.
 */
#include "one_agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return one_agent_play(data, size, (1u << ONE_STEPS) - 1 - (1u << ONE_KERNEL));
}
