// SPDX-License-Identifier: GPL-2.0-or-later
#include "cert/read.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "cert/name.h"

static bool read_name(const X509 *cert, int nid, char *out, size_t size)
{
	const X509_NAME *name = X509_get_subject_name(cert);
	int at = X509_NAME_get_index_by_NID(name, nid, -1);
	unsigned char *text = NULL;
	bool good = false;
	int length;

	/* with a second one, or a NUL inside, two readers might see different names */
	if (at < 0 || X509_NAME_get_index_by_NID(name, nid, at) >= 0)
		return false;
	length =
		ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
	if (length > 0 && (size_t)length < size && strlen((char *)text) == (size_t)length) {
		memcpy(out, text, length + 1);
		good = true;
	}
	OPENSSL_free(text);
	return good;
}

bool cert_host(const X509 *cert, char *host, size_t size)
{
	return read_name(cert, NID_commonName, host, size);
}

bool cert_origin(const X509 *authority, char *host, size_t size)
{
	return read_name(authority, NID_organizationalUnitName, host, size);
}

/* 1: a cluster; 0: another kind of name; -1: malformed. */
static int read_urn(const GENERAL_NAME *name, char *cluster, size_t size)
{
	const size_t before = strlen(CERT_URN);
	const char *text;
	size_t length;

	if (name->type != GEN_URI)
		return 0;
	text = (const char *)ASN1_STRING_get0_data(name->d.uniformResourceIdentifier);
	length = ASN1_STRING_length(name->d.uniformResourceIdentifier);
	if (length < before || memcmp(text, CERT_URN, before))
		return 0;
	if (length - before >= size || memchr(text, '\0', length))
		return -1;
	memcpy(cluster, text + before, length - before);
	cluster[length - before] = '\0';
	return cert_is_cluster(cluster) ? 1 : -1;
}

int cert_cluster(const X509 *cert, char *cluster, size_t size)
{
	int critical, found = 0;
	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, &critical, NULL);

	*cluster = '\0';
	/* -1: there is no such extension; else it is malformed, or there are two */
	if (!names)
		return critical == -1 ? 0 : -1;
	for (int i = 0; found >= 0 && i < sk_GENERAL_NAME_num(names); i++) {
		int one = read_urn(sk_GENERAL_NAME_value(names, i), cluster, size);

		found = one < 0 || (one && found) ? -1 : found + one;
	}
	GENERAL_NAMES_free(names);
	return found;
}

const char *cert_refusal(X509 *cert, X509 *authority, const char *cluster)
{
	char ours[CERT_CLUSTER_MAX + 1], theirs[CERT_CLUSTER_MAX + 1];
	int has = cert_cluster(cert, theirs, sizeof(theirs));
	int named = cert_cluster(authority, ours, sizeof(ours));
	uint32_t uses;

	if (has < 0 || named < 0)
		return "its cluster name is malformed";
	if ((has && strcmp(theirs, cluster)) || (named && strcmp(ours, cluster)))
		return "it belongs to another cluster";
	if (!named)
		return NULL;
	if (!has)
		return "it does not name a cluster, although its authority does";
	uses = X509_get_extended_key_usage(cert);
	if (uses == UINT32_MAX || !(uses & XKU_SSL_SERVER) || !(uses & XKU_SSL_CLIENT))
		return "its extended key usage is not both serverAuth and clientAuth";
	return NULL;
}

bool cert_digest(const X509 *cert, unsigned char digest[CERT_DIGEST])
{
	unsigned int length;

	return X509_digest(cert, EVP_sha256(), digest, &length) == 1 && length == CERT_DIGEST;
}

static int64_t read_seconds(const ASN1_TIME *t)
{
	struct tm tm = { 0 };

	return ASN1_TIME_to_tm(t, &tm) == 1 ? timegm(&tm) : 0;
}

int64_t cert_since(const char *text)
{
	const size_t length = strlen(text);
	unsigned char *bytes = malloc(length + 1);
	int n = bytes ? EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)length) : -1;
	const unsigned char *at = bytes;
	int64_t from = 0;
	X509 *cert = n > 0 ? d2i_X509(NULL, &at, n) : NULL;

	if (cert)
		cert_until(cert, &from);
	X509_free(cert);
	free(bytes);
	ERR_clear_error();
	return from;
}

X509 *cert_issuer(X509_STORE *known, X509 *cert)
{
	const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(known);

	for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
		X509 *one = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));

		if (one && X509_check_issued(one, cert) == X509_V_OK &&
		    X509_verify(cert, X509_get0_pubkey(one)) == 1)
			return one;
	}
	ERR_clear_error();
	return NULL;
}

int64_t cert_until(const X509 *cert, int64_t *from)
{
	if (from)
		*from = read_seconds(X509_get0_notBefore(cert));
	return read_seconds(X509_get0_notAfter(cert));
}

const char *cert_exposed(mode_t mode, uid_t owner)
{
	if (mode & 0007)
		return "other users have access to it";
	if (mode & (owner ? 0070 : 0030))
		return "its group has access to it";
	return NULL;
}
