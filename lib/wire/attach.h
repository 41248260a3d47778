/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file attach.h
 * What an end of a job and its agent say to each other beside the job itself: the payloads of
 * FRAME_ATTACH, FRAME_ATTACHED and FRAME_NOTE; and of FRAME_KEPT, for a side of a view. No I/O, and
 * nothing but libc.
 */
#ifndef WIRE_ATTACH_H
#define WIRE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#define ATTACH_TOKEN 64 /**< bytes of the longest token, with its NUL */
#define ATTACH_CODE 104 /**< of a node code */
#define ATTACH_ID 128 /**< of a placement's ID */
#define ATTACH_HOST 128
#define ATTACH_COMMAND 64 /**< of a program's name; longer ones are cut */
#define NOTE_TEXT 256
#define ATTACH_STOPPED_MS (24 * 3600 * 1000) /**< how long a stopped task waits for its stub */
#define ATTACH_SIZE FRAME_ATTACH_MAX /**< bytes of the longest encoded payload */

/** FRAME_ATTACH: an end tells a new agent, or the same one after a break, which job it belongs to. */
struct attach {
	bool executor; /**< the executor's end */
	bool stopped; /**< the task is: then its stub is, too, and can connect only when it goes on */
	uint32_t pid; /**< of the program on the executor; 0: not started */
	/** of the job, from home's agent; an end says 0, and is asked by its socket */
	uint32_t uid;
	uint64_t started_ms; /**< since 1970 */
	char token[ATTACH_TOKEN], id[ATTACH_ID];
	char other[ATTACH_CODE]; /**< the node of the other end */
	char command[ATTACH_COMMAND];
	bool over; /**< home's end: an agent knows its task's end, and only children of it still write */
};

/** FRAME_ATTACHED: the route to the other end is there. */
struct attached {
	uint32_t limit_ms; /**< how long both ends wait without it */
	uint64_t started_ms; /**< since 1970: when the job was sent */
	char token[ATTACH_TOKEN], id[ATTACH_ID];
	char other[ATTACH_CODE]; /**< the node of the other end, and its host for messages */
	char host[ATTACH_HOST];
	bool retry; /**< home: the user allows a second run */
	/** After NOTE_ENDED the end waits for FRAME_NOTED before it goes on: home's until the use is
	 *  accounted for, the executor's until home's files have all changes. */
	bool wait;
};

enum note_what {
	NOTE_STARTED = 1, /**< `pid`: on the executor */
	NOTE_STOPPED,
	NOTE_CONTINUED,
	NOTE_ENDED, /**< `use`; answered by FRAME_NOTED */
	NOTE_LOST, /**< home only */
	NOTE_RERUN, /**< home only: lost, and run again here */
	NOTE_STAYS, /**< home only: it was not sent, and runs here */
	NOTE_SAME, /**< executor only, answers FRAME_NAMED: the files are the same here */
	NOTE_DIFFERS, /**< `text` is the path of one that is not; the end ends */
	NOTE_WHATS
};

/** FRAME_NOTE: what became of a job, for the agent's records. */
struct note {
	enum note_what what;
	uint32_t pid; /**< NOTE_STARTED */
	struct frame_exit use; /**< NOTE_ENDED */
	uint32_t reason; /**< NOTE_STAYS: enum ehs_reason, and what the executor said, perhaps "" */
	char text[NOTE_TEXT]; /**< cut, if it is longer */
	/** It has times. Agents of before version 6 of requests to ehlaunch take none. */
	bool timed;
	/** NOTE_STARTED: when this end began, READY and GO were said or came, and the program was
	 *  executed, or that was told; microseconds of the monotonic clock. 0: not known. */
	uint64_t begun_us, ready_us, go_us, started_us;
	/** NOTE_ENDED: when the program had ended, or that was told; NOTE_SAME: when that was known */
	uint64_t ended_us;
};

/** FRAME_KEPT: who keeps a side of a view tells a new agent which one. */
struct kept {
	bool executor; /**< ehview; else an ehfiles */
	bool known; /**< the ehlaunch that has made the view still runs */
	uint32_t uid; /**< whose files they are */
	uint32_t number; /**< executor: of file systems; home: which of them, from 0 on */
	char token[ATTACH_TOKEN]; /**< of the view */
	char other[ATTACH_CODE]; /**< the node of the other side */
};

/*
 * Encoders return the bytes written, at most ATTACH_SIZE. Decoders return 0 or -EBADMSG, and ignore what
 * a newer version has added behind the fields that they know.
 */
size_t attach_encode(const struct attach *a, uint8_t *out);
int attach_decode(struct attach *a, const uint8_t *in, size_t length);
/** Whether this is the payload of an executor's end. */
bool attach_is_executor(const uint8_t *in, size_t length);
size_t attached_encode(const struct attached *a, uint8_t *out);
int attached_decode(struct attached *a, const uint8_t *in, size_t length);
size_t note_encode(const struct note *n, uint8_t *out);
int note_decode(struct note *n, const uint8_t *in, size_t length);
size_t kept_encode(const struct kept *k, uint8_t *out);
int kept_decode(struct kept *k, const uint8_t *in, size_t length);

#endif
