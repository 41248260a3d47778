/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two ends of a job, their routers and the connections between them, which break: for tests. */
#ifndef UNIT_JOB_ROUTES_H
#define UNIT_JOB_ROUTES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "job/end.h"

#define START 200
#define LIMIT 300
#define FRAME (FRAME_HEADER + LINK_HEADER + JOB_MESSAGE_MAX)
#define DEEP 64 /* entries of a queue */
#define FULL 8 /* of these, frames */
#define LATE 16
#define EXPECT (1u << 20)

enum { HOME, AWAY };

/* ---- what happens to frames ---- */

enum kind { LINK, ATTACHED, DETACHED, GONE };

struct entry {
	enum kind kind;
	size_t n;
	uint8_t bytes[FRAME];
};

extern struct job_routes {
	/* Towards the executor 0 1 2, towards home 3 4 5; connections 0 and 2 are to the routers. */
	struct queue {
		unsigned int first, length;
		struct entry list[DEEP];
	} queues[6];
	struct connection {
		bool up;
		int64_t again; /* when it may come again */
	} connections[3];
	struct entry late[2][LATE]; /* towards home, the executor */
	struct end {
		struct job_end e;
		uint8_t *memory;
		bool alive, lost, gone;
		enum job_state before, seen;
		bool attached;
		int64_t since; /* attached, detached, or begun */
	} ends[2];
	int64_t now;
	bool calm;
	unsigned int hostile; /* one step in so many has a fault */
	uint64_t breaks, odd, kills, longs, finished, lost_jobs, local_runs, nones, bytes_all;
} job;

struct queue *routes_queue_out(int end);
void routes_push(struct queue *q, enum kind kind, const uint8_t *bytes, size_t n);

/* ---- connections ---- */

void routes_drop(int c);
void routes_open_all(void);
void routes_take(int end, const struct entry *e);

/* The head of a queue goes on its way. */
void routes_forward(int q);
void routes_send_out(int end);

#endif
