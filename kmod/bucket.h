/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Users share what a node has of a kind by the hash of their number, see
 * ehs_node_bucket(): each has a part, and those that are in the same bucket share one.
 */
#ifndef _EHS_BUCKET_H
#define _EHS_BUCKET_H

#include <linux/bits.h>
#include <linux/siphash.h>
#include <linux/types.h>

#define EHS_BUCKET_BITS 6
#define EHS_BUCKETS BIT(EHS_BUCKET_BITS)

/*
 * The cookie of a placement says to the module whose it is, so that an answer does when
 * its exec has gone. Everybody can read cookies, so to others the bits say nothing.
 */
static inline u64 ehs_bucket_cookie(u64 number, u32 bucket, const siphash_key_t *key)
{
	bucket ^= siphash_1u64(number, key) & (EHS_BUCKETS - 1);
	return number << EHS_BUCKET_BITS | bucket;
}

/* The bucket of the user whose placement has this cookie. */
static inline u32 ehs_bucket_of(u64 cookie, const siphash_key_t *key)
{
	return (cookie ^ siphash_1u64(cookie >> EHS_BUCKET_BITS, key)) & (EHS_BUCKETS - 1);
}

#endif /* _EHS_BUCKET_H */
