/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file directory.h
 * What name services say, without waiting for them: see helpers/common/directory.h.
 */
#ifndef AGENT_BASE_DIRECTORY_H
#define AGENT_BASE_DIRECTORY_H

#include <stdbool.h>

#include "helpers/common/directory.h"

/** Starts ehnames; questions before that wait. 0 or -errno: they still do. */
int directory_start(void);
/** Ends it: no question has an answer any more. */
void directory_exit(void);
/**
 * Waits for a quarter of a second at most, once for each question, and not if many are open. The answer is
 * valid until the next call. NULL: there is none now, and it is to be asked again.
 */
const struct directory_answer *directory_ask(const struct directory_question *q);
/**
 * The addresses of a host. Waits for nothing, and has one question of this kind open at a time, so that users do not
 * wait for it. 0: valid until the next call; -EAGAIN: ask again a little later; or another -errno.
 */
int directory_addresses(const char *host, const struct directory_answer **answer);
/** Whether a question about users or groups has no answer yet. */
bool directory_is_late(void);

#endif
