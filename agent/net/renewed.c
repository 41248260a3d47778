// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/renewed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/config.h"
#include "base/log.h"
#include "cert/make.h"
#include "cert/read.h"

#define RENEWED_FILE "certificate.pem"
#define RENEWED_MAX (2 * CERT_PEM_MAX)

/* NULL: it can be used; "": it need not be. */
static const char *renewed_check(SSL_CTX *ctx, X509 *cert, EVP_PKEY *key)
{
	X509 *had = SSL_CTX_get0_certificate(ctx);
	int64_t begins, began;
	char ours[256], its[256];

	if (!cert || !key || X509_check_private_key(cert, key) != 1)
		return "no certificate with its key";
	if (!cert_host(had, ours, sizeof(ours)) || !cert_host(cert, its, sizeof(its)) ||
	    strcmp(ours, its) != 0)
		return "it is of another host";
	/* a certificate of another kind would be kept beside it */
	if (!EVP_PKEY_is_a(X509_get0_pubkey(had), "EC"))
		return "the key of the configured certificate is of another kind";
	cert_until(cert, &begins);
	cert_until(had, &began);
	if (begins <= began)
		return "";
	if (!cert_issuer(SSL_CTX_get_cert_store(ctx), cert))
		return "it is not signed by an authority of the configuration";
	return NULL;
}

void renewed_use(SSL_CTX *ctx, const struct config *config)
{
	char path[PATH_MAX], *text = keep_read(config, RENEWED_FILE, RENEWED_MAX);
	EVP_PKEY *key = NULL;
	const char *why;
	X509 *cert = NULL;
	struct stat st;

	if (!text && errno == ENOENT)
		return;
	why = strerror(errno);
	if (!keep_path(config, RENEWED_FILE, path) || !text)
		goto say;
	why = stat(path, &st) ? strerror(errno) : cert_exposed(st.st_mode, st.st_uid);
	if (why)
		goto say;
	cert = cert_from_pem(text, strlen(text));
	key = cert_key_from_pem(text, strlen(text));
	why = renewed_check(ctx, cert, key);
	if (!why &&
	    (SSL_CTX_use_certificate(ctx, cert) != 1 || SSL_CTX_use_PrivateKey(ctx, key) != 1))
		why = "libssl refuses it";
say:
	if (why && *why)
		log_warning(RENEWED_FILE " beside %s: ignored: %s", config->state, why);
	ERR_clear_error();
	X509_free(cert);
	EVP_PKEY_free(key);
	if (text)
		OPENSSL_cleanse(text, strlen(text));
	free(text);
}

int renewed_keep(struct agent *agent, X509 *cert, EVP_PKEY *key, keep_done_fn done)
{
	char *one = cert_key_to_pem(key), *two = cert_to_pem(cert), *text = NULL;
	int err = -ENOMEM;

	if (one && two && asprintf(&text, "%s%s", one, two) >= 0)
		err = keep_write(agent, RENEWED_FILE, text, done, agent);
	if (one)
		OPENSSL_cleanse(one, strlen(one));
	if (text)
		OPENSSL_cleanse(text, strlen(text));
	free(one);
	free(two);
	free(text);
	return err;
}
