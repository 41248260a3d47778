// SPDX-License-Identifier: GPL-2.0-or-later
/* Names, certificates and requests of lib/cert/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cert/make.h"
#include "cert/name.h"
#include "cert/read.h"
#include "cert/token.h"

#define NOW 1800000000 /* seconds since 1970 */
#define DAY 86400

static void test_names(void **state)
{
	char longest[CERT_HOST_MAX + 2];

	memset(longest, 'a', sizeof(longest));
	longest[CERT_HOST_MAX] = '\0';
	assert_true(cert_is_host(longest));
	assert_true(cert_is_host("n0"));
	assert_true(cert_is_host("0.example-1.org"));
	assert_false(cert_is_host(""));
	assert_false(cert_is_host("-n"));
	assert_false(cert_is_host(".n"));
	assert_false(cert_is_host("a_b"));
	assert_false(cert_is_host("a b"));
	assert_false(cert_is_host("a/b"));
	assert_false(cert_is_host("a\"b"));
	assert_true(cert_is_cluster("a_b.c-d"));
	assert_false(cert_is_cluster("_a"));
	assert_false(cert_is_cluster("a\nb"));
	longest[CERT_HOST_MAX] = 'a';
	longest[CERT_HOST_MAX + 1] = '\0';
	assert_false(cert_is_host(longest));
	assert_false(cert_is_cluster(longest));
}

static void test_chain(void **state)
{
	EVP_PKEY *authority_key = cert_key_new(), *key = cert_key_new();
	X509 *authority = cert_authority_new(authority_key, "lab", "n0", NOW, 100);
	X509 *cert = cert_node_new(key, "n1", authority, authority_key, NOW, 1000);
	char host[CERT_HOST_MAX + 1], cluster[CERT_CLUSTER_MAX + 1];
	unsigned char digest[2][CERT_DIGEST];
	int64_t from;
	X509 *again;
	char *text;

	assert_non_null(cert);
	assert_int_equal(X509_verify(cert, authority_key), 1);
	assert_int_equal(X509_verify(cert, key), 0);
	assert_true(cert_host(cert, host, sizeof(host)));
	assert_string_equal(host, "n1");
	assert_true(cert_origin(authority, host, sizeof(host)));
	assert_string_equal(host, "n0");
	assert_int_equal(cert_cluster(cert, cluster, sizeof(cluster)), 1);
	assert_string_equal(cluster, "lab");
	assert_null(cert_refusal(cert, authority, "lab"));
	assert_string_equal(cert_refusal(cert, authority, "la"), "it belongs to another cluster");
	/* no longer than its authority, and from an hour before */
	assert_int_equal(cert_until(cert, &from), NOW + 100 * DAY);
	assert_int_equal(from, NOW - 3600);
	text = cert_to_pem(cert);
	assert_true(strlen(text) < CERT_PEM_MAX);
	again = cert_from_pem(text, strlen(text));
	assert_true(cert_digest(cert, digest[0]) && cert_digest(again, digest[1]));
	assert_memory_equal(digest[0], digest[1], CERT_DIGEST);
	assert_null(cert_from_pem(text, strlen(text) / 2));
	X509_free(again);
	free(text);
	assert_null(cert_node_new(key, "n/1", authority, authority_key, NOW, 1));
	X509_free(cert);
	X509_free(authority);
	EVP_PKEY_free(key);
	EVP_PKEY_free(authority_key);
}

static void test_without_name(void **state)
{
	EVP_PKEY *key = cert_key_new();
	X509 *plain = cert_authority_new(key, NULL, "", NOW, 100);
	X509 *named = cert_authority_new(key, "lab", "", NOW, 100);
	X509 *old = cert_node_new(key, "n1", plain, key, NOW, 100);
	X509 *new = cert_node_new(key, "n1", named, key, NOW, 100);
	char host[CERT_HOST_MAX + 1];

	assert_false(cert_origin(plain, host, sizeof(host)));
	assert_null(cert_refusal(old, plain, "any name at all"));
	assert_null(cert_refusal(new, plain, "lab"));
	assert_non_null(cert_refusal(new, plain, "other"));
	assert_string_equal(cert_refusal(old, named, "lab"),
			    "it does not name a cluster, although its authority does");
	X509_free(old);
	X509_free(new);
	X509_free(plain);
	X509_free(named);
	EVP_PKEY_free(key);
}

static void test_request(void **state)
{
	EVP_PKEY *key = cert_key_new(), *other = EVP_EC_gen("P-384"), *got;
	X509_REQ *request = cert_request_new(key, "n3"), *again;
	char *text = cert_request_to_pem(request);
	const char *why;

	assert_true(strlen(text) < CERT_PEM_MAX);
	again = cert_request_from_pem(text, strlen(text));
	got = cert_request_key(again, "n3", &why);
	assert_int_equal(EVP_PKEY_eq(got, key), 1);
	EVP_PKEY_free(got);
	assert_null(cert_request_key(again, "n", &why));
	assert_string_equal(why, "its subject is not the host");
	assert_null(cert_request_key(again, "n33", &why));
	X509_REQ_free(again);
	/* another's key in it */
	X509_REQ_set_pubkey(request, other);
	assert_null(cert_request_key(request, "n3", &why));
	assert_string_equal(why, "its key is not on the curve P-256");
	got = cert_key_new();
	X509_REQ_set_pubkey(request, got);
	assert_null(cert_request_key(request, "n3", &why));
	assert_string_equal(why, "it is not signed by its key");
	EVP_PKEY_free(got);
	X509_REQ_free(request);
	free(text);
	EVP_PKEY_free(other);
	EVP_PKEY_free(key);
}

static void test_key_text(void **state)
{
	EVP_PKEY *key = cert_key_new(), *again;
	char *text = cert_key_to_pem(key);

	again = cert_key_from_pem(text, strlen(text));
	assert_int_equal(EVP_PKEY_eq(key, again), 1);
	assert_null(cert_key_from_pem("nothing", 7));
	EVP_PKEY_free(again);
	EVP_PKEY_free(key);
	free(text);
}

static void test_exposed(void **state)
{
	assert_null(cert_exposed(0100600, 64123));
	assert_null(cert_exposed(0100400, 0));
	assert_null(cert_exposed(0100640, 0));
	assert_non_null(cert_exposed(0100660, 0));
	assert_non_null(cert_exposed(0100640, 64123));
	assert_non_null(cert_exposed(0100604, 0));
	assert_non_null(cert_exposed(0100601, 64123));
}

static void test_token(void **state)
{
	struct cert_token token = { .host = "n0", .address = "[2001:db8::1]:7411" }, again;
	char text[TOKEN_TEXT], bad[TOKEN_TEXT];

	for (size_t i = 0; i < TOKEN_SECRET; i++)
		token.secret[i] = 0xff - i;
	for (size_t i = 0; i < CERT_DIGEST; i++)
		token.authority[i] = 7 * i;
	/* each length modulo 3 */
	for (int i = 0; i < 4; i++, strcat(token.host, "x")) {
		assert_non_null(cert_token_format(&token, text));
		assert_null(cert_token_parse(text, &again));
		assert_memory_equal(&token, &again, sizeof(token));
		/* each letter counts, and none may be missing */
		for (size_t at = 0; text[at]; at++) {
			strcpy(bad, text);
			bad[at] = bad[at] == 'A' ? 'B' : 'A';
			if (text[at + 1])
				assert_non_null(cert_token_parse(bad, &again));
			strcpy(bad, text);
			bad[at] = '\0';
			assert_non_null(cert_token_parse(bad, &again));
		}
	}
	assert_non_null(cert_token_parse("", &again));
	assert_non_null(cert_token_parse("eh1-", &again));
	assert_non_null(cert_token_parse("eh1-====", &again));
	assert_non_null(cert_token_parse("eh1-\xff\xff\xff\xff", &again));
	memset(bad, 'A', sizeof(bad) - 1);
	memcpy(bad, "eh1-", 4);
	bad[sizeof(bad) - 1] = '\0';
	assert_non_null(cert_token_parse(bad, &again));
	/* the longest names */
	memset(token.host, 'h', CERT_HOST_MAX);
	memset(token.address, '1', TOKEN_ADDRESS_MAX - 1);
	assert_non_null(cert_token_format(&token, text));
	assert_null(cert_token_parse(text, &again));
	assert_memory_equal(&token, &again, sizeof(token));
}

static void test_hex(void **state)
{
	unsigned char bytes[3] = { 0, 0xa5, 0xff };
	char text[7];

	assert_string_equal(cert_hex(bytes, 3, text), "00a5ff");
	memset(bytes, 1, 3);
	assert_true(cert_unhex("00a5ff", bytes, 3));
	assert_int_equal(bytes[1], 0xa5);
	assert_false(cert_unhex("00a5f", bytes, 3));
	assert_false(cert_unhex("00a5ff0", bytes, 3));
	assert_false(cert_unhex("00A5FF", bytes, 3));
	assert_false(cert_unhex("00a5 f", bytes, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	     cmocka_unit_test(test_chain),
		cmocka_unit_test(test_without_name), cmocka_unit_test(test_request),
		cmocka_unit_test(test_key_text),     cmocka_unit_test(test_exposed),
		cmocka_unit_test(test_token),	     cmocka_unit_test(test_hex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
