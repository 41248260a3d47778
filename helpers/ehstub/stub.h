/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file stub.h
 * The stub stands in for a task that runs on another node: same pid, parent, terminal and signals.
 * It is home's end of the job (lib/job/end.h) and keeps the task's descriptors. It is static and
 * small, because each task away has one. One loop does all, and nothing in it waits but poll().
 */
#ifndef EHSTUB_STUB_H
#define EHSTUB_STUB_H

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "helpers/end/calls.h"
#include "helpers/end/session.h"
#include "job/end.h"
#include "wire/attach.h"
#include "wire/frame.h"
#include "wire/job.h"
#include "wire/view.h"

#define STUB_BIT(sig) (1ull << ((sig)-1))
/** Signals by which users end a task. */
#define STUB_ENDING (STUB_BIT(SIGHUP) | STUB_BIT(SIGINT) | STUB_BIT(SIGQUIT) | STUB_BIT(SIGTERM))
#define STUB_NO_TRANSPORT 255 /**< status of ssh when it could not do its part */
#define TYPED_MAX 4096 /**< bytes of the longest line of a terminal */

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

/** How a descriptor is used without waiting, and without a change for others that share it. */
enum kind {
	KIND_OWN, /**< opened again: our own open file, non-blocking */
	KIND_SOCKET,
	KIND_FILE, /**< regular file or block device: always ready */
	KIND_OTHER, /**< is asked with poll() each time */
};

/** A descriptor, or the terminal, that is written with data from the other end. */
struct sink {
	int fd; /**< -1: closed or broken, data are dropped */
	enum kind kind;
	uint32_t channel;
	bool end; /**< close it when all is written */
	bool shut; /**< and shut this direction down before, as others may have the socket */
	int64_t end_at; /**< not before; 0: at once */
	bool broken; /**< nobody reads it any more: JOB_CLOSED must be said */
	uint8_t *held; /**< ring of JOB_WINDOW bytes; NULL: none, and nothing waits */
	size_t from, length; /**< the part of it that waits */
	uint64_t done; /**< bytes written or dropped */
	uint64_t exit_at; /**< `done` when all from before the exit is written */
};

enum feed {
	FEED_NONE, /**< nothing can be read, or will be */
	FEED_IDLE, /**< nothing is offered */
	FEED_OFFERED, /**< JOB_OFFER was said */
	FEED_AHEAD, /**< copies flow; what the program reads is taken out */
};

#define SOURCE_GIVEN 64
/** Bytes of copies that the program has not read: a window, behind an answer. Whoever asks for more waits. */
#define SOURCE_COPIES (JOB_WINDOW + JOB_DATA_MAX)

/** Descriptor 0, if it is not a terminal, or another one that the task reads. */
struct source {
	int fd; /**< -1: none, or closed */
	uint32_t channel;
	bool tokens; /**< of make's jobserver: what the task has not read goes back */
	uint8_t given[SOURCE_GIVEN]; /**< of these, the last bytes in answers */
	enum feed feed;
	enum kind kind;
	bool hangs; /**< a pipe without a name: when its writers have gone none comes again */
	bool ready; /**< poll() has seen something since the last read */
	bool ended; /**< JOB_END must be said, or was */
	bool told; /**< it was */
	bool looked, able; /**< for other readers, and there were none; it can be copied ahead */
	int64_t again_at; /**< look for them again, if there were some */
	bool pair; /**< a pair of sockets is there, which does not show how much of a part was read */
	uint32_t asked; /**< bytes in answers, and what a question is worth */
	int64_t look_at; /**< look for more then; SESSION_NEVER */
	int look_ms; /**< and after that; 0: wait for events */
	uint64_t copied, taken; /**< of copies: bytes sent, bytes taken out of the source */
	off_t first; /**< offset of a file at the start */
	int pipe[2], null, events; /**< for copies: our own pipe, /dev/null, epoll; -1: none */
	int size; /**< of the source, if it is a pipe: as it was before the copies; 0: it is not copied */
	size_t peeked; /**< bytes in our own pipe: copied, and not sent yet */
	size_t least; /**< that are read from it: what does not fit of a packet (O_DIRECT) is gone */
	bool used; /**< something was taken out of it, which cannot be put back */
};

/** The controlling terminal, whether or not one of descriptors 0-2 is it. */
struct tty {
	int fd; /**< -1: none. Our own open file, once the task runs, or if it is none of 0-2 */
	enum feed feed;
	bool ready, hung; /**< input; hung up, and JOB_END must be said */
	bool foreground; /**< our process group is in the foreground, as the other end was told */
	bool orphaned; /**< we cannot be stopped: the task is not told of the background */
	struct terminal first, last; /**< modes at the start; modes that the task has set */
	bool changed; /**< the task has changed the modes */
	/** `last` must be set, behind `before` bytes of held output; input must be dropped */
	bool pending, flush;
	size_t before;
	bool tell, tell_flush; /**< JOB_TERMINAL must be said */
	bool kept; /**< `typed` is the last input that was sent, not known to be read */
	uint32_t typed_length; /**< 0: end of file */
	uint64_t sent, taken; /**< bytes sent, and read by the task; an end of file counts as one */
	uint8_t typed[TYPED_MAX];
};

#define STUB_SINKS 3 /**< 1, 2 and the terminal */
#define STUB_SINKS_MAX (STUB_SINKS + JOB_FILES_MAX)
#define STUB_SOURCES_MAX (1 + JOB_FILES_MAX)
#define DESCRIPTOR_NAME 32 /**< bytes of "/proc/self/fd/N" */

/** What the task has open beyond its usual descriptors, and the descriptors that lead there. */
struct opens {
	uint32_t usual; /**< bit n: descriptor n of 0-2 is open, and not here */
	bool terminal; /**< one of these is the controlling terminal */
	uint32_t nfiles, ndescriptors;
	struct job_file files[JOB_FILES_MAX]; /**< file i has channel JOB_CHANNEL_FILES + i */
	int fds[JOB_FILES_MAX]; /**< one descriptor of each */
	bool there[JOB_FILES_MAX]; /**< the executor has opened it */
	uint8_t locks[JOB_FILES_MAX]; /**< LOCK_SH or LOCK_EX, which the task has left; 0: none */
	struct job_descriptor descriptors[JOB_DESCRIPTORS_MAX];
	char **environment; /**< of the program there; NULL: ours */
	bool tokens; /**< there are some of make's jobserver */
	bool made_up; /**< those that the task has kept */
	const char *trouble; /**< why the task cannot be carried, and the descriptor */
	int culprit;
	int64_t lock_at; /**< try again then */
	int64_t lock_until; /**< 0: not tried yet */
};

struct witness_page;

/** A child in our process group, which tells what was sent to the group from what was sent to us. */
struct witness {
	pid_t pid; /**< 0 or less: none */
	struct witness_page *page;
	unsigned int asked; /**< number of the last question */
	/** by signal: of those that it saw, told to the task */
	unsigned int used[CALLS_SIGNALS + 1];
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
	uint8_t *memory; /**< of the link */
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
	bool told_to_end; /**< a signal of STUB_ENDING was forwarded */
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
};

extern char **environ;

/* start.c */
/** A line of clean text to descriptor 2, for at most a second. */
void stub_say(const char *const *parts, int n);
/** How a message begins: with the command that the user has typed, if it names a node. */
const char *stub_caller(const struct stub *s);
void run_here(struct stub *s) __attribute__((noreturn));
/** A failure before GO, which is none of the program. */
void give_up(struct stub *s, const char *what, int error) __attribute__((noreturn));
/** The agent or the executor refuses; `reason` 0: the node is this one; `error`: errno of the execve()
 *  there, or 0. */
void refused(struct stub *s, uint32_t reason, int error, const char *text)
	__attribute__((noreturn));

/* failure.c */
/** Says why the program was not executed, as a shell does; `node` NULL: here. Returns the exit
 *  status. */
int failure_tell(const struct stub *s, const char *node, int error);

/* job.c */
/** Looks at the files that the arguments name. Without memory none are. */
void stub_name_files(struct stub *s);
/** Sends FRAME_NAMED and FRAME_JOB, at most `until` then. 0 or -errno. */
int stub_send_job(struct stub *s, int64_t until);

/* loop.c */
void stub_loop(struct stub *s) __attribute__((noreturn));

/* end.c */
int end_open(struct stub *s); /**< 0 or -ENOMEM */

/* exit.c */
void exit_step(struct stub *s); /**< moves on after an exit or a loss */
void exit_begin(struct stub *s, const struct job_message *m);
void exit_lose(struct stub *s);

/* lost.c */
void lost_report(struct stub *s) __attribute__((noreturn));

/* descriptor.c */
const char *descriptor_name(int fd, char name[DESCRIPTOR_NAME]); /**< in /proc */
/**
 * descriptor_leads - Whether a descriptor of a process leads to this file
 * @fds: its /proc/PID/fd, which can be listed though the process has more rights
 *
 * Return: 1, 0, or -errno: it cannot be told.
 */
int descriptor_leads(DIR *fds, const struct dirent *entry, const struct stat *it);
/** Opens a descriptor again where that helps, at its number. */
enum kind descriptor_adopt(int fd);
/** Prepares it for a program again: our own open file blocks, as programs expect. */
void descriptor_restore(int fd, enum kind kind);
bool descriptor_is_master(int fd); /**< of a pseudo-terminal */
ssize_t descriptor_read(int fd, enum kind kind, uint8_t *to, size_t room); /**< n or -errno */
ssize_t descriptor_write(int fd, enum kind kind, const uint8_t *data, size_t n);
int descriptor_above_2(int fd); /**< moves it above 2; -1 stays -1 */

/* sink.c */
void sink_open(struct stub *s);
struct sink *sink_of(struct stub *s, uint32_t channel); /**< NULL: none */
void sink_put(struct stub *s, struct sink *k, const uint8_t *data, size_t n);
void sink_end(struct stub *s, struct sink *k, bool shut);
void sink_on_poll(struct stub *s, struct sink *k, short events);
void sink_step(struct stub *s); /**< says what must be said */
enum sink_ends {
	SINK_ENDS_WAIT,
	SINK_ENDS_NOW,
	SINK_ENDS_NOT, /**< they stay open for another run */
};
/** What becomes of those that the task has closed by ending. */
void sink_settle_ends(struct stub *s, enum sink_ends ends);
void sink_drop(struct stub *s, struct sink *k); /**< closes it */
void sink_spare(struct stub *s); /**< gives memory back in which nothing waits */

/* source.c */
void source_init(struct source *from, uint32_t channel);
struct source *source_of(struct stub *s, uint32_t channel); /**< NULL: none */
void source_open(struct stub *s); /**< descriptor 0 */
void source_use(struct source *from, int fd); /**< another one */
void source_step(struct stub *s, struct source *from);
void source_look(struct stub *s, struct source *from); /**< if it is time */
bool source_wants(const struct source *from, struct pollfd *p); /**< whether to poll it, and how */
void source_on_poll(struct source *from, short events);
/** The program has read so much of the copies. */
void source_read(struct stub *s, struct source *from, uint64_t total);
void source_close(struct stub *s, struct source *from);
void source_shut(const struct source *from); /**< this direction of a socket */
int source_rewind(struct stub *s); /**< 0, for a second run. 0; -errno: not possible */
int source_again(struct source *from); /**< the same for another one */

/* copies.c */
/** Prepares copies of it. False: they are not possible. */
bool copies_open(struct source *from);
/** Copies what follows the copies that were made. Bytes, 0: end, or -errno. */
ssize_t copies_make(struct source *from, uint8_t *to, size_t room);
void copies_take(struct source *from, uint64_t n); /**< takes bytes out of the source */
/** More of a pipe may be on the way, as the program reads it. */
void copies_widen(struct source *from);
void copies_close(struct source *from);

/* readers.c */
/** Whether a process, other than this one and its witness (0: none), reads what this descriptor reads, or
 *  may do so and cannot be looked at. Ancestors count if `all`. */
bool readers_other(int fd, pid_t witness, bool all);

/* opens.c */
/** Looks at all descriptors, before we have any of our own. False: `trouble` says what cannot be
 *  carried. */
bool opens_look(struct opens *o);
bool opens_has(const struct opens *o, int fd); /**< whether this descriptor is there */

/* opened.c */
void opens_begin(struct stub *s); /**< the task runs: uses what the executor has not opened */
int opens_on_message(struct stub *s, const struct job_message *m); /**< 0 or -EPROTO */
/** What was used of this channel is closed; then its other descriptors are, too. */
void opens_closed(struct stub *s, uint32_t channel);
void opens_end(struct stub *s); /**< the task has ended: it reads no more */
/** Takes the locks that the task has left. 0, -EAGAIN or, after the limit of the job, -ETIMEDOUT. */
int opens_lock(struct stub *s);
const char *opens_again(struct stub *s); /**< for a second run. NULL; or why it is not possible */

/* tokens.c */
bool tokens_look(struct opens *o); /**< finds those of make's jobserver */
void tokens_given(struct source *from, const uint8_t *bytes, size_t n);
void tokens_give_back(struct stub *s, struct source *from); /**< what was given and not read */
/** The task was killed, or is lost: what it had taken and not put back is put back for it. */
void tokens_make_up(struct stub *s);

/* terminal.c */
int terminal_get(int fd, struct terminal *t); /**< 0 or -errno */
void terminal_open(struct stub *s);
void terminal_look(struct stub *s); /**< whether the foreground has changed */
void terminal_step(struct stub *s); /**< says what must be said */
void terminal_change(struct stub *s, const struct job_message *m);
void terminal_settle(struct stub *s); /**< sets pending modes if it may do so now */
void terminal_restore(struct stub *s); /**< to those from before the task */
void terminal_show(struct stub *s, const uint8_t *data, size_t n);
void terminal_hangup(struct stub *s);

/* typed.c */
void typed_step(struct stub *s);
/** Puts input back that the task has not read. Whether there was any. */
bool typed_give_back(struct stub *s);

/* witness.c */
void witness_start(struct witness *w); /**< all signals are blocked */
/** Whether this signal, which was taken a moment ago, was sent to the group. */
bool witness_saw(struct witness *w, int sig);
void witness_dismiss(struct witness *w); /**< it is not needed any more */
void witness_end(struct witness *w); /**< nothing of it is left */

/* signals.c */
uint64_t stub_ignored(void);
bool signals_wanted(const struct stub *s); /**< whether a signal could be forwarded now */
void signals_forward(struct stub *s);
void signals_drop(int sig); /**< takes a pending signal */
/** Stops as by this signal's default action. Returns when continued. */
void stub_stop(struct stub *s, int sig);
void stub_die(struct stub *s, int sig) __attribute__((noreturn));

#endif
