// SPDX-License-Identifier: GPL-2.0-or-later
#include "eh.h"

enum eh_state eh_state(uint64_t load, uint64_t threshold, uint64_t length)
{
	if (threshold > length && load < threshold - length)
		return EH_RECEIVER;
	if (load > threshold && load - threshold > length)
		return EH_SENDER;
	return EH_OK;
}
