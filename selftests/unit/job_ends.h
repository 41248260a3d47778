/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two ends of a job and what goes between them, for tests: a step at a time. */
#ifndef UNIT_JOB_ENDS_H
#define UNIT_JOB_ENDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "job/end.h"

#define START 1000
#define LIMIT 60000
#define SEEN 64
#define FRAME (FRAME_HEADER + LINK_HEADER + JOB_MESSAGE_MAX)

struct side {
	struct job_end e;
	uint8_t memory[JOB_MEMORY];
	struct job_message seen[SEEN]; /* their pointers are of no use any more */
	unsigned int nseen, lost;
	enum job_state before;
	int refuse; /* what the next message is answered with */
};

extern struct side home, executor;
extern uint32_t ends_channels; /* of the next job */

void ends_begin(void);
void ends_attach(void);
void ends_detach(int64_t now);

/* Moves one frame; false: there is none. */
bool ends_move(struct side *from, struct side *to);
void ends_pump(void);
const struct job_message *ends_last(const struct side *s);
int ends_say(struct side *s, enum job_what what);
int ends_say_exit(bool more);

/* Says and delivers. */
void ends_tell(struct side *s, enum job_what what);

/* A frame as the other end would send it, with the next number; what job_end_take() returns. */
int ends_deliver(struct side *s, uint32_t type, const void *body, size_t n);
void ends_run_to(enum job_state state);
void ends_offer(bool ahead);
void ends_want(size_t n);
int ends_deliver_message(struct side *s, const struct job_message *m);

#endif
