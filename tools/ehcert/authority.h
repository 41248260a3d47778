/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file authority.h  The authority in a directory: ca.crt and ca.key. Failures are reported. */
#ifndef EHCERT_AUTHORITY_H
#define EHCERT_AUTHORITY_H

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "files.h"

#define AUTHORITY_CERT "ca.crt"
#define AUTHORITY_KEY "ca.key"

struct authority {
	X509 *cert;
	EVP_PKEY *key;
};

/** Makes and writes one for a cluster (NULL: without a name), at a host. 0, or an exit code. */
int authority_make(struct authority *a, struct files *files, const char *cluster,
		   const char *origin, unsigned int days);
/** Reads it. 0, or an exit code. */
int authority_read(struct authority *a, const char *dir);
/** Makes and writes HOST.key and HOST.crt. 0, or an exit code. */
int authority_certify(const struct authority *a, struct files *files, const char *host,
		      unsigned int days);
void authority_free(struct authority *a);
/** Says what libcrypto refused. Returns EXIT_REFUSED. */
int authority_failed(const char *what, const char *name);

#endif
