/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file report.h  `ehctl run --report`: what became of a session, when its command has ended. */
#ifndef EHCTL_REPORT_H
#define EHCTL_REPORT_H

#include <stdbool.h>

/** What goes to the process that reports; nothing of it is needed by the command. */
struct report {
	int to; /**< -1: there is no report */
};

/**
 * Forks. In the child -1 is returned: it becomes the command. The parent waits for it, prints the
 * report to stderr, and returns the exit code; it dies of the signal that killed the command.
 */
int report_fork(struct report *r, const char *what);
/** The child has a session. `managed`: the module gives what is used elsewhere to the stubs. */
void report_session(const struct report *r, const char *session, bool managed);

#endif
