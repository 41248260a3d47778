/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file reserve_request.h
 * What a home says of a task for which it asks a place: the body of POST /v1/reserve, and of FRAME_START.
 */
#ifndef AGENT_EXECUTOR_RESERVE_REQUEST_H
#define AGENT_EXECUTOR_RESERVE_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/label.h"
#include "eh/credit.h"
#include "eh/topology.h"
#include "wire/view.h"

#define RESERVE_ID_MAX (EH_CODE_TEXT + 24) /* "HOME:COOKIE" */

struct peer;

/** The members of a request. Strings and objects are borrowed from the body. */
struct reserve_request {
	const char *id, *command, *path, *cwd_path;
	const char *user; /**< NULL: it has no name at home */
	enum view view;
	uid_t uid;
	uint64_t size, memory;
	json_t *program, *cwd;
	bool by_credit;
	struct eh_credit credit;
	struct label_wish wish;
};

/** "HOME:COOKIE" with the code of this peer, in the form of the name of a directory, as which it is used. */
bool reserve_request_id_is_good(const struct peer *from, const char *id);
/** Returns NULL, or what is wrong with the body. */
const char *reserve_request_read(struct reserve_request *q, const struct peer *from,
				 const json_t *body);

#endif
