/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file renewed.h
 * A certificate that the agent got in time for the one of its configuration, with its key, in a file
 * beside `state`: the agent cannot write where the configuration is. cluster/renew.h asks for it.
 */
#ifndef AGENT_NET_RENEWED_H
#define AGENT_NET_RENEWED_H

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include "base/keep.h"

struct agent;
struct config;

/**
 * Uses it in a context that has the configured certificate and authorities, if it was made later and
 * is of the same host and an authority there. Else the context stays as it is; a warning says why.
 */
void renewed_use(SSL_CTX *ctx, const struct config *config);
/** Keeps one, with its key; `done` is called with the agent when that is on disk, or has failed. 0 or -errno. */
int renewed_keep(struct agent *agent, X509 *cert, EVP_PKEY *key, keep_done_fn done);

#endif
