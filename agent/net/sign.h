/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file sign.h
 * Signatures by the keys of hosts' certificates: SHA-256, and what the key is for (ECDSA on P-256,
 * as `ehctl cert` makes it). Certificates and signatures are base64.
 */
#ifndef AGENT_NET_SIGN_H
#define AGENT_NET_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct revoke_list;
struct tls;

/** Our own certificate, and those between it and the authority's. Allocated. NULL: no memory. */
char *sign_certificate(const struct tls *tls);
/** By our own key. The caller frees it. NULL: no memory, or the key signs nothing. */
char *sign_make(const struct tls *tls, const void *text, size_t length);
/**
 * Whether `sign` is of `text`, by the key of `cert`, which the authority signed for `host` and this
 * cluster, and has not revoked. When `cert` is valid is not looked at: a connection needs a valid one, and what a host
 * said stays said. NULL, or what is wrong. Costs about as much as two signatures: a key that the
 * authority has not signed is never used, as its owner may have made one that costs much more.
 */
const char *sign_check(const struct tls *tls, const struct revoke_list *revoked,
		       const char *cluster, const char *host, const char *cert, const char *sign,
		       const void *text, size_t length);

/** Whether this list (NULL: none) revokes the certificate, as text of sign_certificate(). */
bool sign_is_revoked(const struct revoke_list *revoked, const char *cert);

#endif
