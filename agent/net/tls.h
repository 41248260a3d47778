/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file tls.h
 * TLS 1.3 with certificates on both sides, all signed by the cluster's
 * authority. The callers decide from the CN what a host may do.
 */
#ifndef AGENT_NET_TLS_H
#define AGENT_NET_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/config.h"

struct agent;

/** Why the last verification on a connection failed, and the CN of the certificate. */
struct tls_verdict {
	struct agent *agent; /**< set before: whose side it is */
	char cn[128];
	const char *why; /**< NULL: nothing failed */
	bool invites; /**< set before: a side that only asks to be admitted needs no certificate */
	bool visitor; /**< this is one: it speaks TOKEN_ALPN and not HTTP/2 */
};

struct tls; /* contexts made from one configuration */

/** Reads the files of a configuration. NULL after an error on `errors`. */
struct tls *tls_new(const struct config *config, FILE *errors);
void tls_free(struct tls *tls);

/** Sets the contexts of new connections: takes over `tls` and frees the previous ones. */
void tls_use(struct agent *agent, struct tls *tls);

/** Key, certificates and authority of this node, for sign.c. Borrowed. */
SSL_CTX *tls_context_of(const struct tls *tls);

/** One side of a new connection. A failed verification is noted in `verdict`, which outlives it. */
SSL *tls_side(struct tls *tls, bool server, struct tls_verdict *verdict);

/** The CN of the other side's certificate. false: none, several or an invalid one. */
bool tls_peer_cn(SSL *ssl, char *cn, size_t size);

/** When the other side's certificate ends, or one above it, in seconds since 1970; 0: it has none. */
int64_t tls_peer_until(SSL *ssl);
/** Why the other side's certificate would not be accepted now; NULL: it would. */
const char *tls_peer_refusal(struct agent *agent, SSL *ssl);

/** The CN of our own certificate. */
bool tls_own_cn(const struct tls *tls, char *cn, size_t size);
/** Our own certificate, and the authority's that signed it (NULL: it is not known). Borrowed. */
X509 *tls_own(const struct tls *tls, X509 **authority);
/** Validity of our own certificate, in seconds since 1970; 0 or -errno. */
int tls_own_validity(const struct tls *tls, int64_t *from, int64_t *until, char *cn, size_t size);

#endif
