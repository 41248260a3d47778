/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file stub.h
 * The stub stands in for a task that runs on another node: same pid, parent,
 * terminal and signals. It is static and small, because each task away has one.
 *
 * Signal sets are plain 64-bit words and the calls are the kernel's own: musl
 * keeps signals 32-34 for itself, but a task may use 34 (glibc's SIGRTMIN).
 */
#ifndef EHSTUB_STUB_H
#define EHSTUB_STUB_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "wire/frame.h"
#include "wire/job.h"
#include "wire/view.h"

#define STUB_BIT(sig) (1ull << ((sig)-1))
/** Signals by which users end a task. */
#define STUB_ENDING (STUB_BIT(SIGHUP) | STUB_BIT(SIGINT) | STUB_BIT(SIGQUIT) | STUB_BIT(SIGTERM))
#define STUB_TEXT_MAX 4104 /**< the longest payload an agent sends to a stub */

/** State of a terminal as standard input. */
enum feed {
	FEED_NONE, /**< standard input is no terminal, or it was hung up */
	FEED_IDLE, /**< there is no input */
	FEED_OFFERED, /**< there is input, and the task has not asked for it yet */
};

struct stub {
	const char *token, *path;
	char **argv; /**< of the program */
	bool explicit; /**< `ehctl exec NODE`: a refusal is an error */
	enum view view; /**< whose files it sees there */
	bool retry; /**< may be run again here when its executor is lost */
	uint64_t sigmask; /**< as the exec left it; all are blocked while we are here */
	int socket, signals; /**< to the agent; signalfd */
	int terminal; /**< the lowest of 0-2 that is the controlling terminal; -1: none */
	struct termios modes; /**< of it, at the start */
	uint32_t ttys; /**< JOB_TTY(n) for each that is */
	enum feed feed;
	bool fed; /**< some input was sent */
	bool foreground; /**< our process group is in the foreground, as the agent was told */
	bool orphaned; /**< we cannot be stopped: the task is not told of the background */
	int given[3], ngiven; /**< descriptors that came with the last frame */
	bool started;
	bool told_to_end; /**< a signal of STUB_ENDING was forwarded */
};

extern char **environ;

/* main.c */
void stub_send(struct stub *s, enum frame_type type, const void *payload, size_t length);
int stub_above_2(int fd); /**< moves a descriptor above 2; -1 stays -1 */

/* job.c */
/** Sends FRAME_JOB with descriptors 0-2. 0 or -errno. */
int stub_send_job(struct stub *s);

/* signals.c */
uint64_t stub_mask(uint64_t set); /**< sets the blocked signals, returns the former ones */
uint64_t stub_ignored(void);
int stub_signalfd(uint64_t set);
void stub_forward_signals(struct stub *s);
/** Stops as by this signal's default action. Returns when continued. */
void stub_stop(struct stub *s, int sig);
void stub_die(int sig) __attribute__((noreturn));

/* feed.c */
/** Tells the agent when the terminal was given to our process group, or taken from it. */
void feed_look(struct stub *s);
/** Whether feed_step() waits for POLLIN of descriptor 0; to be called again after the time-out. */
bool feed_wants(struct stub *s, int *timeout_ms);
void feed_step(struct stub *s, short events);
/** The task wants to read. */
void feed_wanted(struct stub *s);
/** The agent is lost: restores the terminal's modes. */
void feed_restore(const struct stub *s);

#endif
