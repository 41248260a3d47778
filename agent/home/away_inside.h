/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file away_inside.h
 * A task that is away, shared by departure.c (until its job is sent), away.c and its away_*.c, and
 * stops.c.
 */
#ifndef AGENT_HOME_AWAY_INSIDE_H
#define AGENT_HOME_AWAY_INSIDE_H

#include <event2/event.h>
#include "base/agent.h"
#include "home/placement.h"
#include "job/route.h"
#include "wire/attach.h"
#include "wire/caller.h"

enum away_state {
	AWAY_ASKING, /* waits for its placement (not placed by the module); its job may be on the way */
	AWAY_SENT, /* waits until the executor has started its end */
	AWAY_LINKED, /* both ends are connected */
	AWAY_BROKEN, /* there is no stream: tries again */
	AWAY_TOLD, /* the executor is told that nobody waits at home: over when it has ended the stream */
	AWAY_OVER, /* the stub has gone, or its job is refused */
};

struct aways {
	struct away *list;
	unsigned int count;
	struct stops *stops;
};

struct away {
	struct agent *agent;
	struct away *next;
	enum away_state state;
	struct route route;
	struct event *later; /* checks for the end, from the event loop */
	struct event *timer; /* until the executor answers; the next try to resume */
	struct placement *placement; /* NULL: its record is over, or it has no place yet */
	struct placement *asked; /* waits for an answer of `to`; NULL: none */
	bool admitted; /* `to` has answered, and has the job */
	struct peer *to; /* the executor; NULL: not sent */
	pid_t pid;
	uid_t uid;
	enum view view;
	bool asking; /* departure_on_decided() will be called */
	bool automatic; /* the hierarchy may decide that it runs here */
	bool leaves; /* and does only if no node can take it */
	bool retry; /* the user allows it to be run again */
	bool started, stopped_there, stopped_by_us;
	bool killed; /* the executor is asked by whom, and the stub waits for that */
	bool was_stopped; /* the executor may take it for stopped: stops.c keeps it in a file */
	uint64_t stub_start; /* of the stub, then: struct process */
	unsigned int
		runs; /* at so many looks of stops.c in a row the executor was told that it goes on */
	bool told_stopped; /* the executor's end knows stopped_by_us */
	bool tells_stopped; /* it is told when the file has it: stops.c */
	uint64_t broken_at; /* clock_ms() */
	uint64_t came_us; /* clock_us() when its job came; 0: an earlier agent had it */
	int64_t began_ms; /* wall clock: when the job was sent */
	unsigned int wait_ms; /* before the next try */
	char token[ATTACH_TOKEN], id[ATTACH_ID];
	struct caller caller; /* until the job is sent */
	uint8_t *job; /* payload of FRAME_JOB to send; NULL: sent */
	size_t job_length;
	uint8_t *named; /* FRAME_NAMED to follow it; NULL: nothing named, or sent */
	size_t named_length;
};

/** Checks for the end, later from the event loop. */
static inline void away_later(struct away *a)
{
	event_active(a->later, 0, 0);
}

/** away.c: a new one for the stub at this socket (-1: it has ended), which it takes over. NULL: out
 *  of memory, or its user has too many. */
struct away *away_new(struct agent *agent, int socket, pid_t pid, uid_t uid);

/** away_state.c: nothing has started. The stub runs the task at home, or reports why it cannot. */
void away_refuse(struct away *a, enum ehs_reason reason, uint32_t error, const char *text);
/** Asks its executor to go on with it. */
void away_resume(struct away *a);
/** The stream is over, or there is none yet: tries again later. */
void away_broken(struct away *a);
/** Memory is too short for what has to be said: another stream is to carry it. */
void away_unsaid(struct away *a);
/** The executor has it when it ends the stream in order; else it is told again. */
void away_tell_gone(struct away *a);
/** Its end has gone, or no more is to be told to that. */
void away_leave(struct away *a);
/** It is lost: its end and the executor are told so. */
void away_give_up(struct away *a);
void away_over(struct away *a);
/** Nobody waits for the answer of a node that was asked. */
void away_unask(struct away *a);

/** away_note.c: the stub tells what has become of its task. 0 or -errno: not allowed now. */
int away_on_note(struct away *a, const uint8_t *payload, uint32_t length);
/** Tells the module that this stub is one, if it has not made it one itself. */
void away_tell_module(const struct away *a);

/** away_send.c: opens the stream of the job to this peer and sends it; it has a place there. */
void away_send(struct away *a, struct peer *to);
/** The same, for a place that is asked for with it: a placement_send_fn. */
int away_place(void *away, struct placement *p, struct peer *to, json_t *request_stolen);
/** The node that was asked has answered, or will not (status 0). Perhaps another one takes it. */
void away_answered(struct away *a, int status, json_t *reply_stolen);
/** FRAME_ADMISSION has come. 0 or -EPROTO. */
int away_on_admission(struct away *a, const uint8_t *payload, uint32_t length);
/** It was sent, and has a place. */
void away_sent(struct away *a);

#endif
