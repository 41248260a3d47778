/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file parts.h
 * A roster in parts of 64 codes, of which two agents exchange those that differ: so no message grows
 * with the cluster. What is said is in docs/protocol.md, "The roster".
 */
#ifndef CLUSTER_PARTS_H
#define CLUSTER_PARTS_H

#include <jansson.h>
#include "cluster/roster.h"

/** Codes of a part: as many entries as are checked for one message and fit into one. */
#define PARTS_CODES 64

/** {"topology","version","roster":[],"sums":[part, sum, ...]}: what this host has, each part with a
 *  sum of its signed entries. NULL: no memory. */
json_t *parts_sums(const struct roster *r);
/** {"topology","version","roster":[],"differ":[parts]}: where a host with these sums has something
 *  else. NULL, with the reason in *why. */
json_t *parts_differ(const struct roster *r, const json_t *sums, const char **why);
/** {"topology","version","part","roster":[entries]}: the signed entries of a part, but those that are
 *  the same in `has` (or NULL). NULL: no memory. */
json_t *parts_entries(const struct roster *r, uint32_t part, const struct roster *has);
/** The whole roster, as far as it fits into this many bytes: signed entries only. NULL: no memory. */
json_t *parts_whole(const struct roster *r, size_t most);

#endif
