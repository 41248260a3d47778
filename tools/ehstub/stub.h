/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file stub.h
 * The stub stands in for a task that runs on another node: same pid, parent,
 * terminal and signals. It is static, and in memory once for each task away.
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

#include "wire/frame.h"
#include "wire/job.h"
#include "wire/view.h"

#define STUB_BIT(sig) (1ull << ((sig)-1))
/** By which a user ends a task. */
#define STUB_ENDING (STUB_BIT(SIGHUP) | STUB_BIT(SIGINT) | STUB_BIT(SIGQUIT) | STUB_BIT(SIGTERM))
#define STUB_TEXT_MAX 4104 /**< the longest payload an agent sends to a stub */

struct stub {
	const char *token, *path;
	char **argv; /**< of the program */
	bool explicit; /**< `ehctl exec NODE`: a refusal is an error */
	enum view view; /**< whose files it is to see there */
	bool retry; /**< may be run again here when its executor is lost */
	uint64_t sigmask; /**< as the exec left it; all are blocked while we are here */
	int socket, signals; /**< to the agent; signalfd */
	int feed; /**< terminal's bytes go in here; -1: stdin is none */
	bool fed; /**< some have gone */
	int given[3], ngiven; /**< descriptors that came with the last frame */
	bool started;
	bool told_to_end; /**< a signal for that was forwarded */
};

extern char **environ;

/* main.c */
int stub_above_2(int fd); /**< descriptor or -1 in and out; 0-2 are the program's */

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
/** What feed_step() waits for: events of poll() for descriptor `*fd`; -1: nothing. */
int feed_wants(struct stub *s, int *fd, short *events, int *timeout_ms);
void feed_step(struct stub *s);

#endif
