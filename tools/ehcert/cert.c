// SPDX-License-Identifier: GPL-2.0-or-later
/* ehctl cert init | node | list */
#include "ehcert.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <openssl/x509v3.h>

#include "authority.h"
#include "cert/make.h"
#include "cert/name.h"
#include "cert/read.h"
#include "files.h"
#include "own.h"

#define DAY 86400

static int cert_days(unsigned int *days)
{
	const char *text = getenv("EHCERT_DAYS");
	uint64_t n = EHCERT_DAYS;

	if (text && (parse_count(text, 36500, &n) || !n))
		return bad_usage("EHCERT_DAYS=%s: must be a number of days from 1 to 36500", text);
	*days = n;
	return 0;
}

static int cert_say(bool json, const char *dir)
{
	return json ? json_print_new(json_pack("{s:i,s:s}", "version", 1, "directory", dir)) : 0;
}

/* ---- init ---- */

static int cert_init(int argc, char **argv, bool json)
{
	const char *cluster = NULL, *dir = NULL;
	char origin[CERT_HOST_MAX + 1];
	struct authority a = { 0 };
	struct files files;
	unsigned int days = EHCERT_DAYS;
	int code;

	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "--cluster") && i + 1 < argc)
			cluster = argv[++i];
		else if (argv[i][0] == '-' || dir)
			return bad_usage("init: unknown argument: %s", argv[i]);
		else
			dir = argv[i];
	}
	if (!dir || !*dir)
		return bad_usage("init: one directory is required");
	if (cluster && own_check_cluster(cluster))
		return EXIT_USAGE;
	code = cert_days(&days) ?: files_begin(&files, dir);
	code = code ?: files_fresh(&files, AUTHORITY_CERT) ?: files_fresh(&files, AUTHORITY_KEY);
	if (code)
		return code;
	own_name(origin, sizeof(origin));
	code = authority_make(&a, &files, cluster, origin, days);
	if (code)
		return files_undo(&files, code);
	authority_free(&a);
	if (json)
		return cert_say(json, dir);
	print_lines("%s/%s is the authority%s%s; keep %s/%s secret, and where it is.\n"
		    "next: ehctl cert node %s HOST…\n",
		    dir, AUTHORITY_CERT, cluster ? " of cluster " : "", cluster ?: "", dir,
		    AUTHORITY_KEY, dir);
	return 0;
}

/* ---- node ---- */

static int cert_node(int argc, char **argv, bool json)
{
	struct authority a;
	struct files files;
	unsigned int days = EHCERT_DAYS;
	int code;

	if (argc < 2 || argv[0][0] == '-')
		return bad_usage("node: a directory and at least one host are required");
	for (int i = 1; i < argc; i++)
		if (own_check_host(argv[i]))
			return EXIT_USAGE;
	code = cert_days(&days) ?: authority_read(&a, argv[0]);
	if (code)
		return code;
	code = files_begin(&files, argv[0]);
	/* each host's pair is whole; those before one that fails stay */
	for (int i = 1; !code && i < argc; i++) {
		code = authority_certify(&a, &files, argv[i], days);
		if (code)
			files_undo(&files, code);
		files.count = 0;
	}
	authority_free(&a);
	if (code || json)
		return code ?: cert_say(json, argv[0]);
	for (int i = 1; i < argc; i++)
		print_lines("%s/%s.crt and %s/%s.key\n", argv[0], argv[i], argv[0], argv[i]);
	printf("next: copy HOST.crt, HOST.key and ca.crt to /etc/ehsched on each HOST, there\n"
	       "      chown ehsched /etc/ehsched/HOST.key, and name them in "
	       "/etc/ehsched/agent.conf\n");
	return 0;
}

/* ---- list ---- */

/* What is to be said about the private key beside a certificate. */
static const char *cert_key_state(const char *dir, const char *name, X509 *cert)
{
	char path[4096];
	const char *why;
	struct stat st;
	EVP_PKEY *key;
	size_t length;
	char *text;
	int same;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path) - 4)
		return "?";
	strcpy(strrchr(path, '.'), ".key");
	if (stat(path, &st))
		return errno == ENOENT ? "not here" : "not readable";
	why = cert_exposed(st.st_mode, st.st_uid);
	if (why)
		return "exposed";
	if (!S_ISREG(st.st_mode) || access(path, R_OK))
		return "not readable";
	text = files_read(dir, strrchr(path, '/') + 1, &length);
	key = text ? cert_key_from_pem(text, length) : NULL;
	same = key && X509_check_private_key(cert, key) == 1;
	EVP_PKEY_free(key);
	free(text);
	return same ? "ok" : "another";
}

static const char *cert_state(int64_t from, int64_t until, int64_t now)
{
	if (now < from)
		return "not yet valid";
	if (now > until)
		return "expired";
	return until - now < 30 * DAY ? "expires soon" : "valid";
}

static json_t *cert_describe(const char *dir, const char *name)
{
	char host[CERT_HOST_MAX + 1] = "", cluster[CERT_CLUSTER_MAX + 1], until[32], print[65];
	unsigned char digest[CERT_DIGEST];
	int64_t from, end;
	size_t length;
	char *text = files_read(dir, name, &length);
	X509 *cert = text ? cert_from_pem(text, length) : NULL;
	struct tm tm;
	json_t *o;
	time_t t;

	free(text);
	if (!cert || !cert_digest(cert, digest)) {
		authority_failed("no certificate", name);
		X509_free(cert);
		return NULL;
	}
	cert_host(cert, host, sizeof(host));
	cert_cluster(cert, cluster, sizeof(cluster));
	end = cert_until(cert, &from);
	t = end;
	strftime(until, sizeof(until), "%Y-%m-%d", gmtime_r(&t, &tm));
	for (int i = 0; i < CERT_DIGEST; i++)
		sprintf(print + 2 * i, "%02x", digest[i]);
	o = json_pack("{s:s,s:s,s:s*,s:b,s:s,s:I,s:s,s:s,s:s}", "file", name, "host", host,
		      "cluster", *cluster ? cluster : NULL, "authority", X509_check_ca(cert) > 0,
		      "until", until, "seconds", (json_int_t)end, "state",
		      cert_state(from, end, time(NULL)), "key", cert_key_state(dir, name, cert),
		      "fingerprint", print);
	X509_free(cert);
	return o;
}

static int cert_is_named(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 4 && !strcmp(entry->d_name + n - 4, ".crt");
}

static void cert_print(const json_t *list)
{
	struct table *t =
		table_new("FILE", "NAME", "CLUSTER", "UNTIL", "STATE", "KEY", "FINGERPRINT", NULL);
	const json_t *one;
	char print[17];
	size_t i;

	json_array_foreach(list, i, one) {
		snprintf(print, sizeof(print), "%s", text_of(one, "fingerprint"));
		table_row(t, text_of(one, "file"), text_of(one, "host"), text_of(one, "cluster"),
			  text_of(one, "until"), text_of(one, "state"), text_of(one, "key"), print,
			  NULL);
	}
	table_print(t);
}

static int cert_list(int argc, char **argv, bool json)
{
	const char *dir = argc ? argv[0] : EHCERT_DIR;
	struct dirent **found;
	json_t *list, *one;
	int n, code = 0;

	if (argc > 1 || dir[0] == '-')
		return bad_usage("list: one directory, or none for " EHCERT_DIR);
	n = scandir(dir, &found, cert_is_named, alphasort);
	if (n < 0)
		return fail(EXIT_REFUSED, "%s: %s", dir, strerror(errno));
	list = json_array();
	for (int i = 0; i < n; i++) {
		one = cert_describe(dir, found[i]->d_name);
		if (!one || json_array_append_new(list, one))
			code = EXIT_REFUSED;
		free(found[i]);
	}
	free(found);
	if (json)
		return json_print_new(json_pack("{s:i,s:o}", "version", 1, "certificates", list))
			       ?: code;
	if (n)
		cert_print(list);
	else
		print_lines("no certificates in %s\n", dir);
	json_decref(list);
	return code;
}

int cert_run(int argc, char **argv, bool json)
{
	if (argc < 2)
		return bad_usage("init, node or list is required");
	if (!strcmp(argv[1], "init"))
		return cert_init(argc - 2, argv + 2, json);
	if (!strcmp(argv[1], "node"))
		return cert_node(argc - 2, argv + 2, json);
	if (!strcmp(argv[1], "list"))
		return cert_list(argc - 2, argv + 2, json);
	return bad_usage("unknown command: %s", argv[1]);
}
