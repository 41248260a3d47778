// SPDX-License-Identifier: GPL-2.0-or-later
/* What comes from strangers: a token, a signing request, a certificate. A token that is accepted is written the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/err.h>

#include "cert/make.h"
#include "cert/read.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	try_token(text);
	try_request((const char *)data, size);
	try_certificate((const char *)data, size);
	ERR_clear_error();
	free(text);
	return 0;
}
