// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/agent.h"

void agent_end(struct agent *agent, int status)
{
	agent->status = status;
	event_base_loopbreak(agent->base);
}
