// SPDX-License-Identifier: GPL-2.0-or-later
#include "rule.h"

const char *const eh_state_names[EH_STATES] = { "receiver", "ok", "sender" };
