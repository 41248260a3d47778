// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl join: this host gets a certificate by an invitation. */
#include "ehcert.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/crypto.h>

#include "authority.h"
#include "cert/make.h"
#include "cert/name.h"
#include "cert/read.h"
#include "cert/token.h"
#include "files.h"
#include "own.h"
#include "visit.h"

#define JOIN_TEXT 8192
#define JOIN_MEMBERS 16
#define JOIN_HEARTBEAT 1000 /* the agent's default */

struct join {
	const char *dir, *host_given, *address_given, *token_given, *where;
	struct cert_token token;
	char path[1024], host[CERT_HOST_MAX + 1];
	char cert_name[CERT_HOST_MAX + 8], key_name[CERT_HOST_MAX + 8];
	struct address address;
	EVP_PKEY *key;
	json_t *answer;
};

static const struct option_row join_options[] = {
	{ "token", OPTION_TEXT, offsetof(struct join, token_given), "TOKEN", .help = "" },
	{ "dir", OPTION_TEXT, offsetof(struct join, dir), "DIR", .help = "" },
	{ "host", OPTION_TEXT, offsetof(struct join, host_given), "NAME", .help = "" },
	{ "address", OPTION_TEXT, offsetof(struct join, address_given), "A[:PORT]", .help = "" },
	{ 0 },
};

static int join_read_token(struct join *j)
{
	char line[TOKEN_TEXT + 2];
	const char *why;

	if (!j->token_given)
		return bad_usage("--token is required: `ehctl invite` on a member makes one");
	if (!strcmp(j->token_given, "-")) {
		if (!fgets(line, sizeof(line), stdin))
			return fail(EXIT_REFUSED, "no token on standard input");
		line[strcspn(line, "\r\n")] = '\0';
	} else if ((size_t)snprintf(line, sizeof(line), "%s", j->token_given) >= sizeof(line)) {
		return bad_usage("--token: it is too long");
	}
	why = cert_token_parse(line, &j->token);
	OPENSSL_cleanse(line, sizeof(line));
	return why ? bad_usage("--token: %s", why) : 0;
}

static int join_read(struct join *j, int argc, char **argv)
{
	int code = options_parse(argc, argv, join_options, j);

	if (code)
		return code;
	if (optind + 1 < argc)
		return bad_usage("one host only");
	j->where = argv[optind];
	code = join_read_token(j) ?: own_host(j->host_given, j->host, sizeof(j->host));
	if (!code && j->address_given)
		code = own_address(j->address_given, &j->address);
	snprintf(j->cert_name, sizeof(j->cert_name), "%s.crt", j->host);
	snprintf(j->key_name, sizeof(j->key_name), "%s.key", j->host);
	return code;
}

static int join_fresh(const struct join *j, const struct files *files)
{
	return files_fresh(files, "agent.conf") ?:
		       files_fresh(files, AUTHORITY_CERT) ?:
		       files_fresh(files, j->cert_name) ?: files_fresh(files, j->key_name);
}

/* Written before anything is asked for: a token must not be used for what cannot be kept. */
static int join_make_key(struct join *j, struct files *files)
{
	char *text;
	int code;

	j->key = cert_key_new();
	text = j->key ? cert_key_to_pem(j->key) : NULL;
	if (!text)
		return authority_failed("cannot make the key", j->key_name);
	code = files_write(files, j->key_name, text, true);
	OPENSSL_cleanse(text, strlen(text));
	free(text);
	return code;
}

static int join_ask(struct join *j)
{
	X509_REQ *request = cert_request_new(j->key, j->host);
	char *pem = request ? cert_request_to_pem(request) : NULL, secret[2 * TOKEN_SECRET + 1];
	char text[ADDRESS_TEXT + 16];
	struct address own;
	const char *error, *colon;

	X509_REQ_free(request);
	if (!pem)
		return authority_failed("cannot make the signing request", j->host);
	j->answer = visit(&j->token, j->where,
			  json_pack("{s:s,s:s,s:s}", "secret",
				    cert_hex(j->token.secret, TOKEN_SECRET, secret), "host",
				    j->host, "request", pem),
			  &own);
	OPENSSL_cleanse(secret, sizeof(secret));
	free(pem);
	if (!j->answer)
		return EXIT_REFUSED;
	error = json_string_value(json_object_get(j->answer, "error"));
	if (error)
		return fail(EXIT_REFUSED, "%s refuses: %s", j->token.host, error);
	if (j->address.length)
		return 0;
	colon = strrchr(own.text, ':');
	snprintf(text, sizeof(text), "%.*s:" OWN_PORT, colon ? (int)(colon - own.text) : 0,
		 own.text);
	if (address_parse(text, &j->address))
		return fail(EXIT_REFUSED, "cannot find this host's address: use --address");
	return 0;
}

static bool join_is_quotable(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c == '"' || *c == '\\' || *c == '$' || (unsigned char)*c < ' ')
			return false;
	return *text;
}

/* Checks the answer, although its sender was checked. NULL, or what is wrong. */
static const char *join_check(const struct join *j, X509 *cert, X509 *authority)
{
	const char *cluster = json_string_value(json_object_get(j->answer, "cluster"));
	unsigned char digest[CERT_DIGEST];
	char host[CERT_HOST_MAX + 1];

	if (!cluster || !join_is_quotable(cluster))
		return "the name of the cluster";
	if (!authority || !cert_digest(authority, digest) ||
	    memcmp(digest, j->token.authority, CERT_DIGEST) != 0)
		return "the authority";
	if (!cert || X509_verify(cert, X509_get0_pubkey(authority)) != 1 ||
	    X509_check_private_key(cert, j->key) != 1 || !cert_host(cert, host, sizeof(host)) ||
	    strcmp(host, j->host) != 0)
		return "the certificate";
	return cert_refusal(cert, authority, cluster) ? "the certificate" : NULL;
}

static int join_conf(struct join *j, struct files *files)
{
	json_int_t heartbeat = json_integer_value(json_object_get(j->answer, "heartbeat"));
	const json_t *list = json_object_get(j->answer, "join"), *one;
	char members[JOIN_MEMBERS * (ADDRESS_TEXT + 4)] = "", text[JOIN_TEXT], beat[64] = "";
	struct address address;
	size_t i, n = 0;

	json_array_foreach(list, i, one) {
		const char *where = json_string_value(one);

		if (i < JOIN_MEMBERS && where && !address_parse(where, &address))
			n += snprintf(members + n, sizeof(members) - n, "%s\"%s\"", n ? ", " : "",
				      address.text);
	}
	if (!n)
		return fail(EXIT_REFUSED, "the reply of %s names no member", j->token.host);
	if (heartbeat >= 100 && heartbeat <= 60000 && heartbeat != JOIN_HEARTBEAT)
		snprintf(beat, sizeof(beat), "heartbeat     = %lld\n", (long long)heartbeat);
	snprintf(text, sizeof(text),
		 "# Written by `ehctl join`; ehagent.conf(5) explains all settings.\n"
		 "cluster       = \"%s\"\n"
		 "join          = { %s }\n"
		 "address       = \"%s\"\n"
		 "certificate   = \"%s/%s\"\n"
		 "key           = \"%s/%s\"\n"
		 "authority     = \"%s/" AUTHORITY_CERT "\"\n"
		 "%s",
		 json_string_value(json_object_get(j->answer, "cluster")), members, j->address.text,
		 j->path, j->cert_name, j->path, j->key_name, j->path, beat);
	return files_write(files, "agent.conf", text, true);
}

static int join_keep(struct join *j, struct files *files)
{
	const char *mine = json_string_value(json_object_get(j->answer, "certificate")) ?: "";
	const char *theirs = json_string_value(json_object_get(j->answer, "authority")) ?: "";
	X509 *cert = cert_from_pem(mine, strlen(mine));
	X509 *authority = cert_from_pem(theirs, strlen(theirs));
	const char *wrong = join_check(j, cert, authority);
	/* what was checked, and nothing that may stand beside it */
	char *cert_text = wrong ? NULL : cert_to_pem(cert);
	char *authority_text = wrong ? NULL : cert_to_pem(authority);
	int code;

	X509_free(cert);
	X509_free(authority);
	if (wrong)
		code = fail(EXIT_REFUSED, "the reply of %s is wrong: %s", j->token.host, wrong);
	else if (!cert_text || !authority_text)
		code = fail(EXIT_REFUSED, "out of memory");
	else
		code = files_write(files, AUTHORITY_CERT, authority_text, false) ?:
			       files_write(files, j->cert_name, cert_text, false) ?:
			       join_conf(j, files);
	free(cert_text);
	free(authority_text);
	return code;
}

static int join_say(const struct join *j, bool json)
{
	const char *cluster = json_string_value(json_object_get(j->answer, "cluster"));

	if (json)
		return json_print_new(json_pack("{s:i,s:s,s:s,s:s,s:s}", "version", 1, "cluster",
						cluster, "host", j->host, "address",
						j->address.text, "directory", j->path));
	print_lines("%s has a certificate of cluster %s, and will be reached at %s.\n", j->host,
		    cluster, j->address.text);
	if (strcmp(j->path, EHCERT_DIR) != 0)
		print_lines("next: ehagent -c %s/agent.conf\n", j->path);
	else
		printf("next: systemctl enable --now ehagent\n");
	printf("      ehctl status\n");
	return 0;
}

int join_run(int argc, char **argv, bool json)
{
	struct join j = { .dir = EHCERT_DIR };
	struct files files;
	int code = join_read(&j, argc, argv);

	code = code ?: files_begin(&files, j.dir);
	if (code)
		return code;
	files_share(&files);
	code = own_directory(j.dir, j.path, sizeof(j.path)) ?:
		       join_fresh(&j, &files) ?:
		       join_make_key(&j, &files) ?: join_ask(&j) ?: join_keep(&j, &files);
	code = code ? files_undo(&files, code) : join_say(&j, json);
	OPENSSL_cleanse(&j.token, sizeof(j.token));
	EVP_PKEY_free(j.key);
	json_decref(j.answer);
	return code;
}
