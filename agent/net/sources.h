/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file sources.h
 * How often a source may connect. A handshake costs the one loop about 0.6 ms, and a host that reaches
 * the port may ask for as many as it can. A source (address_source()) may make SOURCES_BURST connections at
 * once, and then SOURCES_RATE in a second; all where no member listens may make SOURCES_STRANGE together.
 * So a source that floods waits, and members wait for no other source. Of bounded size. No input or output.
 */
#ifndef AGENT_NET_SOURCES_H
#define AGENT_NET_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCES_RATE 25u /**< with what is turned away, a tenth of a processor */
#define SOURCES_BURST 200u /**< many nodes behind one address, all of which connect again */
#define SOURCES_STRANGE 125u
#define SOURCES_SETS 128u /**< of strangers: a power of two */
#define SOURCES_WAYS 8u

/** What one may do. Zeroed: all. */
struct sources_bucket {
	uint64_t key;
	uint64_t full_at; /**< ms: when it may do all again */
};

struct sources {
	uint64_t secret; /**< odd: which strangers share a set cannot be known */
	struct sources_bucket all; /**< strangers together */
	struct sources_bucket strangers[SOURCES_SETS][SOURCES_WAYS];
	struct sources_bucket *members; /**< by key */
	size_t count;
};

/** Zeroed but for a secret. */
void sources_init(struct sources *sources, uint64_t secret);
void sources_exit(struct sources *sources);
/**
 * Where members listen: an array that it takes over and sorts, allocated; the same one may be there more
 * than once. A source keeps what it has done.
 */
void sources_set_members(struct sources *sources, struct sources_bucket *members, size_t count);
/** Whether a connection of this source may go on now (ms, monotonic); it counts then. */
bool sources_take(struct sources *sources, uint64_t key, uint64_t now);

#endif
