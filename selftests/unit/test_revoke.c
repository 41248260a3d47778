// SPDX-License-Identifier: GPL-2.0-or-later
/* Revocation lists (lib/cert/revoke.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/bio.h>
#include <openssl/pem.h>

#include "cert/make.h"
#include "cert/revoke.h"

#define NOW 1800000000 /* seconds since 1970 */
#define HOUR 3600
#define DAYS 100

struct authority {
	EVP_PKEY *key;
	X509 *cert;
};

static int set_up(void **state)
{
	struct authority *a = calloc(1, sizeof(*a));

	a->key = cert_key_new();
	a->cert = cert_authority_new(a->key, "lab", "n0", NOW, DAYS);
	*state = a;
	return a->cert ? 0 : -1;
}

static int tear_down(void **state)
{
	struct authority *a = *state;

	X509_free(a->cert);
	EVP_PKEY_free(a->key);
	free(a);
	return 0;
}

static X509 *certify(const struct authority *a, const char *host, int64_t now)
{
	EVP_PKEY *key = cert_key_new();
	X509 *cert = cert_node_new(key, host, a->cert, a->key, now, DAYS);

	EVP_PKEY_free(key);
	return cert;
}

static struct revoke_list *through_text(const struct authority *a, const struct revoke_entry *all,
					size_t n, int64_t number)
{
	char *text = revoke_to_pem(all, n, number, a->cert, a->key, NOW);
	struct revoke_list *list;
	const char *why;

	assert_non_null(text);
	assert_true(strlen(text) < REVOKE_PEM_MAX);
	list = revoke_from_pem(text, strlen(text), a->cert, &why);
	if (!list)
		fail_msg("%s", why);
	free(text);
	return list;
}

static void test_hosts(void **state)
{
	const struct authority *a = *state;
	const struct revoke_entry all[] = { { .host = "n1", .at = NOW },
					    { .host = "n2", .at = NOW + 5 },
					    { .host = "n1", .at = NOW + 9 } };
	struct revoke_list *list = through_text(a, all, 3, 7);
	X509 *old = certify(a, "n1", NOW), *new = certify(a, "n1", NOW + HOUR + 10);
	X509 *last = certify(a, "n1", NOW + HOUR + 9), *other = certify(a, "n11", NOW);

	assert_int_equal(list->number, 7);
	assert_int_equal(list->count, 3);
	/* the later one counts; certificates begin an hour before they are made */
	assert_int_equal(revoke_of_host(list, "n1"), NOW + 9);
	assert_int_equal(revoke_of_host(list, "n2"), NOW + 5);
	assert_int_equal(revoke_of_host(list, "n"), 0);
	assert_int_equal(revoke_of_host(list, ""), 0);
	assert_int_equal(revoke_of_host(NULL, "n1"), 0);
	assert_true(revoke_has(list, old));
	assert_true(revoke_has(list, last));
	assert_false(revoke_has(list, new));
	assert_false(revoke_has(list, other));
	assert_false(revoke_has(NULL, old));
	X509_free(old);
	X509_free(new);
	X509_free(last);
	X509_free(other);
	revoke_free(list);
}

static void test_certificate(void **state)
{
	const struct authority *a = *state;
	X509 *one = certify(a, "n1", NOW), *two = certify(a, "n1", NOW);
	struct revoke_entry e = { .at = NOW + 1 };
	struct revoke_list *list;

	assert_true(cert_digest(one, e.digest));
	list = through_text(a, &e, 1, 1);
	assert_true(revoke_has(list, one));
	assert_false(revoke_has(list, two));
	revoke_free(list);
	X509_free(one);
	X509_free(two);
}

/* What another tool of X.509 writes has serial numbers. */
static void test_serial(void **state)
{
	const struct authority *a = *state;
	X509 *one = certify(a, "n1", NOW), *two = certify(a, "n1", NOW);
	struct revoke_list *list = through_text(a, NULL, 0, 1);
	X509_REVOKED *serial = X509_REVOKED_new();
	ASN1_TIME *when = ASN1_TIME_set(NULL, NOW);

	assert_false(revoke_has(list, one));
	assert_true(X509_REVOKED_set_serialNumber(serial, X509_get_serialNumber(one)));
	assert_true(X509_REVOKED_set_revocationDate(serial, when));
	assert_true(X509_CRL_add0_revoked(list->crl, serial));
	assert_true(revoke_has(list, one));
	assert_false(revoke_has(list, two));
	ASN1_TIME_free(when);
	revoke_free(list);
	X509_free(one);
	X509_free(two);
}

static void test_full(void **state)
{
	const struct authority *a = *state;
	struct revoke_entry all[REVOKE_MAX + 1];
	struct revoke_list *list;

	memset(all, 0, sizeof(all));
	for (size_t i = 0; i <= REVOKE_MAX; i++) {
		memset(all[i].host, 'h', CERT_HOST_MAX);
		snprintf(all[i].host, 8, "%07zu", i);
		all[i].host[7] = 'x';
		all[i].at = 253402300799;
	}
	assert_null(revoke_to_pem(all, REVOKE_MAX + 1, 1, a->cert, a->key, NOW));
	list = through_text(a, all, REVOKE_MAX, INT64_MAX);
	assert_int_equal(list->count, REVOKE_MAX);
	assert_int_equal(list->number, INT64_MAX);
	assert_memory_equal(&list->entries[REVOKE_MAX - 1], &all[REVOKE_MAX - 1], sizeof(all[0]));
	revoke_free(list);
}

static void refuse(const struct authority *a, const char *text, const char *because)
{
	const char *why = NULL;

	assert_null(revoke_from_pem(text, strlen(text), a->cert, &why));
	assert_non_null(why);
	if (because)
		assert_string_equal(why, because);
}

static void test_others(void **state)
{
	const struct authority *a = *state;
	const struct revoke_entry e = { .host = "n1", .at = NOW };
	struct authority b = { cert_key_new(), NULL };
	char *text = revoke_to_pem(&e, 1, 1, a->cert, a->key, NOW);
	size_t n = strlen(text);

	/* the same name, another key */
	b.cert = cert_authority_new(b.key, "lab", "n0", NOW, DAYS);
	refuse(&b, text, "it is not signed by the cluster's authority");
	free(text);
	text = revoke_to_pem(&e, 1, 1, a->cert, b.key, NOW);
	refuse(a, text, "it is not signed by the cluster's authority");
	refuse(a, "", "it is not a revocation list");
	refuse(a, "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n",
	       "it is not a revocation list");
	free(text);
	/* each octet counts */
	text = revoke_to_pem(&e, 1, 1, a->cert, a->key, NOW);
	n = strlen(text);
	for (size_t i = strlen("-----BEGIN X509 CRL-----\n"); i < n - 30; i += 7) {
		char was = text[i];

		if (was == '\n' || was == '=')
			continue;
		text[i] = was == 'A' ? 'B' : 'A';
		refuse(a, text, NULL);
		text[i] = was;
	}
	text[n / 2] = '\0';
	refuse(a, text, "it is not a revocation list");
	free(text);
	text = revoke_to_pem(&e, 1, 0, a->cert, a->key, NOW);
	refuse(a, text, "it has no number");
	free(text);
	text = revoke_to_pem(&e, 1, -1, a->cert, a->key, NOW);
	refuse(a, text, "it has no number");
	free(text);
	X509_free(b.cert);
	EVP_PKEY_free(b.key);
}

static void test_bad_entries(void **state)
{
	const struct authority *a = *state;
	static const struct revoke_entry bad[] = {
		{ .host = "a b", .at = 1 },
		{ .host = "-a", .at = 1 },
		{ .host = "n1", .at = 0 },
		{ .host = "n1", .at = -5 },
		{ .host = "n1", .at = 253402300800 },
		{ .host = "n 1", .at = 1 },
		{ .host = "\xff", .at = 1 },
		{ .at = 0 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *text = revoke_to_pem(&bad[i], 1, 1, a->cert, a->key, NOW);

		refuse(a, text, "one of its entries is malformed");
		free(text);
	}
}

/* A list of another tool says nothing of hosts: it may be meant for something else. */
static void test_without_entries(void **state)
{
	const struct authority *a = *state;
	struct revoke_list *list = through_text(a, NULL, 0, 3);
	BIO *bio = BIO_new(BIO_s_mem());
	char *data, *text;
	long n;

	assert_int_equal(list->count, 0);
	for (int i = X509_CRL_get_ext_count(list->crl); i--;)
		if (X509_EXTENSION_get_critical(X509_CRL_get_ext(list->crl, i)))
			X509_EXTENSION_free(X509_CRL_delete_ext(list->crl, i));
	assert_true(X509_CRL_sign(list->crl, a->key, EVP_sha256()));
	assert_true(PEM_write_bio_X509_CRL(bio, list->crl));
	n = BIO_get_mem_data(bio, &data);
	text = strndup(data, n);
	refuse(a, text, "it does not say which hosts and certificates are revoked");
	free(text);
	BIO_free(bio);
	revoke_free(list);
}

static void test_print(void **state)
{
	unsigned char digest[CERT_DIGEST];
	char text[4 * CERT_DIGEST] = "";

	for (int i = 0; i < CERT_DIGEST; i++)
		sprintf(text + strlen(text), "%s%02X", i ? ":" : "", 255 - i);
	assert_true(revoke_is_print(text, digest));
	assert_int_equal(digest[1], 254);
	strcat(text, ":");
	assert_true(revoke_is_print(text, digest));
	strcat(text, "0");
	assert_false(revoke_is_print(text, digest));
	memset(text, 'a', 64);
	text[64] = '\0';
	assert_true(revoke_is_print(text, digest));
	text[63] = '\0';
	assert_false(revoke_is_print(text, digest));
	assert_false(revoke_is_print("", digest));
	assert_false(revoke_is_print("0.1", digest));
	assert_false(revoke_is_print("n1", digest));
}

/* Whatever the clock says, who is revoked again does not come back. */
static void test_time(void **state)
{
	const struct revoke_entry one = { .host = "n1", .at = NOW };
	struct revoke_list *list = through_text(*state, &one, 1, 7);

	assert_int_equal(revoke_time(NULL, "n1", NOW, 0), NOW);
	assert_int_equal(revoke_time(NULL, "n1", NOW, NOW - HOUR), NOW);
	assert_int_equal(revoke_time(list, "n1", NOW + 5, 0), NOW + 5);
	assert_int_equal(revoke_time(list, "n2", NOW - 5, 0), NOW - 5);
	/* set back, or the same second: certificates after a revocation begin a second later */
	assert_int_equal(revoke_time(list, "n1", NOW - HOUR, 0), NOW + 1);
	assert_int_equal(revoke_time(list, "n1", NOW, NOW + 1), NOW + 1);
	/* made when it was right */
	assert_int_equal(revoke_time(NULL, "n1", NOW, NOW + DAYS), NOW + DAYS);
	assert_int_equal(revoke_time(list, "n1", NOW - HOUR, NOW + HOUR), NOW + HOUR);
	revoke_free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_certificate),
		cmocka_unit_test(test_serial),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_bad_entries),
		cmocka_unit_test(test_without_entries),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
