/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file guest_inside.h
 * Internals of a guest; for guest.c and guest_job.c only.
 */
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
	GUEST_VIEWING, /* waits for FRAME_NAMED to choose its files, or for home's to be mounted */
	GUEST_PREPARING, /* forked; sets the job's limits and user */
	GUEST_READY, /* waits for FRAME_GO */
	GUEST_STARTING, /* about to exec */
	GUEST_RUNNING,
	GUEST_EXITED, /* sends its last output, or children still run */
};

struct guest {
	struct guest *next;
	enum guest_state state;
	struct peer *from;
	struct reservation *place; /* its reservation; NULL: no job yet */
	struct channel channel;
	struct relay_sink in;
	struct relay_source out[2];
	struct pty pty; /* if the task has a terminal */
	struct launch launch;
	struct view_use view;
	uint8_t *job; /* payload of FRAME_JOB in GUEST_VIEWING */
	uint32_t job_length;
	struct event *control, *limit; /* of launch.control; time limit for the job and its GO */
	struct event *session; /* of launch.session */
	int64_t started;
	bool grouped; /* has its own cgroup */
	bool emptied; /* that cgroup is empty */
	bool reaped, told; /* told: FRAME_EXIT is queued */
	bool settling; /* its changes to home's files are still on their way */
	int pipes[3]; /* our ends until it starts; -1: none */
	uint64_t owed[2]; /* value of source.sent when all output from before the exit is sent */
	struct frame_exit end;
};

/** Callbacks to guest_job.c. */
struct guest_ops {
	/** A frame from its home. 0, or -errno: not allowed now. */
	int (*frame)(void *ctx, enum frame_type type, const uint8_t *payload, uint32_t length);
	/** Home's files are mounted (trouble NULL), or cannot be used. */
	void (*view)(void *ctx, const char *trouble);
};

/** A guest without a job. Its stream uses guest_stream_ops. NULL: out of memory. */
struct guest *guest_new(struct peer *from, struct h2_stream *s, const struct guest_ops *told);
extern const struct h2_stream_ops guest_stream_ops;

/** Forks the task, which then waits for GO. 0 or -errno. */
int guest_start(struct guest *g, const struct job_spec *spec);
/** Tells home why the task does not start, and kills what there is. `error`: errno or 0. */
void guest_refuse(struct guest *g, enum ehs_reason reason, int error, const char *what);
void guest_kill(struct guest *g);
/** Sends the exit once nothing must precede it. */
void guest_tell_exit(struct guest *g);
/** Ends the stream if everything has ended. */
void guest_check_end(struct guest *g);

#endif
