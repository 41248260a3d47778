/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file caller.h
 * What only home's agent can know of the process that sends a job, because the kernel tells it: who it
 * is, and what it may use. The payload of FRAME_CALLER, which goes before the job that the process itself
 * has encoded. No I/O.
 */
#ifndef WIRE_CALLER_H
#define WIRE_CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job.h"

struct caller {
	uint32_t uid, gid;
	uint32_t loginuid; /**< who logged in, for audit; or JOB_LOGINUID_UNSET */
	int32_t nice;
	bool no_new_privs;
	uint64_t hard[JOB_RLIMITS]; /**< limits; ~0 for none */
	uint64_t traits[JOB_TRAITS]; /**< by enum job_trait */
	uint32_t ngroups; /**< at most JOB_GROUPS_MAX */
	uint32_t *groups; /**< allocated */
};

/** Returns the bytes that caller_encode() will write. */
size_t caller_size(const struct caller *c);
/** `out` has room for caller_size() bytes. */
void caller_encode(const struct caller *c, uint8_t *out);
/**
 * Returns 0, or on failure, with nothing to free, -EBADMSG (malformed) or -ENOMEM. What a newer version
 * has added behind the fields that are known is ignored.
 */
int caller_decode(struct caller *c, const uint8_t *in, size_t length);
void caller_free(struct caller *c);

#endif
