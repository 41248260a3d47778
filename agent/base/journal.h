/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file journal.h
 * Records what ran where and for whom, as entries of the journal with fields of their own (docs/operations.md), if
 * `audit` of the configuration says so.
 */
#ifndef AGENT_BASE_JOURNAL_H
#define AGENT_BASE_JOURNAL_H

#include <stdbool.h>
#include <sys/types.h>

struct agent;

/** Each has a MESSAGE_ID, which never changes. */
enum journal_what {
	JOURNAL_AWAY, /**< home: it runs on another node */
	JOURNAL_STAYS, /**< home: it was to be placed, and runs here, or was refused */
	JOURNAL_ENDED, /**< home: one that was away has ended, or is lost */
	JOURNAL_GUEST, /**< executor: a task of another node has started here */
	JOURNAL_GUEST_ENDED, /**< executor: it has ended */
	JOURNAL_WHATS
};

/** Texts are borrowed; NULL: the field is left out. */
struct journal_task {
	const char *id, *user, *program;
	const char *home, *executor; /**< codes */
	const char *reason;
	uid_t uid;
	int status; /**< as from waitpid() */
	bool ended; /**< there is a status */
};

/** Never waits: an entry that the journal does not take is counted and told with the next one. */
void journal_task(const struct agent *agent, enum journal_what what, const struct journal_task *t);

#endif
