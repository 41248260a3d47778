/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file guest_inside.h
 * Internals of a guest; for guest.c and its guest_*.c only.
 */
#ifndef AGENT_EXECUTOR_GUEST_INSIDE_H
#define AGENT_EXECUTOR_GUEST_INSIDE_H

#include <event2/event.h>
#include <jansson.h>
#include <linux/ehsched.h>
#include "cluster/timing.h"
#include "executor/launch.h"
#include "executor/reserve.h"
#include "executor/view.h"
#include "job/route.h"
#include "net/peer.h"
#include "wire/attach.h"
#include "wire/caller.h"

enum guest_state {
	GUEST_NEW, /* waits for its place, or for FRAME_JOB */
	GUEST_VIEWING, /* waits for FRAME_NAMED to choose its files, or for home's to be mounted */
	GUEST_STARTING, /* forked, not ehguest yet, or ehguest compares the files of its arguments */
	GUEST_LINKED, /* ehguest is connected to the home node */
	GUEST_BROKEN, /* there is no stream, or no socket yet: one of the ends comes again */
	GUEST_OVER, /* refused, or its ehguest has gone */
};

#define GUEST_STARVED 64 /* of which it is remembered */
#define GUEST_TIMED 64 /* of those that are over, of all homes */

struct guests {
	struct guest *list;
	char starved[GUEST_STARVED][RESERVE_ID_MAX]; /* killed because memory was short; "": none */
	unsigned int nstarved; /* ever */
	struct guest_timed {
		char id[RESERVE_ID_MAX];
		struct timing timing;
	} timed[GUEST_TIMED]; /* those that were over last */
	unsigned int ntimed; /* ever */
	uint64_t kills; /* memory_kills() that were not, or are explained */
	struct event *orphans; /* ends guests of an earlier agent that did not come back */
	struct resume *resumes; /* guest_resume.c: streams whose guest is not here yet */
	uint64_t began; /* clock_ms() */
	uint64_t began_ticks; /* clock_ticks() */
};

struct guest {
	struct guest *next;
	struct agent *agent;
	enum guest_state state;
	struct peer *from; /* its home */
	struct reservation *place; /* NULL: no job yet */
	struct route route;
	struct launch launch;
	struct view_use view;
	struct event *later; /* checks for the end, from the event loop */
	/* of launch.news; for the job, or until both ends are here */
	struct event *control, *timer;
	struct reserve_ask *ask; /* for `place`; NULL: it is answered, or was not asked */
	bool looking; /* `ask` waits for ehlook */
	bool places; /* its stream is that of POST /v1/start, which asks for the place, too */
	bool begun; /* FRAME_START has come */
	/* what home sends before the start */
	struct caller caller; /* `groups` NULL: not here yet */
	uint8_t *job, *named; /* payloads of FRAME_JOB and FRAME_NAMED until then; NULL: none */
	uint32_t job_length, named_length;
	bool listed; /* FRAME_NAMED has come, perhaps empty */
	int64_t started; /* wall clock, ms */
	pid_t pid; /* of ehguest; its own as long as its socket is open. 0: not known */
	pid_t program; /* 0: not started */
	bool grouped; /* has its own cgroup */
	bool comparing; /* its end has not said yet whether the named files are the same */
	bool unread; /* its end has not said yet that it has its job: without this agent it would end */
	bool home_gone; /* its stub has ended: ehguest ends, too */
	bool stopped, paused; /* the task is; with its stub */
	/* of an earlier agent: its view is not here yet. GUEST_ANY_VIEW: if it has one */
	uint64_t view_ino;
	bool settling; /* its changes to home's files are still on their way */
	char token[ATTACH_TOKEN];
};

#define GUEST_ANY_VIEW UINT64_MAX

/** Guests start while there are none: a process killed before was not one of them: guest_starved.c. */
void guest_starved_begin(struct agent *agent);
/** It ended with this status, as from waitpid(): remembers if that was because memory was short. */
void guest_starved_look(struct guest *g, int status);
/** The IDs of those of this home. */
json_t *guest_starved_of(const struct agent *agent, const struct peer *home);

/** This step of one that has a place is now: guest_timing.c. */
void guest_time(struct guest *g, enum timing_step step);
/** Its end has told when its steps were. */
void guest_time_note(struct guest *g, const struct note *n);
/** It is over: its steps are kept until GUEST_TIMED others are. */
void guest_time_over(struct guest *g);

/** What the home node sends before the start: guest_job.c. 0 or -errno. */
int guest_on_start(struct guest *g, const uint8_t *payload, uint32_t length);
int guest_on_caller(struct guest *g, const uint8_t *payload, uint32_t length);
int guest_on_job(struct guest *g, const uint8_t *payload, uint32_t length);
/** Its end has seen its program and directory. 0, -EPROTO, or -EAGAIN: it is taken later. */
int guest_on_seen(struct guest *g, const uint8_t *payload, uint32_t length);
int guest_on_named(struct guest *g, const uint8_t *payload, uint32_t length);
/** ehguest has compared the files that the arguments name; NULL: all are the same: guest_job.c. */
void guest_on_compared(struct guest *g, const char *other);
/** The view has news: guest_job.c. */
void guest_on_view(void *ctx, const char *trouble);

/** guest_start.c: starts ehguest with the job in g->job. 0 or -errno. */
int guest_start(struct guest *g);
/** Takes what ehlaunch has said of the start, if it has. */
void guest_look_started(struct guest *g);
/** Its end has gone: if it had not begun, tells home why. */
void guest_died_early(struct guest *g);
/** Its end has not told in time what it sees, or has not begun. */
void guest_late(struct guest *g);

/** guest_state.c: home has this long to start it. 0 or -1. */
int guest_wait_lease(struct guest *g);
/** Without a connection to home ehguest ends at its limit; this is for one that does not. */
void guest_wait_home(struct guest *g);
/** Tells its end that it is connected. 0 or -errno. */
int guest_tell_attached(struct guest *g);
/** Nobody waits for its place any more. */
void guest_unask(struct guest *g);
/** Nothing of it starts, and home knows. */
void guest_give_up(struct guest *g);
/** Tells home why the task does not start, and kills what there is. `error`: errno or 0. */
void guest_refuse(struct guest *g, enum ehs_reason reason, int error, const char *what);
/** Its job is not needed any more. */
void guest_drop_job(struct guest *g);
/** Tells home that the end is there, if its files are those of home, and nothing is missing. */
void guest_try_link(struct guest *g);
/** Home has opened another stream for it: tells both ends that they are connected. */
void guest_joined(struct guest *g);
/** The stream is over, or there is none yet: ehguest waits for another one. */
void guest_broken(struct guest *g);
/** Home's stub has gone; the payload of FRAME_GONE. */
void guest_home_gone(struct guest *g, const uint8_t *payload, uint32_t length);
/** Home ends the stream, or has a limited time to do it. */
void guest_over(struct guest *g);
void guest_kill(struct guest *g);
/** ehguest may go on to tell of the exit. */
void guest_settled(struct guest *g);
/** It has ended: tells it to go on when home has all its changes. */
void guest_settle(struct guest *g);

/** guest_resume.c: the one with this token whose end is started, or here. NULL: none. */
struct guest *guest_by_token(struct agent *agent, const char *token);
/** Takes the stream of a home that waits for this guest, if there is one. */
void guest_take_stream(struct guest *g);
/** It runs already: uses its view, if that is here, or waits for it. */
void guest_join_view(struct guest *g);
/** Frees the streams that wait for a guest. */
void guest_resumes_exit(struct guests *guests);

/** Whether something is missing before home may be told that its end is there. */
static inline bool guest_is_open(const struct guest *g)
{
	return g->comparing || g->ask || g->unread;
}

static inline void guest_later(struct guest *g)
{
	event_active(g->later, 0, 0);
}

#endif
