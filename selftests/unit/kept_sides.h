/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Home's side of a view for tests, as ehlaunch starts it: this process is its agent, and the executor's side at
 * once. Its connections can break at any moment, and its agent can be replaced.
 */
#ifndef UNIT_KEPT_SIDES_H
#define UNIT_KEPT_SIDES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "helpers/common/stream.h"

#define WAIT_MS 60000 /* a loaded machine is slow, and nothing here waits for it */
#define PIECE (96 << 10)
#define PIECES 60

extern struct kept_sides {
	struct event_base *base;
	char folder[64];
	int launcher, listener; /* sockets; listener: -1: the agent is away */
	pid_t ehlaunch_pid;
	unsigned long breaks;
	struct stream view; /* the executor's side */
	int32_t last_error;
	uint64_t read_bytes;
} sides;

/* ---- the executor's side ---- */

/* The byte at that place of a file. */
uint8_t sides_pattern(uint64_t at);
struct files_message *sides_message(enum files_op op);
void sides_say(const struct files_message *m);

/* ---- its agent ---- */

struct side {
	int news, control;
};

void sides_start_launcher(void);

/* What the keeper says next. */
int sides_hear(struct side *s);

/* An executor's side ends with its process: this one has several. */
void sides_forget_view(void);

/* Has the directory served; the executor's side has the other end of the connection. */
void sides_serve(struct side *s, uint32_t limit_ms);

/* All that is on its way is lost. */
void sides_reconnect(const struct side *s);
void sides_listen(void);
void sides_listen_no_more(void);

/* Another agent: the keeper comes to it. */
void sides_adopt(struct side *s);
void sides_agent_ends(struct side *s);

/* A round of the loop, perhaps with a break after a part of what is there. */
void sides_run(const struct side *s, unsigned int one_in);
void sides_run_all(const struct side *s, unsigned int one_in);

#endif
