/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file revoke.h
 * The list of what the cluster's authority has revoked: an X.509 CRL (RFC 5280, 5), made, signed and
 * parsed by libcrypto. A host is revoked by its name: all its certificates that begin until then, so
 * that nobody has to know them all. A single certificate is revoked by its fingerprint. X.509 has no
 * place for either, so they are a critical extension of ours, a SEQUENCE of UTF8String:
 * "host NAME SECONDS" or "certificate FINGERPRINT SECONDS". Serial numbers in a list hold, too.
 */
#ifndef CERT_REVOKE_H
#define CERT_REVOKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "cert/name.h"
#include "cert/read.h"

#define REVOKE_MAX 512 /**< entries of a list */
#define REVOKE_PEM_MAX 131072 /**< bytes of a list as PEM; with all entries about 75000 */

struct revoke_entry {
	char host[CERT_HOST_MAX + 1]; /**< "": a certificate */
	unsigned char digest[CERT_DIGEST]; /**< cert_digest() of it, without `host` */
	int64_t at; /**< when it was revoked, in seconds since 1970 */
};

struct revoke_list {
	int64_t number; /**< above 0; a list with a higher one takes its place (RFC 5280, 5.2.3) */
	size_t count;
	struct revoke_entry entries[REVOKE_MAX];
	X509_CRL *crl; /**< serial numbers are looked up in it */
};

/**
 * A list as PEM, allocated. It is good as long as its authority. NULL: more than REVOKE_MAX entries,
 * no memory, or libcrypto says no.
 */
char *revoke_to_pem(const struct revoke_entry *entries, size_t count, int64_t number,
		    X509 *authority, EVP_PKEY *authority_key, int64_t now);
/** The reverse, if this authority signed it. NULL with the reason in *why. */
struct revoke_list *revoke_from_pem(const char *text, size_t length, X509 *authority,
				    const char **why);
void revoke_free(struct revoke_list *list);

/** Whether a list revokes this certificate; no list (NULL) revokes none. */
bool revoke_has(const struct revoke_list *list, X509 *cert);
/** When the certificates of a host were revoked, in seconds since 1970; 0: they were not. */
int64_t revoke_of_host(const struct revoke_list *list, const char *host);
/**
 * The time with which a host is to be revoked now, so that its certificate is, which begins at
 * `begins` (0: not known), and all that were revoked before stay so: the clock may have been set back.
 */
int64_t revoke_time(const struct revoke_list *list, const char *host, int64_t now, int64_t begins);

/** 64 hexadecimal digits of either case, perhaps with colons between pairs. false: it is none. */
bool revoke_is_print(const char *text, unsigned char digest[CERT_DIGEST]);

#endif
