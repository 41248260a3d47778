// SPDX-License-Identifier: GPL-2.0-or-later
#include "cert/make.h"

#include <stdio.h>
#include <string.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cert/name.h"
#include "cert/read.h"

#define MAKE_CN "ehsched cluster authority"
#define MAKE_SERIAL_BITS 126 /* positive, and at most 20 bytes (RFC 5280, 4.1.2.2) */
#define MAKE_HOUR 3600

/* ---- keys ---- */

EVP_PKEY *cert_key_new(void)
{
	return EVP_EC_gen("P-256");
}

/* ---- certificates ---- */

static int make_name(X509_NAME *name, int nid, const char *text)
{
	return X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8, (const unsigned char *)text, -1,
					  -1, 0);
}

static int make_extension(X509 *cert, X509V3_CTX *ctx, int nid, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, ctx, nid, value);
	int good = e && X509_add_ext(cert, e, -1);

	X509_EXTENSION_free(e);
	return good;
}

static int make_serial(X509 *cert)
{
	BIGNUM *n = BN_new();
	int good = n && BN_rand(n, MAKE_SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) &&
		   BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));

	BN_free(n);
	return good;
}

static int make_times(X509 *cert, int64_t now, unsigned int days)
{
	return ASN1_TIME_adj(X509_getm_notBefore(cert), now, 0, -MAKE_HOUR) &&
	       ASN1_TIME_adj(X509_getm_notAfter(cert), now, days, 0);
}

/* All but the extensions and the signature. */
static X509 *make_begin(EVP_PKEY *key, int64_t now, unsigned int days)
{
	X509 *cert = X509_new();

	if (cert && X509_set_version(cert, X509_VERSION_3) && make_serial(cert) &&
	    make_times(cert, now, days) && X509_set_pubkey(cert, key))
		return cert;
	X509_free(cert);
	return NULL;
}

X509 *cert_authority_new(EVP_PKEY *key, const char *cluster, const char *origin, int64_t now,
			 unsigned int days)
{
	X509 *cert = make_begin(key, now, days);
	char names[sizeof("URI:" CERT_URN) + CERT_CLUSTER_MAX];
	X509_NAME *name;
	X509V3_CTX ctx;

	if (!cert)
		return NULL;
	name = X509_get_subject_name(cert);
	X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
	snprintf(names, sizeof(names), "URI:" CERT_URN "%s", cluster ?: "");
	if (make_name(name, NID_commonName, MAKE_CN) &&
	    (!*origin || make_name(name, NID_organizationalUnitName, origin)) &&
	    X509_set_issuer_name(cert, name) &&
	    make_extension(cert, &ctx, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    make_extension(cert, &ctx, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	    make_extension(cert, &ctx, NID_subject_key_identifier, "hash") &&
	    (!cluster || !*cluster || make_extension(cert, &ctx, NID_subject_alt_name, names)) &&
	    X509_sign(cert, key, EVP_sha256()))
		return cert;
	X509_free(cert);
	return NULL;
}

static int make_end_with(X509 *cert, const X509 *authority)
{
	const ASN1_TIME *last = X509_get0_notAfter(authority);

	return ASN1_TIME_compare(X509_get0_notAfter(cert), last) <= 0 ||
	       X509_set1_notAfter(cert, last);
}

X509 *cert_node_new(EVP_PKEY *key, const char *host, X509 *authority, EVP_PKEY *authority_key,
		    int64_t now, unsigned int days)
{
	char cluster[CERT_CLUSTER_MAX + 1];
	char names[sizeof("DNS:,URI:" CERT_URN) + CERT_HOST_MAX + CERT_CLUSTER_MAX];
	int named = cert_cluster(authority, cluster, sizeof(cluster));
	X509 *cert = named < 0 || !cert_is_host(host) ? NULL : make_begin(key, now, days);
	X509V3_CTX ctx;

	if (!cert)
		return NULL;
	X509V3_set_ctx(&ctx, authority, cert, NULL, NULL, 0);
	snprintf(names, sizeof(names), "DNS:%s%s%s", host, named ? ",URI:" CERT_URN : "", cluster);
	if (make_end_with(cert, authority) &&
	    make_name(X509_get_subject_name(cert), NID_commonName, host) &&
	    X509_set_issuer_name(cert, X509_get_subject_name(authority)) &&
	    make_extension(cert, &ctx, NID_basic_constraints, "critical,CA:FALSE") &&
	    make_extension(cert, &ctx, NID_key_usage, "critical,digitalSignature") &&
	    make_extension(cert, &ctx, NID_ext_key_usage, "serverAuth,clientAuth") &&
	    make_extension(cert, &ctx, NID_subject_key_identifier, "hash") &&
	    make_extension(cert, &ctx, NID_authority_key_identifier, "keyid") &&
	    make_extension(cert, &ctx, NID_subject_alt_name, names) &&
	    X509_sign(cert, authority_key, EVP_sha256()))
		return cert;
	X509_free(cert);
	return NULL;
}

/* ---- requests ---- */

X509_REQ *cert_request_new(EVP_PKEY *key, const char *host)
{
	X509_REQ *request = X509_REQ_new();

	if (request && X509_REQ_set_version(request, X509_REQ_VERSION_1) &&
	    make_name(X509_REQ_get_subject_name(request), NID_commonName, host) &&
	    X509_REQ_set_pubkey(request, key) && X509_REQ_sign(request, key, EVP_sha256()))
		return request;
	X509_REQ_free(request);
	return NULL;
}

static bool make_is_p256(const EVP_PKEY *key)
{
	char group[32];
	size_t length;

	return EVP_PKEY_is_a(key, "EC") &&
	       EVP_PKEY_get_group_name(key, group, sizeof(group), &length) == 1 &&
	       !strcmp(group, SN_X9_62_prime256v1);
}

EVP_PKEY *cert_request_key(X509_REQ *request, const char *host, const char **why)
{
	X509_NAME *name = X509_REQ_get_subject_name(request);
	EVP_PKEY *key = X509_REQ_get_pubkey(request);
	char cn[CERT_HOST_MAX + 2];

	*why = "its key is not on the curve P-256";
	if (!key || !make_is_p256(key))
		goto refuse;
	*why = "it is not signed by its key";
	if (X509_REQ_verify(request, key) != 1)
		goto refuse;
	*why = "its subject is not the host";
	if (X509_NAME_entry_count(name) != 1 ||
	    X509_NAME_get_text_by_NID(name, NID_commonName, cn, sizeof(cn)) < 0 ||
	    strcmp(cn, host) != 0)
		goto refuse;
	return key;

refuse:
	EVP_PKEY_free(key);
	return NULL;
}

/* ---- as text ---- */

static char *make_text(BIO *bio, int good)
{
	char *data, *text = NULL;
	long length = good ? BIO_get_mem_data(bio, &data) : 0;

	if (length > 0)
		text = strndup(data, length);
	BIO_free(bio);
	return text;
}

char *cert_to_pem(X509 *cert)
{
	BIO *bio = BIO_new(BIO_s_mem());

	return bio ? make_text(bio, PEM_write_bio_X509(bio, cert)) : NULL;
}

char *cert_request_to_pem(X509_REQ *request)
{
	BIO *bio = BIO_new(BIO_s_mem());

	return bio ? make_text(bio, PEM_write_bio_X509_REQ(bio, request)) : NULL;
}

char *cert_key_to_pem(EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_secmem());

	return bio ? make_text(bio, PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL))
		   : NULL;
}

/* Never asks anybody for the password of a key. */
static int make_no_password(char *buf, int size, int writing, void *ctx)
{
	return -1;
}

X509 *cert_from_pem(const char *text, size_t length)
{
	BIO *bio = BIO_new_mem_buf(text, (int)length);
	X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, make_no_password, NULL) : NULL;

	BIO_free(bio);
	return cert;
}

X509_REQ *cert_request_from_pem(const char *text, size_t length)
{
	BIO *bio = BIO_new_mem_buf(text, (int)length);
	X509_REQ *request = bio ? PEM_read_bio_X509_REQ(bio, NULL, make_no_password, NULL) : NULL;

	BIO_free(bio);
	return request;
}

EVP_PKEY *cert_key_from_pem(const char *text, size_t length)
{
	BIO *bio = BIO_new_mem_buf(text, (int)length);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, make_no_password, NULL) : NULL;

	BIO_free(bio);
	return key;
}
