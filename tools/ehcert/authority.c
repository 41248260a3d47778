// SPDX-License-Identifier: GPL-2.0-or-later
#include "authority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

#include "cert/make.h"
#include "cert/name.h"
#include "cert/read.h"
#include "ehcert.h"

int authority_failed(const char *what, const char *name)
{
	unsigned long code = ERR_get_error();

	ERR_clear_error();
	return fail(EXIT_REFUSED, "%s: %s: %s", name, what,
		    code ? ERR_reason_error_string(code) : "out of memory");
}

void authority_free(struct authority *a)
{
	X509_free(a->cert);
	EVP_PKEY_free(a->key);
	a->cert = NULL;
	a->key = NULL;
}

/* A key and its certificate, the key first. */
static int authority_put(struct files *files, const char *key_name, EVP_PKEY *key,
			 const char *cert_name, X509 *cert)
{
	char *private = cert_key_to_pem(key), *public = cert_to_pem(cert);
	int code;

	if (!private || !public)
		code = authority_failed("cannot write it as text", cert_name);
	else
		code = files_write(files, key_name, private, true)
			       ?: files_write(files, cert_name, public, false);
	if (private)
		OPENSSL_cleanse(private, strlen(private));
	free(private);
	free(public);
	return code;
}

int authority_make(struct authority *a, struct files *files, const char *cluster,
		   const char *origin, unsigned int days)
{
	int code;

	a->key = cert_key_new();
	a->cert = a->key ? cert_authority_new(a->key, cluster, origin, time(NULL), days) : NULL;
	if (a->cert)
		code = authority_put(files, AUTHORITY_KEY, a->key, AUTHORITY_CERT, a->cert);
	else
		code = authority_failed("cannot make the authority", AUTHORITY_CERT);
	if (code)
		authority_free(a);
	return code;
}

int authority_read(struct authority *a, const char *dir)
{
	size_t length;
	char *text = files_read(dir, AUTHORITY_CERT, &length);
	int code = EXIT_REFUSED;

	*a = (struct authority){ 0 };
	if (!text)
		goto missing;
	a->cert = cert_from_pem(text, length);
	free(text);
	if (!a->cert)
		return authority_failed("no certificate", AUTHORITY_CERT);
	text = files_read(dir, AUTHORITY_KEY, &length);
	if (!text)
		goto missing;
	a->key = cert_key_from_pem(text, length);
	OPENSSL_cleanse(text, length);
	free(text);
	if (!a->key)
		code = authority_failed("no private key", AUTHORITY_KEY);
	else if (X509_check_private_key(a->cert, a->key) != 1)
		code = authority_failed("is not the key of " AUTHORITY_CERT, AUTHORITY_KEY);
	else
		return 0;
	authority_free(a);
	return code;

missing:
	authority_free(a);
	return fail(EXIT_REFUSED,
		    "%s: no authority there that can be read; `ehctl cert init %s` "
		    "creates one",
		    dir, dir);
}

int authority_certify(const struct authority *a, struct files *files, const char *host,
		      unsigned int days)
{
	char cert_name[CERT_HOST_MAX + 8], key_name[CERT_HOST_MAX + 8];
	EVP_PKEY *key = NULL;
	X509 *cert = NULL;
	int code;

	snprintf(cert_name, sizeof(cert_name), "%s.crt", host);
	snprintf(key_name, sizeof(key_name), "%s.key", host);
	code = files_fresh(files, cert_name) ?: files_fresh(files, key_name);
	if (code)
		return code;
	key = cert_key_new();
	if (key)
		cert = cert_node_new(key, host, a->cert, a->key, time(NULL), days);
	if (cert)
		code = authority_put(files, key_name, key, cert_name, cert);
	else
		code = authority_failed("cannot make the certificate", cert_name);
	X509_free(cert);
	EVP_PKEY_free(key);
	return code;
}
