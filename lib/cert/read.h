/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file read.h
 * What a certificate says. X.509 as RFC 5280 has it; only cert_issuer() checks a signature.
 */
#ifndef CERT_READ_H
#define CERT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <openssl/x509.h>

#define CERT_DIGEST 32 /**< bytes of a fingerprint: SHA-256 of the certificate in DER */

/** The CN. false: none, several, one with a NUL inside, or one that does not fit. */
bool cert_host(const X509 *cert, char *host, size_t size);
/**
 * The cluster, from the URI in the subjectAltName. 1; 0: there is none, `cluster` is ""; -1: several
 * or a malformed one.
 */
int cert_cluster(const X509 *cert, char *cluster, size_t size);
/** The host where an authority was made, which `ehctl cert` notes as OU. false: it is not noted. */
bool cert_origin(const X509 *authority, char *host, size_t size);
/**
 * Why the certificate of a host is not one of this cluster; NULL if it is one. An authority with a
 * name signs for that cluster only, and only certificates that name it, for both sides of TLS.
 */
const char *cert_refusal(X509 *cert, X509 *authority, const char *cluster);
/** The certificate among these that has signed this one; NULL: none has. */
X509 *cert_issuer(X509_STORE *known, X509 *cert);
/** Fingerprint. false: no memory. */
bool cert_digest(const X509 *cert, unsigned char digest[CERT_DIGEST]);
/** Begin of the validity of a certificate in DER and base64, in seconds since 1970; 0 if it is
 *  malformed. What follows it is not looked at. */
int64_t cert_since(const char *text);
/** End of the validity, and with `from` its begin, in seconds since 1970; 0 if it is malformed. */
int64_t cert_until(const X509 *cert, int64_t *from);
/**
 * What is wrong with the permissions of the file of a private key; NULL: nothing. The group may read
 * a file of root's (the agent's own user is in it), and no other user may do anything.
 */
const char *cert_exposed(mode_t mode, uid_t owner);

#endif
