/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file build.h
 * A build by make or ninja whose commands run by a plan.
 *
 * The tool itself decides what is out of date, what waits for what, and what a failure means. Instead
 * of a shell it starts build_line_main() for each command, which asks here where to run it. A dry run
 * says before which commands there will be. A plan made of that may be wrong: a command that was not
 * foreseen runs here at once, and one that never comes is not needed.
 */
#ifndef EHPLAN_BUILD_H
#define EHPLAN_BUILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster.h"
#include "workflow.h"

#define BUILD_NO_TASK UINT32_MAX

/** A command that the dry run foresees. */
struct build_line {
	char *where; /**< what identifies it: directory and target, or the command itself */
	char *text;
	uint32_t next; /**< with the same `where`, or BUILD_NO_TASK */
	int fd; /**< to the process that stands for it; -1: it has not come, or is over */
	bool came;
};

struct build {
	char *const *args; /**< of the tool, NULL-terminated */
	bool ninja;
	char *directory; /**< where the tool works */
	char *shell, *flags; /**< that the tool would use */
	char folder[64]; /**< of the socket, and of what takes the shell's place */
	struct build_line *lines; /**< by task of the graph */
	struct plan_names *places; /**< all `where` */
	uint32_t *first; /**< line by place */
	uint32_t nlines;
	int listener, events; /**< -1: closed */
	pid_t pid; /**< of the tool; 0: it has ended */
	int status; /**< of wait() */
};

/** Makes the directory and asks the tool what it would run. The graph has no tasks if that is
 *  nothing. 0 or an exit code after a message. End it with build_close() in either case. */
int build_open(struct build *b, struct workflow *w);
void build_close(struct build *b);

/** Starts the tool with `jobs` commands at a time. Its output goes to `out`. 0 or an exit code after a
 *  message. `lock` stays open in it. */
int build_start(struct build *b, unsigned int jobs, int out, int lock);

enum build_what {
	BUILD_NOTHING, /**< more to come later */
	BUILD_CAME, /**< the tool wants to run this task now */
	BUILD_RUNS, /**< as process `pid` */
	BUILD_ENDED, /**< with `status` */
	BUILD_LOST, /**< the process that stood for it is gone */
};

struct build_event {
	uint32_t task;
	pid_t pid;
	int status;
	double start, finish; /**< of CLOCK_MONOTONIC */
};

/** The next thing that was told on b->events, which can be polled. Does not wait. */
enum build_what build_next(struct build *b, struct build_event *event);
/** Runs the task on a host. -errno if that cannot be told. */
int build_send(struct build *b, uint32_t task, const struct cluster_host *host, const char *view);
/** Lets the tool know that the task has ended. */
void build_finish(struct build *b, uint32_t task);

/* ---- build_make.c, build_ninja.c ---- */

/** What the tool would run. 0 or an exit code after a message. */
int build_make_read(struct build *b, struct workflow *w);
int build_ninja_read(struct build *b, struct workflow *w);

/* ---- for those two ---- */

/** In a child: what build_line_main() needs to know. `lock` -1: there is none. 0 or -1. */
int build_environment(const struct build *b, int lock);

/** Runs the tool to its end. Its output, which is the caller's, and status. NULL after a message. */
char *build_ask(const struct build *b, char *const *argv, int *status, size_t *length);

/* ---- build_line.c ---- */

/** ehplan in place of a shell: argv[0] is "--line" or "--dry-line". The exit code. */
int build_line_main(int argc, char **argv);

/** The target, for .SHELLFLAGS: make splits them at quotes, so a name has none. */
#define BUILD_TARGET "'$(subst ',%27,$(subst %,%25,$@))'"

/** What both sides of the socket say; a message begins with one of these. */
enum build_word {
	BUILD_ASKS = 'A', /**< level, directory, target, command; each ends with a null byte */
	BUILD_STARTED = 'S', /**< a pid_t */
	BUILD_STATUS = 'E', /**< a struct build_status */
	BUILD_HERE = 'H', /**< run it here, as if nobody had asked */
	/** '1' if the host is this one, else '0'; host, view; end with a null byte */
	BUILD_GO = 'G',
	BUILD_OVER = 'F', /**< exit as the command did */
};
#define BUILD_MESSAGE_MOST (160 << 10) /**< one argument has 128 KiB at most */

struct build_status {
	int status;
	double start, finish;
};

/** in the environment of the tool: directory, lock, shell, flags */
#define BUILD_FOLDER "EHSCHED_BUILD"
#define BUILD_LOCK "EHSCHED_BUILD_LOCK"
#define BUILD_SHELL "EHSCHED_BUILD_SHELL"
#define BUILD_FLAGS "EHSCHED_BUILD_FLAGS"

#endif
