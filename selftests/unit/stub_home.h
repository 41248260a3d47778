/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stub in a network namespace of its own, with this process as its agent and as the executor's end of
 * its job at once.
 */
#ifndef UNIT_STUB_HOME_H
#define UNIT_STUB_HOME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <cmocka.h>

#include "base/clock.h"
#include "job/end.h"
#include "wire/attach.h"
#include "wire/frame.h"
#include "wire/job.h"

#define STUB_LIMIT_MS 60000 /* a loaded machine is slow, and nothing here waits for it */
#define STUB_FRAME (FRAME_HEADER + (256 << 10))

struct stub_home {
	int listener, agent; /* agent: the stub's connection; -1: none */
	pid_t stub;
	int status; /* as from waitpid(), when it has ended */
	bool ended, stopped;
	int fds[3]; /* given to the stub; -1: closed there */
	struct {
		int fd, number;
	} more[12]; /* the same above 2 */
	int nmore, hold[2]; /* hold: the child waits for its end; 0: not */
	bool opens; /* the executor opens files itself */
	int tty; /* slave of its terminal; -1: none */
	int shell[2]; /* its parent tells here what waitpid() says; 0: we are the parent */
	uint8_t in[STUB_FRAME], out[FRAME_HEADER + FRAME_LINK_MAX];
	size_t have, from, to;
	struct job_end far;
	uint8_t memory[JOB_MEMORY];
	struct attached attached;

	/* what it has said */
	bool job, attach_known, cut_at_attach;
	uint32_t flags;
	struct job_file files[JOB_FILES_MAX]; /* their texts are gone */
	struct job_descriptor descriptors[JOB_DESCRIPTORS_MAX];
	uint32_t nfiles, ndescriptors;
	char makeflags[256];
	struct terminal first;
	struct attach attach;
	unsigned int attaches, notes[NOTE_WHATS];
	struct note note; /* the last */
	bool lost;
	unsigned int offers[JOB_CHANNELS], nones[JOB_CHANNELS], ends[JOB_CHANNELS],
		closed[JOB_CHANNELS], terminals;
	bool ahead;
	size_t answered; /* bytes before the copies */
	uint8_t data[1 << 20]; /* of channel 0 and the terminal */
	size_t length;
	unsigned int typed; /* JOB_DATA of the terminal */
	unsigned int signals[65];
	struct job_message sent; /* the last JOB_SIGNAL */
	char path[256], line[512]; /* of the program; its arguments, a blank behind each */
	const struct rlimit *few; /* descriptors that the stub may have; NULL: as many as we */
	bool no_more; /* and it may not raise that */
	uid_t user; /* that it is; 0: as we are */
	bool weak; /* with none of our capabilities, so it cannot look at us */
	uint64_t nofile; /* RLIMIT_NOFILE, the hard one */
	int foreground; /* -1: not said */
	struct terminal modes;
	bool flush;
};

int stub_listen(void);
struct stub_home *stub_open(void);
void stub_frame(struct stub_home *h, enum frame_type type, const void *payload, size_t length);
void stub_attach(struct stub_home *h);
void stub_cut(struct stub_home *h);

/* One round; waits for an event, at most 20 ms. */
void stub_step(struct stub_home *h);

#define UNTIL(h, what)                                              \
	do {                                                        \
		uint64_t end_ = clock_ms() + STUB_LIMIT_MS;         \
		while (!(what)) {                                   \
			if (clock_ms() > end_)                      \
				fail_msg("not in time: %s", #what); \
			stub_step(h);                               \
		}                                                   \
	} while (0)

/* The next stub_start() starts nothing before stub_let(), when this process has closed its files. */
void stub_hold(struct stub_home *h);
void stub_let(struct stub_home *h);

/* In a child: executes the stub. */
void stub_child(struct stub_home *h, char **argv);

/* With descriptors h->fds, which are closed here. */
void stub_start(struct stub_home *h, const char *option, const char *token, const char *path,
		const char *argument);
void stub_say(struct stub_home *h, const struct job_message *m);

/* The stub sends its task, which starts "there". */
void stub_begin(struct stub_home *h);

/* Starts a task and runs it "there". */
void stub_run(struct stub_home *h, const char *option, const char *token);
void stub_print(struct stub_home *h, uint32_t channel, const void *bytes, size_t n);
void stub_exit(struct stub_home *h, int status, bool more);
void stub_close(struct stub_home *h);

/* A task ends as it did there, and both ends know it; stub_close() follows. */
void stub_ends(struct stub_home *h, int status);
void stub_over(struct stub_home *h, int status);

/* Of this descriptor of the task: its number, if it is one of 0-2 as they usually are. */
uint32_t stub_channel(const struct stub_home *h, uint32_t number);

/* Its first descriptors are /dev/null. */
void stub_null(struct stub_home *h, int n);
void stub_pipe(int fds[2]);
short stub_poll(int fd, short events);

/* What is in it now, as a string. */
const char *stub_content(int fd);

/* Alone with its socket's name. */
void stub_program(void);

/* With three of /dev/null. */
struct stub_home *stub_open_null(void);
/* One more descriptor. */
void stub_give(struct stub_home *h, int number, int fd);

/* The channel of a descriptor, 0: none. */
uint32_t stub_file_channel(const struct stub_home *h, uint32_t number);
const struct job_file *stub_file(const struct stub_home *h, uint32_t number);

#endif
