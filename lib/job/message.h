/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file message.h
 * What the two ends of a job say to each other: home's end is the stub, the executor's end is the
 * parent of the program. The agents between them do not read it. No I/O, and nothing but libc.
 *
 * A job has channels. A channel carries bytes in both directions, each with its own credit:
 * descriptors 0 to 2 have the channel of their number, the terminal has JOB_CHANNEL_TERMINAL, and
 * each other open file of the task has one of its own.
 */
#ifndef JOB_MESSAGE_H
#define JOB_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"
#include "wire/job.h"
#include "wire/terminal.h"

#define JOB_CHANNEL_TERMINAL 3
#define JOB_CHANNELS_USUAL 4 /**< that every job has: descriptors 0-2 and the terminal */
/** The first of those that open files of their own have, in the order of struct job_spec. */
#define JOB_CHANNEL_FILES JOB_CHANNELS_USUAL
#define JOB_CHANNELS (JOB_CHANNEL_FILES + JOB_FILES_MAX)
/** Bytes of one JOB_DATA. */
#define JOB_DATA_MAX FRAME_DATA_MAX
#define JOB_TEXT_MAX 512 /**< bytes of the text of JOB_REFUSED */
/** Bytes of the longest encoded message. */
#define JOB_MESSAGE_MAX (4 + JOB_DATA_MAX)

enum job_what {
	/* from the executor's end to home's */
	JOB_READY = 1, /**< prepared; it starts nothing before JOB_GO */
	JOB_STARTED, /**< the program runs */
	JOB_REFUSED, /**< nothing has started, and nothing will */
	JOB_STOPPED, /**< a signal stopped it */
	JOB_CONTINUED,
	JOB_EXIT, /**< it has ended; follows all output written before that */
	JOB_OVER, /**< after an exit with `more`: the last of its children has ended */
	/* from home's end to the executor's */
	JOB_GO, /**< execute the program now */
	JOB_SIGNAL,
	JOB_FOREGROUND, /**< whether its process group is the terminal's foreground group */
	/* of a channel, in both directions */
	JOB_DATA, /**< towards the executor it answers JOB_WANT, unless it is a copy. Empty: an end of
		   *   file was typed at the terminal, which counts as one byte */
	JOB_END, /**< no more data of this channel: end of file, or the task has closed it */
	JOB_CLOSED, /**< nobody reads this channel any more: the writer gets SIGPIPE or EPIPE */
	JOB_WANT, /**< credit: bytes that may be sent on this channel in all, from its beginning. From the
		   *   executor also as many as before: there may be readers of which it is not seen
		   *   how much they wait for, and copies serve them, as they take nothing */
	JOB_OFFER, /**< from home: there is input, which was not taken from its source yet; answered by
		    *   JOB_WANT when the program wants to read */
	JOB_NONE, /**< from home: answers JOB_WANT. Another process has taken what was offered */
	JOB_READ, /**< from the executor: bytes of this channel that the program has read in all */
	JOB_TERMINAL, /**< modes and size of the terminal from now on, in order with JOB_DATA */
	/* of a channel, from the executor's end */
	JOB_OPENED, /**< before JOB_READY: the program has this file itself, and no data of it flow */
	JOB_SEEK, /**< the offset of such a file, as the program has left it */
	JOB_LOCK, /**< the program has left this flock() on it: home takes it before it says the end */
	JOB_WHATS
};

/** Whom a JOB_SIGNAL is for. */
enum job_reach {
	JOB_TO_TASK,
	JOB_TO_FOREGROUND, /**< as from its terminal, whose foreground group it is for */
	JOB_TO_GROUP, /**< the task's process group */
	JOB_REACHES
};

/** One message. Which member of the union is valid follows from `what`. */
struct job_message {
	enum job_what what;
	uint32_t channel; /**< of JOB_DATA to JOB_READ, and JOB_OPENED to JOB_LOCK */
	union {
		uint32_t pid; /**< JOB_STARTED: on the executor */
		uint32_t signal; /**< JOB_STOPPED */
		struct {
			uint32_t reason; /**< enum ehs_reason; 0: the chosen node is this one */
			uint32_t error; /**< errno of the program's execve(), else 0 */
			const char *text; /**< in the decoded bytes; `length` of them, and no NUL */
			uint32_t length;
		} refused;
		struct {
			struct frame_exit use;
			bool more; /**< children of it still have its descriptors, or its cgroup */
		} exit;
		struct {
			uint32_t signal;
			enum job_reach reach;
			bool queued; /**< by sigqueue(), with all that follows; else it is 0 */
			uint32_t pid, uid; /**< who sent it, at home */
			uint64_t value;
		} sent;
		bool foreground;
		struct {
			const uint8_t *bytes; /**< in the decoded bytes */
			uint32_t length;
			/** Read ahead: the source still has them, JOB_READ tells it what to take. */
			bool copy;
		} data;
		/** JOB_END, JOB_CLOSED, of a socket: the program has shut down this direction, and has the
		 *  socket open. Said by a JOB_READ of the same total just before, which says nothing
		 *  else, and nothing to older ends. */
		bool shut;
		bool ahead; /**< JOB_OFFER: copies follow within a window, not one answer */
		uint64_t total; /**< JOB_WANT, JOB_READ: bytes, never less than before */
		uint64_t offset; /**< JOB_SEEK */
		bool exclusive; /**< JOB_LOCK */
		struct {
			struct terminal modes;
			bool flush; /**< input that was not read must be dropped, too */
		} terminal;
	};
};

/** Writes a message, at most JOB_MESSAGE_MAX bytes, without its type. Returns their number. */
size_t job_message_encode(const struct job_message *m, uint8_t *out);
/**
 * Reads a message of type `what`. 0, or -EBADMSG: unknown, malformed, or a value out of its range.
 * Pointers in it are to `in`. What a newer version has added behind the fields is ignored.
 */
int job_message_decode(struct job_message *m, uint32_t what, const uint8_t *in, size_t length);

#endif
