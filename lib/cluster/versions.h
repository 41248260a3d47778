/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file versions.h
 * Which versions of a protocol two sides speak, and which of them they use. Each side says the oldest
 * and the newest that it speaks; both take the highest that is common. docs/protocol.md, "Versions",
 * says what may change within a version. No I/O.
 */
#ifndef CLUSTER_VERSIONS_H
#define CLUSTER_VERSIONS_H

#include <jansson.h>
#include <stdint.h>

/**
 * Of the protocol between agents: 1 is that of agents that do not say any; 2 says its versions in
 * hello, and what is unknown in a message is ignored; 3 has POST /v1/start, and credits
 * in a row (docs/protocol.md).
 */
#define VERSIONS_OLDEST 1u
#define VERSIONS_NEWEST 3u
#define VERSIONS_START 3u /**< the first with POST /v1/start */
#define VERSIONS_CREDITS 3u /**< the first whose credits are in a row */
#define VERSIONS_OF_AGENTS ((struct versions){ VERSIONS_OLDEST, VERSIONS_NEWEST })

#define VERSIONS_MAX 1000000u /**< the highest number of a version */
#define VERSIONS_TEXT 240 /**< bytes of a text of versions_say(), with its NUL */

/** All from `min` to `max`. */
struct versions {
	uint32_t min, max;
};

/** How the versions of another side fit to ours. */
enum versions_fit {
	VERSIONS_FIT, /**< there is a common one */
	VERSIONS_TOO_OLD, /**< the other side must be upgraded */
	VERSIONS_TOO_NEW, /**< this side must be upgraded */
	VERSIONS_UNKNOWN, /**< what the other side says is not a range */
};

/** `common`: the version to use, 0 if there is none. */
enum versions_fit versions_agree(const struct versions *ours, const struct versions *theirs,
				 uint32_t *common);

/** Reads `protocol`:{`min`,`max`} of a message; absent is version 1 alone, malformed {0,0}. */
struct versions versions_of(const json_t *message);
/** Adds `protocol` to a message, and returns it. NULL, also for NULL: no memory; it is freed then. */
json_t *versions_put(json_t *message, const struct versions *v);

/**
 * A sentence about two sides that do not fit, which says whom to upgrade. `what` is the protocol, as
 * in "n1 speaks protocol 3". Returns `out`; "" if they fit.
 */
const char *versions_say(char out[VERSIONS_TEXT], const char *what, const char *our_name,
			 const struct versions *ours, const char *their_name,
			 const struct versions *theirs);

#endif
