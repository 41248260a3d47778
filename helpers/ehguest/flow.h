/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file flow.h
 * What flows through the pipes of the program: in through an intake, out through outlets.
 */
#ifndef EHGUEST_FLOW_H
#define EHGUEST_FLOW_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guest;

struct outlet {
	int fd; /**< -1: none, or closed */
	uint32_t channel;
	bool ready; /**< poll() said so */
	uint64_t sent, owed; /**< bytes; `sent` when all from before the exit is sent */
};

struct intake {
	int fd; /**< the pipe's write end; -1: none, or closed */
	int probe; /**< tells what is unread when `fd` is closed; -1: nothing was unread */
	ino_t inode;
	dev_t device;
	bool offered; /**< home has input, which was not asked for */
	bool ahead; /**< home sends copies within a window */
	bool end; /**< home has no more */
	bool broken; /**< the program has closed it, and home was not told yet */
	bool ready; /**< poll() said that it can be written */
	uint64_t written; /**< bytes, into the pipe */
	uint64_t granted; /**< bytes that were read when credit was given */
	uint64_t read; /**< as last seen */
	uint8_t *held; /**< what the pipe has no room for; NULL: nothing */
	size_t from, to; /**< the part of it that is held */
	int64_t look_at, wait_ms; /**< for a reader, or for progress */
};

void flow_init(struct guest *g);
/** Opens the descriptors of the program but its terminals: `its` ends, and ours in *g. 0 or -errno. */
int flow_open(struct guest *g, uint32_t flags, int its[3]);

/* Events to wait for; fd -1: none. */
struct pollfd outlet_poll(const struct guest *g, const struct outlet *o);
struct pollfd intake_poll(const struct guest *g);

/** Sends home what the program has written. */
void outlet_step(struct guest *g, struct outlet *o);
/** Closes it; the program's next write raises SIGPIPE. */
void outlet_close(struct outlet *o);
/** The program has ended: what is in the pipe now precedes the exit. */
void outlet_exited(struct outlet *o);

void intake_offer(struct guest *g, bool ahead);
/** 0, or -errno: home has sent more than it may, or there is no memory. */
int intake_data(struct guest *g, const uint8_t *bytes, size_t n);
void intake_end(struct guest *g); /**< home says JOB_END */
/** Writes, looks for readers and for progress. */
void intake_step(struct guest *g);
/** Says what was read, exactly. */
void intake_tell(struct guest *g);
/** The program has ended. */
void intake_exited(struct guest *g);

#endif
