// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What comes from others: a token, a signing request, a certificate, a revocation list. A token that is accepted is
 * written the same, and so are the entries of a list. Nobody can sign a list by chance, so its entries are also what
 * comes, with a signature.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "cert/make.h"
#include "cert/read.h"
#include "cert/revoke.h"
#include "cert/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_token(const char *text)
{
	struct cert_token token, again;
	char same[TOKEN_TEXT];

	if (cert_token_parse(text, &token))
		return;
	if (!cert_token_format(&token, same) || cert_token_parse(same, &again) ||
	    memcmp(&token, &again, sizeof(token)) != 0)
		abort();
}

static void try_request(const char *text, size_t length)
{
	X509_REQ *request = cert_request_from_pem(text, length);
	const char *why = NULL;
	EVP_PKEY *key = request ? cert_request_key(request, "n3", &why) : NULL;

	if (request && !key && !why)
		abort();
	EVP_PKEY_free(key);
	X509_REQ_free(request);
}

static void try_certificate(const char *text, size_t length)
{
	char host[CERT_HOST_MAX + 1], cluster[CERT_CLUSTER_MAX + 1];
	X509 *cert = cert_from_pem(text, length);

	if (!cert)
		return;
	if (cert_host(cert, host, sizeof(host)) && !*host)
		abort();
	if (cert_cluster(cert, cluster, sizeof(cluster)) > 0 && !cert_is_cluster(cluster))
		abort();
	cert_origin(cert, host, sizeof(host));
	cert_until(cert, NULL);
	/* its own authority: a name that is malformed belongs to no cluster */
	if (cert_cluster(cert, cluster, sizeof(cluster)) < 0 && !cert_refusal(cert, cert, "lab"))
		abort();
	X509_free(cert);
}

static EVP_PKEY *authority_key;
static X509 *authority;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	authority_key = cert_key_new();
	authority = cert_authority_new(authority_key, "lab", "n0", 1800000000, 100);
	if (!authority)
		abort();
	return 0;
}

/* What is read from a list is written and read the same. */
static void try_list(const char *text, size_t length)
{
	const char *why;
	struct revoke_list *list = revoke_from_pem(text, length, authority, &why), *again;
	char *same;

	if (!list && !why)
		abort();
	if (!list)
		return;
	same = revoke_to_pem(list->entries, list->count, list->number, authority, authority_key,
			     1800000000);
	again = same ? revoke_from_pem(same, strlen(same), authority, &why) : NULL;
	if (!again || again->count != list->count || again->number != list->number ||
	    memcmp(again->entries, list->entries, list->count * sizeof(list->entries[0])) != 0)
		abort();
	revoke_has(list, authority);
	free(same);
	revoke_free(again);
	revoke_free(list);
}

/* The value of our extension, in a list that is signed. */
static void try_entries(const uint8_t *data, size_t size)
{
	char *pem = revoke_to_pem(NULL, 0, 1, authority, authority_key, 1800000000), *text;
	BIO *bio = pem ? BIO_new_mem_buf(pem, -1) : NULL;
	X509_CRL *crl = bio ? PEM_read_bio_X509_CRL(bio, NULL, NULL, NULL) : NULL;
	ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
	BIO *out = BIO_new(BIO_s_mem());
	long length;

	for (int i = 0; crl && value && out && i < X509_CRL_get_ext_count(crl); i++) {
		X509_EXTENSION *e = X509_CRL_get_ext(crl, i);

		if (X509_EXTENSION_get_critical(e) && ASN1_OCTET_STRING_set(value, data, (int)size))
			X509_EXTENSION_set_data(e, value);
	}
	if (crl && out && X509_CRL_sign(crl, authority_key, EVP_sha256()) &&
	    PEM_write_bio_X509_CRL(out, crl)) {
		length = BIO_get_mem_data(out, &text);
		try_list(text, length);
	}
	BIO_free(out);
	ASN1_OCTET_STRING_free(value);
	X509_CRL_free(crl);
	BIO_free(bio);
	free(pem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	try_token(text);
	try_request((const char *)data, size);
	try_certificate((const char *)data, size);
	try_list((const char *)data, size);
	try_entries(data, size);
	ERR_clear_error();
	free(text);
	return 0;
}
