/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file tokens.h  The pipe of all processes of the program for tokens of make's jobserver. */
#ifndef EHGUEST_TOKENS_H
#define EHGUEST_TOKENS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "helpers/end/session.h"
#include "wire/job.h"

struct tokens {
	struct session *session;
	int fd; /**< ours, of both ends; -1: there are none */
	int its[2]; /**< until the program has them */
	ino_t inode;
	uint32_t from, to; /**< channels: tokens come, and go back */
	bool path; /**< the program has a path to it */
	bool offered; /**< home has some, and none was asked for */
	bool closed; /**< home takes none */
	bool ahead; /**< one was asked for that nobody waited for */
	bool ready; /**< poll() said that some lie there */
	bool exited; /**< the program has ended */
	uint64_t got; /**< from home */
	int owed; /**< of those that were there when the program ended */
	struct timespec put; /**< when the last was put there, at the last look */
	int64_t waits_until; /**< a process was seen to wait for one */
	int64_t look_at, wait_ms; /**< for one that waits */
	int64_t since, lie_at; /**< some lie there; look for them; SESSION_NEVER: none were seen */
	int64_t ahead_at, back_ms; /**< not before: one that nobody waits for */
};

void tokens_init(struct tokens *t, struct session *session);
/** Opens the pipe, if the job has a descriptor to take from and one to put back to. 0 or -errno. */
int tokens_open(struct tokens *t, const struct job_spec *spec);
bool tokens_has(const struct tokens *t, uint32_t channel); /**< whether it is of one of these */
int tokens_end(const struct tokens *t, uint32_t channel); /**< the program's end */
/** Names the path, if home names one: that of a descriptor of the process `guest`. */
void tokens_name(const struct tokens *t, pid_t guest, const struct job_spec *spec);
void tokens_offer(struct tokens *t);
void tokens_data(struct tokens *t, const uint8_t *bytes, size_t n);
/** Home gives none, or takes none, any more. */
void tokens_over(struct tokens *t, uint32_t channel);
/** Events to wait for; fd -1: none. */
struct pollfd tokens_poll(const struct tokens *t);
int64_t tokens_look_at(const struct tokens *t); /**< when tokens_step() must be called */
void tokens_step(struct tokens *t);
void tokens_exited(struct tokens *t); /**< the program has ended */
/** Whether some must go home before the exit is said; childless: nobody else puts any there. */
bool tokens_owes(const struct tokens *t, bool childless);

#endif
