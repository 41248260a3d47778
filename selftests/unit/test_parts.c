// SPDX-License-Identifier: GPL-2.0-or-later
/* A roster of 4096 hosts, each with its certificate and signature, goes from one agent to another in parts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cert/make.h"
#include "cluster/own_roster.h"
#include "cluster/exchange.h"
#include "cluster/parts.h"
#include "cluster/statement.h"
#include "cluster/store.h"
#include "cluster/vouch.h"
#include "net/h2_stream.h"
#include "net/sign.h"
#include "wiring.h"
#include "two_agents.h"

#define HOSTS 4096

/* ---- signatures that are checked: one of each entry ---- */

static uint64_t signatures;

const char *__real_sign_check(const struct tls *tls, const struct revoke_list *revoked,
			      const char *cluster, const char *host, const char *cert,
			      const char *sign, const void *text, size_t length);
const char *__wrap_sign_check(const struct tls *tls, const struct revoke_list *revoked,
			      const char *cluster, const char *host, const char *cert,
			      const char *sign, const void *text, size_t length);

const char *__wrap_sign_check(const struct tls *tls, const struct revoke_list *revoked,
			      const char *cluster, const char *host, const char *cert,
			      const char *sign, const void *text, size_t length)
{
	signatures++;
	return __real_sign_check(tls, revoked, cluster, host, cert, sign, text, length);
}

static const struct eh_topology topology = { 4, 3 };
static EVP_PKEY *key, *authority_key;
static X509 *authority;

/* ---- entries ---- */

static char *read_file(const char *name)
{
	static char text[8192];
	char path[64];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", two.dir, name);
	f = fopen(path, "re");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	assert_int_equal(fclose(f), 0);
	return text;
}

static void read_authority(void)
{
	char *text = read_file("ca.crt");

	authority = cert_from_pem(text, strlen(text));
	text = read_file("ca.key");
	authority_key = cert_key_from_pem(text, strlen(text));
	key = cert_key_new();
	assert_true(authority && authority_key && key);
}

static json_t *base64(const unsigned char *bytes, int n)
{
	char text[4096];

	assert_true(n > 0 && n < 3000);
	EVP_EncodeBlock((unsigned char *)text, bytes, n);
	return json_string(text);
}

/* A certificate that begins at `now` (less an hour), and the signature of its key. */
static json_t *prove(const struct roster_entry *e, int64_t now)
{
	X509 *cert = cert_node_new(key, e->host, authority, authority_key, now, 30);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char sign[256], *der = NULL;
	size_t length, n = sizeof(sign);
	char *text = statement_text(STATEMENT_ENTRY, "two", &topology, e, &length);
	json_t *proof;
	int size;

	assert_true(cert && ctx && text);
	assert_int_equal(EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key), 1);
	assert_int_equal(EVP_DigestSign(ctx, sign, &n, (unsigned char *)text, length), 1);
	size = i2d_X509(cert, &der);
	proof = json_pack("{s:o,s:o}", "cert", base64(der, size), "sign", base64(sign, (int)n));
	assert_non_null(proof);
	OPENSSL_free(der);
	free(text);
	EVP_MD_CTX_free(ctx);
	X509_free(cert);
	return proof;
}

static void add(struct roster *r, uint32_t index, uint64_t version, int64_t now)
{
	struct roster_entry e = { .index = index, .version = version };

	snprintf(e.host, sizeof(e.host), "host-%u.cluster.example", index);
	assert_int_equal(address_parse("127.0.0.1:1", &e.address), 0);
	e.proof = prove(&e, now);
	assert_int_equal(roster_add(r, &e), 1);
	json_decref(e.proof);
}

/* The file that agent 0 finds: all but the two agents. */
static void write_state(void)
{
	struct roster *r = roster_new(&topology);
	struct config *c;
	char name[64], *text;
	FILE *file;

	assert_non_null(r);
	for (uint32_t i = 2; i < HOSTS; i++)
		add(r, i, i, time(NULL));
	snprintf(name, sizeof(name), "%s/0.conf", two.dir);
	c = config_read(name, NULL, stderr);
	assert_non_null(c);
	text = store_text(c, "n0", r);
	file = fopen(c->state, "w");
	assert_true(text && file && fputs(text, file) >= 0 && !fclose(file));
	free(text);
	config_free(c);
	roster_free(r);
}

/* ---- two agents ---- */

static struct event_base *base;
static struct agent agents[2];
static uint64_t checked, most; /* entries, and in one round of the loop */

static bool has_all(void *ctx)
{
	if (signatures - checked > most)
		most = signatures - checked;
	checked = signatures;
	return roster_count(own_roster(&agents[1])) == HOSTS &&
	       own_roster_version(&agents[0]) == own_roster_version(&agents[1]);
}

static size_t size_of(json_t *o)
{
	size_t n;

	assert_non_null(o);
	n = json_dumpb(o, NULL, 0, JSON_COMPACT);
	json_decref(o);
	return n;
}

/* No body is larger than one may be, and what says what each has is small. */
static void check_sizes(const struct roster *r)
{
	size_t all = 0, n;

	for (uint32_t part = 0; part < HOSTS / PARTS_CODES; part++) {
		n = size_of(parts_entries(r, part, NULL));
		assert_in_range(n, PARTS_CODES * 500, 128 << 10);
		all += n;
	}
	assert_true(all > 2 * H2_JSON_MAX);
	assert_in_range(size_of(parts_sums(r)), 1, 4096);
	assert_in_range(size_of(vouch_json(r)), H2_JSON_MAX / 2, H2_JSON_MAX);
}

static void check_same(void)
{
	struct roster *r[2] = { own_roster(&agents[0]), own_roster(&agents[1]) };
	const char *why;
	json_t *sums = parts_sums(r[0]), *differ = parts_differ(r[1], sums, &why);

	assert_int_equal(json_array_size(json_object_get(sums, "sums")), 2 * HOSTS / PARTS_CODES);
	assert_int_equal(json_array_size(json_object_get(differ, "differ")), 0);
	json_decref(sums);
	json_decref(differ);
	for (uint32_t i = 0; i < HOSTS; i++)
		assert_true(roster_by_code(r[0], i) && roster_by_code(r[1], i));
}

static bool is_told(void *ctx)
{
	has_all(NULL);
	return json_object_size(roster_by_code(own_roster(&agents[1]), 4000)->proof) &&
	       own_roster_version(&agents[0]) == own_roster_version(&agents[1]) &&
	       roster_by_code(own_roster(&agents[1]), 4000)->version == HOSTS + 5;
}

static void finish(void)
{
	wiring_stop(&agents[1]);
	wiring_stop(&agents[0]);
	event_base_free(base);
}

static void test_4096(void **state)
{
	uint64_t before;

	read_authority();
	write_state();
	base = event_base_new();
	assert_non_null(base);
	two_start(&agents[0], base, 0);
	assert_int_equal(roster_count(own_roster(&agents[0])), HOSTS);
	before = checked = signatures;
	assert_int_equal(before, HOSTS - 2);
	two_start(&agents[1], base, 1);
	assert_int_equal(roster_count(own_roster(&agents[1])), 2);
	two_run_until(base, has_all, NULL);
	/* each is checked once, and so are those of the two agents themselves */
	assert_in_range(signatures - before, HOSTS - 2, HOSTS + 2);
	assert_in_range(most, 1, 2 * PARTS_CODES);
	check_sizes(own_roster(&agents[1]));
	check_same();

	/* one that changes is checked alone */
	before = signatures;
	add(own_roster(&agents[0]), 4000, HOSTS + 5, time(NULL));
	own_roster_decided(&agents[0]);
	two_run_until(base, is_told, NULL);
	assert_int_equal(signatures - before, 1);
	check_same();
	finish();

	/* it is kept */
	base = event_base_new();
	assert_non_null(base);
	two_start(&agents[1], base, 1);
	assert_int_equal(roster_count(own_roster(&agents[1])), HOSTS);
	wiring_stop(&agents[1]);
	event_base_free(base);
	EVP_PKEY_free(key);
	EVP_PKEY_free(authority_key);
	X509_free(authority);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_4096, two_set_up, two_tear_down),
	};

	two.topology = "4,3";
	two.group = "0.0.0.";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
