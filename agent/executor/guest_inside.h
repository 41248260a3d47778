/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file guest_inside.h  Inside of a guest; for guest.c and guest_job.c only. */
#ifndef AGENT_EXECUTOR_GUEST_INSIDE_H
#define AGENT_EXECUTOR_GUEST_INSIDE_H

#include <linux/ehsched.h>
#include "executor/launch.h"
#include "executor/pty.h"
#include "executor/reserve.h"
#include "executor/view.h"
#include "job/channel.h"
#include "job/relay.h"
#include "net/peer.h"

enum guest_state {
	GUEST_NEW, /* waits for FRAME_JOB */
	GUEST_VIEWING, /* waits for FRAME_NAMED, to know whose files it sees, or for home's */
	GUEST_PREPARING, /* forked, takes on the job's limits and user */
	GUEST_READY, /* waits for FRAME_GO */
	GUEST_STARTING, /* about to exec */
	GUEST_RUNNING,
	GUEST_EXITED, /* its last output, or children that go on with it */
};

struct guest {
	struct guest *next;
	enum guest_state state;
	struct peer *from;
	struct reservation *place; /* what it was promised; NULL: no job yet */
	struct channel channel;
	struct relay_sink in;
	struct relay_source out[2];
	struct pty pty; /* of a task with a terminal */
	struct launch launch;
	struct view_use view;
	uint8_t *job; /* payload of FRAME_JOB while GUEST_VIEWING */
	uint32_t job_length;
	struct event *control, *limit; /* launch.control; time for the job and its GO */
	struct event *session; /* launch.session */
	int64_t started;
	bool grouped; /* has a folder of its own */
	bool emptied; /* nothing is left in it */
	bool reaped, told; /* FRAME_EXIT is queued */
	bool settling; /* what it did to home's files is still on its way */
	int pipes[3]; /* our ends until it starts */
	uint64_t owed[2]; /* source.sent at which all output from before the exit is out */
	struct frame_exit end;
};

/** What guest_job.c does for a guest. */
struct guest_ops {
	/** A frame of its home. 0 or -errno: not allowed now. */
	int (*frame)(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length);
	/** Home's files are mounted, or in trouble. */
	void (*view)(void *ctx, const char *trouble);
};

/** A guest without a job yet, with a stream of guest_stream_ops. NULL: no memory. */
struct guest *guest_new(struct peer *from, struct h2_stream *s, const struct guest_ops *told);
extern const struct h2_stream_ops guest_stream_ops;

/** Forks the task; it waits for GO. 0 or -errno. */
int guest_start(struct guest *g, const struct job_spec *spec);
/** Nothing has started: the home is told why. `error`: errno or 0. */
void guest_refuse(struct guest *g, enum ehs_reason reason, int error, const char *what);
void guest_kill(struct guest *g);
/** Tells the exit when nothing has to come before it any more. */
void guest_tell_exit(struct guest *g);
/** Something has ended: perhaps all has. */
void guest_check_end(struct guest *g);

#endif
