/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file flow.h  All that flows between the program and home: its descriptors and their other ends. */
#ifndef EHGUEST_FLOW_H
#define EHGUEST_FLOW_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "helpers/end/session.h"
#include "intake.h"
#include "outlet.h"
#include "pty.h"
#include "real.h"
#include "tokens.h"

#define FLOW_OUTS (2 + JOB_FILES_MAX)
#define FLOW_INS (1 + JOB_FILES_MAX)
#define FLOW_FDS (2 + FLOW_INS + FLOW_OUTS) /**< that are waited for */

struct flow {
	struct session *session;
	unsigned int nins, nouts;
	struct intake in[FLOW_INS]; /**< the first: descriptor 0, if it is a pipe */
	struct outlet out[FLOW_OUTS]; /**< the first two: descriptors 1 and 2, if they are pipes */
	struct reals reals;
	struct tokens tokens;
	struct pty pty;
	uint32_t channels; /**< of the job */
};

/** Descriptors of the program: each of ours that becomes one of its. */
struct handed {
	unsigned int n;
	struct {
		int fd;
		uint32_t number;
	} all[3 + JOB_DESCRIPTORS_MAX];
};

/** Why the program cannot start. */
struct trouble {
	const char *text; /**< NULL: nothing is known */
	uint32_t reason; /**< enum ehs_reason; 0: EHS_REASON_START_FAILED */
	int error; /**< errno, or 0 */
	bool exec; /**< it is that of the program's execve() */
};

void flow_init(struct flow *f, struct session *session);
/** Opens the descriptors of the program: `its` ends, and ours in *f. 0; or -errno, perhaps with *why. */
int flow_open(struct flow *f, const struct job_spec *spec, struct handed *its, struct trouble *why);
void flow_close(struct handed *its); /**< our duplicates of the program's ends */
struct intake *flow_intake(struct flow *f, uint32_t channel); /**< NULL: none */
struct outlet *flow_outlet(struct flow *f, uint32_t channel); /**< NULL: none */

void flow_tell(struct flow *f); /**< says what the program has read, and its offsets */
/** Sends home what it has written so far; what home does not take now follows when it goes on. */
void flow_drain(struct flow *f);
void flow_step(struct flow *f);
int64_t
flow_look_at(const struct flow *f); /**< when flow_step() has something to do by the clock */
/** What to wait for. Returns their number. */
unsigned int flow_watch(const struct flow *f, struct pollfd fds[FLOW_FDS]);
void flow_on_poll(struct flow *f, const struct pollfd *fds);
void flow_spare(struct flow *f); /**< gives memory back that holds nothing */

void flow_exited(struct flow *f); /**< the program has ended */
/** Whether something that was written before the exit is still here. `childless`: the program has left
 *  no processes. */
bool flow_owes(const struct flow *f, bool childless);
bool flow_is_open(const struct flow *f); /**< somebody can still write */

#endif
