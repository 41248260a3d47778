// SPDX-License-Identifier: GPL-2.0-or-later
#include "cert/revoke.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/asn1t.h>
#include <openssl/bio.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cert/token.h"

/* A random UUID (ITU-T X.667): nobody else's. */
#define REVOKE_OID "2.25.84301672159873021746190384626518347251"
#define REVOKE_TEXT 128 /* bytes of an entry; the longest has about 100 */
#define REVOKE_SECONDS_MAX 253402300799ll /* the last that a certificate can say: year 9999 */
#define REVOKE_HOST "host "
#define REVOKE_CERTIFICATE "certificate "

/* ---- an entry as text ---- */

static void revoke_say(const struct revoke_entry *e, char text[REVOKE_TEXT])
{
	char digits[2 * CERT_DIGEST + 1];

	if (*e->host)
		snprintf(text, REVOKE_TEXT, REVOKE_HOST "%s %lld", e->host, (long long)e->at);
	else
		snprintf(text, REVOKE_TEXT, REVOKE_CERTIFICATE "%s %lld",
			 cert_hex(e->digest, CERT_DIGEST, digits), (long long)e->at);
}

static bool revoke_read_time(const char *text, int64_t *at)
{
	size_t n = strlen(text);

	if (!n || n > 12 || strspn(text, "0123456789") != n)
		return false;
	*at = atoll(text);
	return *at > 0 && *at <= REVOKE_SECONDS_MAX;
}

static bool revoke_read_entry(const ASN1_TYPE *one, struct revoke_entry *e)
{
	const ASN1_STRING *string = one->value.utf8string;
	char text[REVOKE_TEXT], *name, *time;
	int length;

	memset(e, 0, sizeof(*e));
	if (one->type != V_ASN1_UTF8STRING)
		return false;
	length = ASN1_STRING_length(string);
	if (length <= 0 || length >= REVOKE_TEXT)
		return false;
	memcpy(text, ASN1_STRING_get0_data(string), length);
	text[length] = '\0';
	name = strchr(text, ' ');
	time = name ? strchr(++name, ' ') : NULL;
	if (!time || strlen(text) != (size_t)length)
		return false;
	*time++ = '\0';
	if (!revoke_read_time(time, &e->at))
		return false;
	if (!strncmp(text, REVOKE_CERTIFICATE, name - text))
		return cert_unhex(name, e->digest, CERT_DIGEST);
	if (strncmp(text, REVOKE_HOST, name - text) != 0 || !cert_is_host(name))
		return false;
	strcpy(e->host, name);
	return true;
}

/* ---- a list ---- */

static void revoke_free_type(ASN1_TYPE *one)
{
	ASN1_TYPE_free(one);
}

static bool revoke_add_text(ASN1_SEQUENCE_ANY *all, const char *text)
{
	ASN1_STRING *string = ASN1_UTF8STRING_new();
	ASN1_TYPE *one = ASN1_TYPE_new();

	if (!string || !one || !ASN1_STRING_set(string, text, -1))
		goto free_both;
	ASN1_TYPE_set(one, V_ASN1_UTF8STRING, string);
	if (sk_ASN1_TYPE_push(all, one) > 0)
		return true;
	string = NULL; /* it is of `one` now */
free_both:
	ASN1_STRING_free(string);
	ASN1_TYPE_free(one);
	return false;
}

/* All entries in DER, as the value of an extension. */
static ASN1_OCTET_STRING *revoke_value(const struct revoke_entry *entries, size_t count)
{
	ASN1_SEQUENCE_ANY *all = sk_ASN1_TYPE_new_null();
	ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
	unsigned char *der = NULL;
	char text[REVOKE_TEXT];
	bool good = all && value;
	int length;

	for (size_t i = 0; good && i < count; i++) {
		revoke_say(&entries[i], text);
		good = revoke_add_text(all, text);
	}
	length = good ? i2d_ASN1_SEQUENCE_ANY(all, &der) : -1;
	good = length > 0 && ASN1_OCTET_STRING_set(value, der, length);
	OPENSSL_free(der);
	sk_ASN1_TYPE_pop_free(all, revoke_free_type);
	if (good)
		return value;
	ASN1_OCTET_STRING_free(value);
	return NULL;
}

static bool revoke_add_entries(X509_CRL *crl, const struct revoke_entry *entries, size_t count)
{
	ASN1_OBJECT *oid = OBJ_txt2obj(REVOKE_OID, 1);
	ASN1_OCTET_STRING *value = revoke_value(entries, count);
	X509_EXTENSION *e = oid && value ? X509_EXTENSION_create_by_OBJ(NULL, oid, 1, value) : NULL;
	bool good = e && X509_CRL_add_ext(crl, e, -1);

	X509_EXTENSION_free(e);
	ASN1_OCTET_STRING_free(value);
	ASN1_OBJECT_free(oid);
	return good;
}

static bool revoke_add_number(X509_CRL *crl, int64_t number)
{
	ASN1_INTEGER *n = ASN1_INTEGER_new();
	bool good = n && ASN1_INTEGER_set_int64(n, number) &&
		    X509_CRL_add1_ext_i2d(crl, NID_crl_number, n, 0, 0) == 1;

	ASN1_INTEGER_free(n);
	return good;
}

char *revoke_to_pem(const struct revoke_entry *entries, size_t count, int64_t number,
		    X509 *authority, EVP_PKEY *authority_key, int64_t now)
{
	X509_CRL *crl = count <= REVOKE_MAX ? X509_CRL_new() : NULL;
	ASN1_TIME *begin = ASN1_TIME_set(NULL, now);
	BIO *bio = BIO_new(BIO_s_mem());
	char *data, *text = NULL;
	long length;

	if (crl && begin && bio && X509_CRL_set_version(crl, X509_CRL_VERSION_2) &&
	    X509_CRL_set_issuer_name(crl, X509_get_subject_name(authority)) &&
	    X509_CRL_set1_lastUpdate(crl, begin) &&
	    X509_CRL_set1_nextUpdate(crl, X509_get0_notAfter(authority)) &&
	    revoke_add_number(crl, number) && revoke_add_entries(crl, entries, count) &&
	    X509_CRL_sign(crl, authority_key, EVP_sha256()) && PEM_write_bio_X509_CRL(bio, crl)) {
		length = BIO_get_mem_data(bio, &data);
		text = length > 0 ? strndup(data, length) : NULL;
	}
	BIO_free(bio);
	ASN1_TIME_free(begin);
	X509_CRL_free(crl);
	return text;
}

static bool revoke_read_number(X509_CRL *crl, int64_t *number)
{
	ASN1_INTEGER *n = X509_CRL_get_ext_d2i(crl, NID_crl_number, NULL, NULL);
	bool good = n && ASN1_INTEGER_get_int64(number, n) && *number > 0;

	ASN1_INTEGER_free(n);
	return good;
}

static const char *revoke_read_entries(const X509_CRL *crl, struct revoke_list *list)
{
	ASN1_OBJECT *oid = OBJ_txt2obj(REVOKE_OID, 1);
	int at = oid ? X509_CRL_get_ext_by_OBJ(crl, oid, -1) : -1;
	ASN1_SEQUENCE_ANY *all = NULL;
	const ASN1_OCTET_STRING *value;
	const unsigned char *der, *end;
	const char *why = NULL;

	ASN1_OBJECT_free(oid);
	if (at < 0)
		return "it does not say which hosts and certificates are revoked";
	value = X509_EXTENSION_get_data(X509_CRL_get_ext(crl, at));
	der = ASN1_STRING_get0_data(value);
	end = der + ASN1_STRING_length(value);
	all = d2i_ASN1_SEQUENCE_ANY(NULL, &der, end - der);
	if (!all || der != end)
		why = "its entries are malformed";
	else if (sk_ASN1_TYPE_num(all) > REVOKE_MAX)
		why = "it has too many entries";
	for (int i = 0; !why && i < sk_ASN1_TYPE_num(all); i++)
		if (!revoke_read_entry(sk_ASN1_TYPE_value(all, i), &list->entries[list->count++]))
			why = "one of its entries is malformed";
	sk_ASN1_TYPE_pop_free(all, revoke_free_type);
	return why;
}

/* Another extension that must be understood may be one that limits what the list is about. */
static bool revoke_is_simple(const X509_CRL *crl)
{
	int critical = 0;

	for (int i = 0; i < X509_CRL_get_ext_count(crl); i++)
		critical += X509_EXTENSION_get_critical(X509_CRL_get_ext(crl, i));
	return critical <= 1;
}

static const char *revoke_read(X509_CRL *crl, X509 *authority, struct revoke_list *list)
{
	EVP_PKEY *key = X509_get0_pubkey(authority);

	if (X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_get_subject_name(authority)) != 0 ||
	    !key || X509_CRL_verify(crl, key) != 1)
		return "it is not signed by the cluster's authority";
	if (!revoke_read_number(crl, &list->number))
		return "it has no number";
	if (!revoke_is_simple(crl))
		return "it has an extension that this version does not know";
	return revoke_read_entries(crl, list);
}

/* A key of the file's author is not asked for a password. */
static int revoke_no_password(char *to, int size, int writing, void *arg)
{
	return -1;
}

struct revoke_list *revoke_from_pem(const char *text, size_t length, X509 *authority,
				    const char **why)
{
	BIO *bio = length <= REVOKE_PEM_MAX ? BIO_new_mem_buf(text, (int)length) : NULL;
	X509_CRL *crl = bio ? PEM_read_bio_X509_CRL(bio, NULL, revoke_no_password, NULL) : NULL;
	struct revoke_list *list = crl ? calloc(1, sizeof(*list)) : NULL;

	BIO_free(bio);
	*why = crl ? "out of memory" : "it is not a revocation list";
	if (!list) {
		X509_CRL_free(crl);
		return NULL;
	}
	list->crl = crl;
	*why = revoke_read(crl, authority, list);
	if (!*why)
		return list;
	revoke_free(list);
	return NULL;
}

void revoke_free(struct revoke_list *list)
{
	if (list)
		X509_CRL_free(list->crl);
	free(list);
}

/* ---- what it says ---- */

int64_t revoke_of_host(const struct revoke_list *list, const char *host)
{
	int64_t at = 0;

	if (!*host)
		return 0;
	for (size_t i = 0; list && i < list->count; i++)
		if (!strcmp(list->entries[i].host, host) && list->entries[i].at > at)
			at = list->entries[i].at;
	return at;
}

int64_t revoke_time(const struct revoke_list *list, const char *host, int64_t now, int64_t begins)
{
	const int64_t before = revoke_of_host(list, host);

	/* one that was made for the host since then begins a second later */
	if (before && now <= before)
		now = before + 1;
	return now < begins ? begins : now;
}

bool revoke_has(const struct revoke_list *list, X509 *cert)
{
	unsigned char digest[CERT_DIGEST];
	X509_REVOKED *serial;
	char host[256];
	int64_t from, at;

	if (!list)
		return false;
	/* what cannot be looked up is not let in */
	if (!cert_digest(cert, digest) || !cert_until(cert, &from))
		return true;
	if (cert_host(cert, host, sizeof(host))) {
		at = revoke_of_host(list, host);
		if (at && from <= at)
			return true;
	}
	for (size_t i = 0; i < list->count; i++)
		if (!*list->entries[i].host &&
		    !memcmp(list->entries[i].digest, digest, CERT_DIGEST))
			return true;
	return X509_CRL_get0_by_cert(list->crl, &serial, cert) != 0;
}

bool revoke_is_print(const char *text, unsigned char digest[CERT_DIGEST])
{
	char digits[2 * CERT_DIGEST + 1];
	size_t n = 0;

	for (; *text; text++) {
		if (*text == ':' && n && n % 2 == 0)
			continue;
		if (n == 2 * CERT_DIGEST)
			return false;
		digits[n++] = tolower((unsigned char)*text);
	}
	digits[n] = '\0';
	return cert_unhex(digits, digest, CERT_DIGEST);
}
