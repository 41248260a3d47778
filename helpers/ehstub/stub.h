/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file stub.h
 * The stub stands in for a task that runs on another node: same pid, parent, terminal and signals.
 * It is home's end of the job (lib/job/end.h) and keeps the task's descriptors. It is static and
 * small, because each task away has one. One loop does all, and nothing in it waits but poll().
 */
#ifndef EHSTUB_STUB_H
#define EHSTUB_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "helpers/end/session.h"
#include "job/end.h"
#include "opens.h"
#include "sink.h"
#include "source.h"
#include "terminal.h"
#include "wire/frame.h"
#include "wire/view.h"
#include "witness.h"

#define STUB_NO_TRANSPORT 255 /**< status of ssh when it could not do its part */
#define STUB_SINKS 3 /**< 1, 2 and the terminal */
#define STUB_SINKS_MAX (STUB_SINKS + JOB_FILES_MAX)
#define STUB_SOURCES_MAX (1 + JOB_FILES_MAX)

/** What the stub is doing. */
enum phase {
	PHASE_ASKS, /**< until GO: every failure ends in an exec here */
	PHASE_RUNS,
	PHASE_DRAINS, /**< the task has ended: its output is being written */
	PHASE_NOTES, /**< its use is being accounted for */
	PHASE_STAYS, /**< this is the copy that writes what the task's children send */
	PHASE_SETTLES, /**< the last acknowledgements */
	PHASE_LOST, /**< output that has come is being written */
};

/** Why a job is lost. */
enum loss {
	LOSS_NONE,
	LOSS_GONE, /**< the agents say so */
	LOSS_LIMIT, /**< no connection for too long */
	LOSS_AGENT, /**< the same, and it was this node's agent that did not answer */
	LOSS_PROTOCOL,
	LOSS_STARVED, /**< killed because memory was short there, and its connection is fine */
	LOSS_LOCK, /**< it has ended, and a lock that it has left is another process's by now */
};

struct stub {
	const char *token, *path;
	char **all; /**< our arguments */
	char **argv; /**< of the program */
	bool by_shell; /**< that is sh, which runs the program as a script */
	bool explicit; /**< `ehctl exec NODE`: a refusal is an error */
	bool rsh; /**< of ehrsh: failures that are not the task's end in STUB_NO_TRANSPORT */
	bool no_terminal; /**< a terminal is only bytes for it */
	bool retry; /**< may be run again here when its executor is lost */
	enum view view; /**< whose files it sees there */
	uint64_t sigmask; /**< as the exec left it; all are blocked while we are here */
	uint32_t flags; /**< of the job */
	enum phase phase;
	struct rlimit files; /**< of descriptors, as the program is to have it */
	bool raised; /**< ours is another one */
	struct witness witness;
	int signals, ending; /**< signalfd of all; of those that end it, until GO */
	uint8_t *named; /**< FRAME_NAMED, to be sent; NULL: no files are named */
	size_t named_length; /**< with its header */

	/* the connection */
	struct session session;
	bool ready; /**< the other end waits for GO */
	bool noted, starved; /**< FRAME_NOTED has come, and said so */
	bool again; /**< it was killed, and may be run again if memory was short: nothing is closed yet */
	int64_t until; /**< limit of this phase */
	enum loss loss;
	bool lost; /**< nothing is heard any more */
	enum job_state before; /**< when it was lost */

	/* the task */
	uint32_t stop; /**< signal to stop with; 0: none */
	bool cont; /**< SIGCONT must be forwarded */
	uint64_t cont_number; /**< of the frame that forwarded the last one; 0: none */
	bool told_to_end; /**< a signal of SIGNALS_ENDING was forwarded */
	struct frame_exit use;
	bool more; /**< its children still write */
	bool over; /**< they do not any more */
	bool cut; /**< because they are lost */
	bool copy; /**< of the stub, which itself has ended */
	uint32_t nsources, nsinks;
	struct source sources[STUB_SOURCES_MAX]; /**< the first is of descriptor 0 */
	struct sink sinks[STUB_SINKS_MAX]; /**< 1, 2 and the terminal, and others */
	struct opens opens;
	struct tty tty;
	_Alignas(4096) uint8_t memory[JOB_MEMORY]; /**< of the link */
};

extern char **environ;

#endif
