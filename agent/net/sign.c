// SPDX-License-Identifier: GPL-2.0-or-later
/* Signatures (OpenSSL 3). */

#include "net/sign.h"

#include <stdlib.h>
#include <string.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "cert/name.h"
#include "cert/read.h"
#include "cert/revoke.h"
#include "net/tls.h"

#define SIGN_CERTS_MAX 5 /* as many as tls.c follows */
#define SIGN_DEPTH_MAX 4

/* ---- base64 ---- */

static char *sign_encode(const unsigned char *bytes, size_t n)
{
	char *text = malloc((n + 2) / 3 * 4 + 1);

	if (text)
		EVP_EncodeBlock((unsigned char *)text, bytes, (int)n);
	return text;
}

static unsigned char *sign_decode(const char *text, size_t *n)
{
	const size_t length = strlen(text);
	unsigned char *bytes = malloc(length + 1);
	int got = bytes ? EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)length) : -1;

	if (got < 0) {
		free(bytes);
		return NULL;
	}
	for (size_t i = length; i && text[i - 1] == '=' && got; i--)
		got--;
	*n = got;
	return bytes;
}

/* ---- certificates ---- */

static int sign_put(X509 *cert, unsigned char **at)
{
	int n = i2d_X509(cert, at);

	return n > 0 ? n : 0;
}

char *sign_certificate(const struct tls *tls)
{
	SSL_CTX *ctx = tls_context_of(tls);
	X509 *own = SSL_CTX_get0_certificate(ctx);
	STACK_OF(X509) *more = NULL;
	unsigned char *bytes, *at;
	size_t n = i2d_X509(own, NULL);
	char *text = NULL;

	SSL_CTX_get0_chain_certs(ctx, &more);
	for (int i = 0; i < sk_X509_num(more); i++)
		n += i2d_X509(sk_X509_value(more, i), NULL);
	bytes = at = malloc(n);
	if (!bytes)
		return NULL;
	n = sign_put(own, &at);
	for (int i = 0; i < sk_X509_num(more); i++)
		n += sign_put(sk_X509_value(more, i), &at);
	text = sign_encode(bytes, n);
	free(bytes);
	return text;
}

/* The host's first. NULL: malformed, or no memory. */
static STACK_OF(X509) * sign_parse(const char *text)
{
	STACK_OF(X509) *certs = sk_X509_new_null();
	const unsigned char *at;
	unsigned char *bytes;
	size_t n = 0;
	X509 *one;

	bytes = sign_decode(text, &n);
	at = bytes;
	while (certs && bytes && at < bytes + n && sk_X509_num(certs) < SIGN_CERTS_MAX) {
		one = d2i_X509(NULL, &at, (long)(bytes + n - at));
		if (!one || !sk_X509_push(certs, one)) {
			X509_free(one);
			break;
		}
	}
	if (certs && (!bytes || at != bytes + n || !sk_X509_num(certs))) {
		sk_X509_pop_free(certs, X509_free);
		certs = NULL;
	}
	free(bytes);
	return certs;
}

/* NULL, or what is wrong. */
static const char *sign_trust(SSL_CTX *tls, const struct revoke_list *revoked,
			      STACK_OF(X509) * certs, const char *cluster, const char *host)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509 *leaf = sk_X509_value(certs, 0);
	const char *why = "its certificate was not issued by this cluster's authority";
	const STACK_OF(X509) * chain;
	char cn[CERT_HOST_MAX + 1];

	if (!ctx)
		return "out of memory";
	if (!cert_host(leaf, cn, sizeof(cn)) || strcmp(cn, host) != 0) {
		why = "its certificate belongs to another host";
		goto free_ctx;
	}
	if (X509_STORE_CTX_init(ctx, SSL_CTX_get_cert_store(tls), leaf, certs) != 1)
		goto free_ctx;
	X509_STORE_CTX_set_flags(ctx, X509_V_FLAG_NO_CHECK_TIME);
	X509_STORE_CTX_set_depth(ctx, SIGN_DEPTH_MAX);
	if (X509_verify_cert(ctx) != 1)
		goto free_ctx;
	chain = X509_STORE_CTX_get0_chain(ctx);
	why = cert_refusal(leaf, sk_X509_value(chain, sk_X509_num(chain) - 1), cluster);
	if (!why && revoke_has(revoked, leaf))
		why = "its certificate was revoked";
free_ctx:
	X509_STORE_CTX_free(ctx);
	return why;
}

/* ---- signatures ---- */

/* Keys on Edwards curves have their own. */
static const EVP_MD *sign_digest(const EVP_PKEY *key)
{
	const int id = EVP_PKEY_get_id(key);

	return id == EVP_PKEY_ED25519 || id == EVP_PKEY_ED448 ? NULL : EVP_sha256();
}

char *sign_make(const struct tls *tls, const void *text, size_t length)
{
	EVP_PKEY *key = SSL_CTX_get0_privatekey(tls_context_of(tls));
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char *bytes = NULL;
	char *sign = NULL;
	size_t n;

	if (!ctx || !key || EVP_DigestSignInit(ctx, NULL, sign_digest(key), NULL, key) != 1 ||
	    EVP_DigestSign(ctx, NULL, &n, text, length) != 1)
		goto free_ctx;
	bytes = malloc(n);
	if (bytes && EVP_DigestSign(ctx, bytes, &n, text, length) == 1)
		sign = sign_encode(bytes, n);
	free(bytes);
free_ctx:
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return sign;
}

static bool sign_is_good(X509 *cert, const char *sign, const void *text, size_t length)
{
	EVP_PKEY *key = X509_get0_pubkey(cert);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char *bytes = NULL;
	bool good = false;
	size_t n = 0;

	bytes = sign_decode(sign, &n);
	if (ctx && key && bytes &&
	    EVP_DigestVerifyInit(ctx, NULL, sign_digest(key), NULL, key) == 1)
		good = EVP_DigestVerify(ctx, bytes, n, text, length) == 1;
	free(bytes);
	EVP_MD_CTX_free(ctx);
	return good;
}

const char *sign_check(const struct tls *tls, const struct revoke_list *revoked,
		       const char *cluster, const char *host, const char *cert, const char *sign,
		       const void *text, size_t length)
{
	STACK_OF(X509) *certs = sign_parse(cert);
	const char *why;

	if (!certs) {
		ERR_clear_error();
		return "its certificate is malformed";
	}
	/* Only keys that the authority has signed are used: the maker of another one chose its cost. */
	why = sign_trust(tls_context_of(tls), revoked, certs, cluster, host);
	if (!why && !sign_is_good(sk_X509_value(certs, 0), sign, text, length))
		why = "the signature was not made by its host";
	sk_X509_pop_free(certs, X509_free);
	ERR_clear_error();
	return why;
}

bool sign_is_revoked(const struct revoke_list *revoked, const char *cert)
{
	STACK_OF(X509) *certs = sign_parse(cert);
	bool is = certs && revoke_has(revoked, sk_X509_value(certs, 0));

	sk_X509_pop_free(certs, X509_free);
	ERR_clear_error();
	return is;
}
