/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file recheck.h
 * Live connections whose other side showed a certificate. A handshake checks it once; a connection
 * lasts for days. So all are looked at again when the configuration or the revocation list has
 * changed, and each ends when its certificate does.
 */
#ifndef AGENT_NET_RECHECK_H
#define AGENT_NET_RECHECK_H

#include <openssl/ssl.h>
#include <stdint.h>
#include <sys/queue.h>

struct agent;

/** One of them. The owner sets what is not private, and keeps it until recheck_remove(). */
struct recheck_one {
	SSL *ssl;
	const char *cn; /**< of the other side, for the log */
	void (*refuse)(void *ctx, const char *why); /**< ends it; may not call recheck_remove() */
	void *ctx;
	/* private to recheck.c */
	LIST_ENTRY(recheck_one) entry; /* le_prev NULL: it was not added */
	int64_t until; /* s since 1970 */
};

int recheck_init(struct agent *agent); /**< 0 or -ENOMEM */
void recheck_exit(struct agent *agent);

/** From now on its certificate is looked at again, at its end and after changes. */
void recheck_add(struct agent *agent, struct recheck_one *one);
/** Also of one that was not added. */
void recheck_remove(struct recheck_one *one);
/** Ends all whose certificate would not be accepted now. */
void recheck_all(struct agent *agent);

#endif
