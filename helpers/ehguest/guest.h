/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file guest.h
 * The executor's end of one job: parent of the program, holder of the other ends of its descriptors,
 * and leader of its session. It runs as the user, with the limits of the program. Its agent started
 * it, but it outlives that agent. One loop, in which nothing waits but poll(). All signals are blocked.
 */
#ifndef EHGUEST_GUEST_H
#define EHGUEST_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "ending.h"
#include "flow.h"
#include "helpers/end/session.h"
#include "program.h"
#include "start.h"

struct guest {
	int signals; /**< signalfd, of SIGCHLD */
	struct start start;
	struct program program;
	struct flow flow;
	struct ending ending;

	struct session session;
	_Alignas(4096) uint8_t memory[JOB_MEMORY];
};

#endif
