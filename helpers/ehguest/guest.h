/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file guest.h
 * The executor's end of one job: parent of the program, holder of the other ends of its descriptors,
 * and leader of its session. It runs as the user, with the limits of the program. Its agent started
 * it, but it outlives that agent. One loop, in which nothing waits but poll().
 *
 * All signals are blocked.
 */
#ifndef EHGUEST_GUEST_H
#define EHGUEST_GUEST_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "helpers/end/calls.h"
#include "helpers/end/session.h"
#include "job/end.h"
#include "wire/attach.h"
#include "wire/job.h"
#include "wire/terminal.h"

struct launch_start;

#define GUEST_OUTS (2 + JOB_FILES_MAX)
#define GUEST_INS (1 + JOB_FILES_MAX)

/** The program, from fork to exit. */
struct program {
	pid_t pid; /**< 0: none, or reaped */
	pid_t group; /**< the number that it had, and its process group has; 0: none */
	bool prepared; /**< all is ready for JOB_GO */
	bool executed;
	const char *trouble; /**< why it cannot start; NULL: nothing is known */
	uint32_t reason; /**< enum ehs_reason of that; 0: EHS_REASON_START_FAILED */
	int error; /**< errno of that, or 0 */
	bool not_executed; /**< it is that of its execve() */
	bool reap; /**< children have changed their state */
	bool childless; /**< as of the last look */
	bool stopped; /**< and home was told so */
	bool pause; /**< its stub is stopped */
	bool paused; /**< stopped with the stub, and home was not told */
	bool hide_stop, hide_continue; /**< the next one comes from our own signal */
	int64_t paused_at;
	int64_t resume_at; /**< it is to go on when all of its group has stopped: the next look */
};

/** A pipe, or a pair of sockets, that the program writes to. */
struct outlet {
	int fd; /**< -1: none, or closed */
	bool socket; /**< of a pair: an intake has our end, too */
	ino_t inode; /**< of the program's socket then */
	uint32_t channel;
	bool ready; /**< poll() said so */
	int64_t end_at; /**< nobody writes any more: home is told then; SESSION_NEVER */
	uint64_t sent, owed; /**< bytes; `sent` when all from before the exit is sent */
};

/** A pipe, or a pair of sockets, that it reads. */
struct intake {
	uint32_t channel;
	bool socket; /**< of a pair: also an outlet has our end, as a duplicate */
	int fd; /**< the pipe's write end; -1: none, or closed */
	int probe; /**< tells what is unread when `fd` is closed; -1: nothing was unread */
	ino_t inode; /**< of the pipe, or of the program's socket */
	bool offered; /**< home has input, which was not asked for */
	bool ahead; /**< home sends copies within a window */
	bool end; /**< home has no more */
	bool broken; /**< the program has closed it, and home was not told yet */
	bool shut; /**< by shutdown() only */
	bool ready; /**< poll() said that it can be written */
	uint64_t written; /**< bytes, into the pipe */
	uint64_t granted; /**< bytes that were read when credit was given */
	uint64_t read; /**< as last seen */
	uint8_t *held; /**< for what the pipe has no room for; NULL: nothing is held */
	size_t from, to; /**< the part of it that is held */
	int64_t look_at, wait_ms; /**< for a reader, or for progress */
};

/**
 * The program's pseudo-terminal. Home's line discipline does the work (echo, editing, ^C); this one
 * passes bytes (EXTPROC) and reports changes of modes (packet mode). This process leads its session,
 * which job control needs: SIGTSTP does not stop an orphaned process group, so the program's parent
 * must be in the same session; and only a process of the session may set the foreground group.
 */
struct pty {
	int master; /**< -1: none, or closed */
	int slave; /**< tells what is unread; open until the program has ended; -1: none */
	bool given; /**< the program has a terminal */
	struct terminal known; /**< what home has or was told */
	uint32_t late; /**< bytes of output to pass before a change is sent; 0: none waits */
	uint8_t status; /**< of packet mode, read but not handled yet; 0: none */
	bool flush; /**< tell home too that typed input was dropped */
	bool our_flush; /**< dropped by us, so home is not told */
	bool raw; /**< the program has left canonical mode */
	bool entered; /**< and a line was ended since it was last heard */
	int64_t held_until; /**< what it says then waits; 0: nothing does */
	bool offered; /**< home has input, which was not asked for */
	bool ready; /**< poll() said so */
	bool dry; /**< nothing from before the exit is left in it */
	int64_t look_at, wait_ms, waited_ms;
	pid_t before; /**< foreground group when it was taken away */
	uint64_t typed; /**< bytes received; an end of file counts as one */
	uint64_t read; /**< of these, as last said */
	uint32_t last; /**< bytes of the last that was typed; 0: all gone */
};

/** The pipe of all processes of the program for tokens of make's jobserver. */
struct tokens {
	int fd; /**< ours, of both ends; -1: there are none */
	int its[2]; /**< until the program has them */
	ino_t inode;
	uint32_t from, to; /**< channels: tokens come, and go back */
	bool path; /**< the program has a path to it */
	bool offered; /**< home has some, and none was asked for */
	bool closed; /**< home takes none */
	bool ahead; /**< one was asked for that nobody waited for */
	bool ready; /**< poll() said that some lie there */
	uint64_t got; /**< from home */
	int owed; /**< of those that were there when the program ended */
	struct timespec put; /**< when the last was put there, at the last look */
	int64_t waits_until; /**< a process was seen to wait for one */
	int64_t look_at, wait_ms; /**< for one that waits */
	int64_t since, lie_at; /**< some lie there; look for them; SESSION_NEVER: none were seen */
	int64_t ahead_at, back_ms; /**< not before: one that nobody waits for */
};

/** A file that the program has itself, as the same open file. */
struct real {
	int fd;
	uint32_t channel;
	bool told; /**< home knows that it is open */
	off_t offset; /**< as home knows it */
};

/** Descriptors of the program: each of ours that becomes one of its. */
struct handed {
	unsigned int n;
	struct {
		int fd;
		uint32_t number;
	} all[3 + JOB_DESCRIPTORS_MAX];
};

/** What the program is started with, until it has executed. */
struct start {
	uint8_t *job; /**< encoded; NULL: it is over */
	uint32_t length;
	struct job_spec spec;
	struct handed its;
};

struct guest {
	int signals; /**< signalfd, of SIGCHLD */
	uint32_t flags; /**< of struct job_spec */
	struct start start;
	struct program program;
	unsigned int nins, nouts, nreals;
	struct intake in[GUEST_INS]; /**< the first: descriptor 0, if it is a pipe */
	struct outlet out[GUEST_OUTS]; /**< the first two: descriptors 1 and 2, if they are pipes */
	struct real reals[JOB_FILES_MAX];
	struct tokens tokens;
	uint32_t channels; /**< of the job */
	struct pty pty;

	/* ending.c */
	bool ended; /**< the program */
	bool noted; /**< the agent knows that */
	int64_t noted_by; /**< it is not waited for longer */

	struct session session;
	_Alignas(4096) uint8_t memory[JOB_MEMORY];
};

/* ---- main.c ---- */

/** Nothing has started, and nothing will. `error`: errno or 0; `exec`: of the program's execve(). */
void guest_refuse(struct guest *g, int error, const char *what, bool exec);
/** Frees what the program was started with. */
void start_over(struct start *s);
/** The task is stopped, or its stub is, and more is to be said than the final acknowledgement. */
bool guest_stands(const struct guest *g);

/* ---- connection.c ---- */

/** Begins, without a connection. */
void connection_init(struct guest *g);
/** Connects to a new agent when it is time to. */
void connection_again(struct guest *g);

/* ---- program.c ---- */

/** What can be done before JOB_GO, when g->start is whole. 0 or -errno. */
int program_prepare(struct guest *g);
/** Tells home what there is to tell of its start. */
void program_step(struct guest *g);
/** Starts it: it has executed then, or there is trouble. */
void program_go(struct guest *g);
/** Takes changes of state of all children. */
void program_reap(struct guest *g);
/** Passes on a JOB_SIGNAL. */
void program_signal(struct guest *g, const struct job_message *m);
/** Stops its group, or lets it go on, without a word to home. */
void program_pause(struct guest *g, bool on);
/** Lets it go on when it is time to. */
void program_tick(struct guest *g);

/* ---- flow.c ---- */

void flow_init(struct guest *g);
/** Opens the descriptors of the program: `its` ends, and ours in *g. 0; or -errno, perhaps with
 *  program.trouble. */
int flow_open(struct guest *g, const struct job_spec *spec, struct handed *its);
void flow_close(struct handed *its); /**< our duplicates of the program's ends */
/** A pipe or a pair of sockets on this channel. Returns the program's end or -errno. */
int flow_stream(struct guest *g, const struct job_file *f, uint32_t channel);

/* ---- real.c ---- */

/** Opens a file that home has open, if it is the same here. Returns the program's descriptor, -EXDEV:
 *  it is another one, or -errno. */
int real_open(struct guest *g, const struct job_file *f, uint32_t channel);
int real_device(const struct job_file *f); /**< a device of memory; a descriptor or -errno */
/** Says which files are open here, before JOB_READY. */
void real_say(struct guest *g);
/** Says the offsets that the program has left. */
void real_tell(struct guest *g);
/** The program has ended: what it has locked is home's. */
void real_exited(struct guest *g);

/** Events to wait for; fd -1: none. */
struct pollfd outlet_poll(const struct guest *g, const struct outlet *o);

/** Sends home what the program has written. */
void outlet_step(struct guest *g, struct outlet *o);
/** When outlet_step() has something to do by the clock. */
int64_t outlet_end_at(const struct guest *g, const struct outlet *o);
/** Whether the program's socket is there, though a direction of it is at its end. */
bool pair_is_shut(ino_t inode);
struct outlet *outlet_of(struct guest *g, uint32_t channel); /**< NULL: none */
/** Closes it; the program's next write raises SIGPIPE. */
void outlet_close(struct outlet *o);
/** The program has ended: what is in the pipe now precedes the exit. */
void outlet_exited(struct outlet *o);

/* ---- intake.c ---- */

struct intake *intake_of(struct guest *g, uint32_t channel); /**< NULL: none */
struct pollfd intake_poll(const struct guest *g, const struct intake *in);
void intake_offer(struct guest *g, struct intake *in, bool ahead);
/** 0, or -errno: home has sent more than it may, or there is no memory. */
int intake_data(struct guest *g, struct intake *in, const uint8_t *bytes, size_t n);
void intake_end(struct guest *g, struct intake *in); /**< home says JOB_END */
/** Writes, looks for readers and for progress. */
void intake_step(struct guest *g, struct intake *in);
/** Says what was read, exactly. */
void intake_tell(struct guest *g, struct intake *in);
void intake_spare(struct intake *in); /**< gives memory back that holds nothing */
/** The program has ended. */
void intake_exited(struct guest *g, struct intake *in);

/* ---- tokens.c ---- */

void tokens_init(struct guest *g);
/** Opens the pipe, if the job has a descriptor to take from and one to put back to. 0 or -errno. */
int tokens_open(struct guest *g, const struct job_spec *spec);
bool tokens_has(const struct guest *g, uint32_t channel); /**< whether it is of one of these */
int tokens_end(const struct guest *g, uint32_t channel); /**< the program's end */
/** Names the path, if home names one: that of a descriptor of the process `guest`. */
void tokens_name(const struct tokens *t, pid_t guest, const struct job_spec *spec);
void tokens_offer(struct guest *g);
void tokens_data(struct guest *g, const uint8_t *bytes, size_t n);
void tokens_over(struct guest *g,
		 uint32_t channel); /**< home gives none, or takes none, any more */
struct pollfd tokens_poll(const struct guest *g);
int64_t tokens_look_at(const struct guest *g); /**< when tokens_step() must be called */
void tokens_step(struct guest *g);
void tokens_exited(struct guest *g); /**< the program has ended */
bool tokens_owes(const struct guest *g); /**< some must go home before that is said */

/* ---- pty.c ---- */

void pty_init(struct guest *g);
/** Opens the terminal, with the modes of home's, and becomes the leader of its session. 0 or
 *  -errno. */
int pty_open(struct guest *g, const struct job_spec *spec);
/** Gives the program's group the terminal, or takes it away. */
void pty_foreground(struct guest *g, bool on);
struct pollfd pty_poll(const struct guest *g);
/** Sends home its output and modes. */
void pty_step(struct guest *g);
void pty_modes(struct guest *g, const struct terminal *t, bool flush); /**< set at home */
/** Signals the foreground group, as a terminal does. False: it cannot. */
bool pty_signal(struct guest *g, int sig);
void pty_exited(struct guest *g); /**< the program has ended; children may still write */
void pty_close(struct guest *g); /**< and hangs up */

/* ---- typed.c ---- */

void typed_offer(struct guest *g);
void typed_take(struct guest *g, const uint8_t *bytes, size_t n);
void typed_tell(struct guest *g); /**< says what was read */
void typed_step(struct guest *g); /**< asks for what is to be read */

/* ---- ending.c ---- */

/** The program has ended. */
void ending_begin(struct guest *g);
/** Says JOB_EXIT and JOB_OVER as soon as nothing must precede them. */
void ending_step(struct guest *g);

/* ---- kill.c ---- */

/** Kills the program and all of its descendants. */
void kill_all(struct guest *g);

/**
 * The executor's end of a job, from its start to its end. This process leads a session. `asked`: what home's
 * agent knows of the job's process, against what that says of itself; NULL: nothing. Returns the exit status.
 */
int guest_main(const struct launch_start *asked);
/** Our number outside of the pid namespace that is our own, whose first process we are; 0: we have none. */
extern pid_t guest_outside;
/** The number by which others know the program: there, that of this process. */
pid_t guest_shown(const struct guest *g);

#endif
