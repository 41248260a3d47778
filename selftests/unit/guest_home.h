/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Agent and home's end of a job, for tests of the executor's end: build/bin/ehlaunch --end runs on a socket
 * pair, and programs below it.
 */
#ifndef UNIT_GUEST_HOME_H
#define UNIT_GUEST_HOME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <cmocka.h>

#include "base/clock.h"
#include "job/end.h"
#include "wire/attach.h"
#include "wire/frame.h"
#include "wire/job.h"

#define HOME_PATIENCE_MS 60000 /* on a busy machine */
#define PIPES (JOB_FD(0) | JOB_FD(1) | JOB_FD(2))

struct home {
	int socket;
	pid_t guest; /* ehguest itself */
	uint32_t program;
	struct job_end end;
	uint8_t memory[JOB_MEMORY];
	uint8_t in[FRAME_HEADER + FRAME_LINK_MAX], out[FRAME_HEADER + FRAME_LINK_MAX];
	size_t have, from, to;
	char events[1024]; /* words, in order */
	int notes[NOTE_WHATS];
	uint8_t *got[JOB_CHANNELS];
	size_t ngot[JOB_CHANNELS];
	uint64_t read[JOB_CHANNELS];
	int wants[JOB_CHANNELS];
	bool ended[JOB_CHANNELS], closed[JOB_CHANNELS], opened[JOB_CHANNELS];
	uint64_t offsets[JOB_CHANNELS];
	int locks[JOB_CHANNELS]; /* 1: shared, 2: exclusive */
	struct frame_exit use;
	bool more, lost;
	int stops;
	struct terminal modes;
	bool counts; /* of each 'y' of the terminal VMIN tells the number and one, or a later one */
	unsigned int ys, early;
	char refused[JOB_TEXT_MAX + 1];
	uint32_t reason, error;
	/* what it does by itself */
	const char *input; /* of descriptor 0; NULL: it never offers any */
	size_t ninput, at;
	bool ahead, prepare_only, keep_output, never_noted, manual;
	struct attached attached;
};

void home_say(struct home *h, struct job_message m);
/* One answer to one wish, as one read() of a file would give. */
void home_answer(struct home *h);
void home_offer(struct home *h, uint32_t channel, bool ahead);

void home_send_frame(struct home *h, enum frame_type type, const void *payload, uint32_t length);

/* Does what there is to do. False: the guest has closed its socket. */
bool home_step(struct home *h, int wait_ms);

/* Until `condition`. Something must come some time. */
#define home_until(h, condition)                                                             \
	do {                                                                                 \
		uint64_t until_ = clock_ms() + HOME_PATIENCE_MS;                             \
		bool here_ = true;                                                           \
		while (!(condition)) {                                                       \
			if (!here_ || clock_ms() > until_)                                   \
				fail_msg("waiting for " #condition ": %s; events: %s",       \
					 here_ ? "it does not come" : "the guest has ended", \
					 (h)->events);                                       \
			here_ = home_step(h, 10);                                            \
		}                                                                            \
	} while (0)

/* For what must not happen: long enough that it would have. */
void home_for(struct home *h, int64_t ms);

void home_attach(struct home *h);

/* How most jobs are. */
struct job_spec home_spec(uint32_t flags, const char **argv);
struct home *home_new(void);
void home_run_spec(struct home *h, const struct job_spec *spec);

/* Runs a shell's script. */
void home_run(struct home *h, uint32_t flags, const char *script);
void home_input(struct home *h, const char *text);
const char *home_got(const struct home *h, int channel);

/* Until the job is over on both ends. Returns the status of ehguest, which is reaped. */
int home_end(struct home *h);
void home_free(struct home *h);
bool home_has(const struct home *h, const char *word);

/* As /proc has it; 0: there is none of this number. */
char home_process_state(uint32_t pid);

#endif
