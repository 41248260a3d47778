/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file make.h
 * Keys (P-256), certificates and signing requests, made by libcrypto, whose random numbers keys and
 * serial numbers are. Times are arguments. All return NULL when there is no memory, or when
 * libcrypto says no (ERR_get_error(3)).
 */
#ifndef CERT_MAKE_H
#define CERT_MAKE_H

#include <stddef.h>
#include <stdint.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#define CERT_PEM_MAX 4096 /**< bytes of a certificate or a request as PEM; ours have about 900 */

EVP_PKEY *cert_key_new(void);
/**
 * The certificate of an authority, signed by itself. `cluster` is NULL or "" for one without a name,
 * `origin` the host where it is made ("": not noted). Valid for `days` from `now`, in seconds since
 * 1970, and for an hour before, as clocks of hosts differ.
 */
X509 *cert_authority_new(EVP_PKEY *key, const char *cluster, const char *origin, int64_t now,
			 unsigned int days);
/** The certificate of a host for a public key; it ends with its authority's at the latest. */
X509 *cert_node_new(EVP_PKEY *key, const char *host, X509 *authority, EVP_PKEY *authority_key,
		    int64_t now, unsigned int days);
/** A signing request for a host (RFC 2986). */
X509_REQ *cert_request_new(EVP_PKEY *key, const char *host);
/**
 * The public key of a request, to be freed by the caller. NULL with the reason in *why: it is not
 * signed by that key, the key is not one on P-256, or its CN is not `host`.
 */
EVP_PKEY *cert_request_key(X509_REQ *request, const char *host, const char **why);

/* As PEM: allocated text, and back. Text beyond `length` bytes is not read. */
char *cert_to_pem(X509 *cert);
char *cert_request_to_pem(X509_REQ *request);
char *cert_key_to_pem(EVP_PKEY *key);
X509 *cert_from_pem(const char *text, size_t length);
X509_REQ *cert_request_from_pem(const char *text, size_t length);
EVP_PKEY *cert_key_from_pem(const char *text, size_t length);

#endif
