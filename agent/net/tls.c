// SPDX-License-Identifier: GPL-2.0-or-later
/* Contexts and certificates (OpenSSL 3). */

#include "net/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/user.h"
#include "cert/name.h"
#include "cert/read.h"
#include "cert/revoke.h"
#include "cert/token.h"
#include "net/renewed.h"

#define TLS_DEPTH 4 /* of a chain */
/*
 * For the exchange of keys, in our order. The client chooses among them, before it has shown who it is:
 * some that libssl has by default, as ffdhe8192, cost a hundred times as much.
 */
#define TLS_GROUPS "X25519:P-256"
#define TLS_GROUPS_FEW "P-256" /* where libssl may not use the other one */

struct tls {
	SSL_CTX *server, *client;
};

static const unsigned char tls_alpn[] = { 2, 'h', '2' };
static const unsigned char tls_visit[] = "\x0e" TOKEN_ALPN; /* its length, as in tls_alpn */
_Static_assert(sizeof(TOKEN_ALPN) - 1 == 0x0e, "the length before it");

/* The cluster's name is kept with a context, which connections hold longer than its owner. */
static void tls_cluster_free(void *ctx, void *cluster, CRYPTO_EX_DATA *data, int index, long argl,
			     void *argp)
{
	free(cluster);
}

static int tls_cluster_index(void)
{
	static int index = -1;

	if (index < 0)
		index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, tls_cluster_free);
	return index;
}

static bool tls_cluster_keep(SSL_CTX *ctx, const char *cluster)
{
	char *copy = strdup(cluster);

	if (copy && SSL_CTX_set_ex_data(ctx, tls_cluster_index(), copy))
		return true;
	free(copy);
	return false;
}

static void tls_note(struct tls_verdict *verdict, const X509 *leaf, const char *why)
{
	if (!verdict || verdict->why)
		return;
	verdict->why = why;
	if (!leaf || !cert_host(leaf, verdict->cn, sizeof(verdict->cn)))
		strcpy(verdict->cn, "?");
}

static const char tls_is_revoked[] = "it was revoked";

static int tls_verify(int ok, X509_STORE_CTX *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(store);
	X509 *leaf = X509_STORE_CTX_get0_cert(store);
	struct tls_verdict *verdict;
	const char *why;

	if (!ok) {
		why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
		tls_note(SSL_get_app_data(ssl), leaf, why);
		return 0;
	}
	/* From the authority down: at the leaf all others have been verified. */
	if (X509_STORE_CTX_get_error_depth(store))
		return 1;
	why = cert_refusal(leaf, sk_X509_value(chain, sk_X509_num(chain) - 1),
			   SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), tls_cluster_index()));
	verdict = SSL_get_app_data(ssl);
	if (!why && !(verdict && revoke_has(verdict->agent->revoke_list, leaf)))
		return 1;
	tls_note(verdict, leaf, why ?: tls_is_revoked);
	/* the other side is told so, by an alert */
	X509_STORE_CTX_set_error(store, why ? X509_V_ERR_APPLICATION_VERIFICATION
					    : X509_V_ERR_CERT_REVOKED);
	return 0;
}

static bool tls_offers(const unsigned char **out, unsigned char *length, const unsigned char *ours,
		       unsigned int n, const unsigned char *in, unsigned int inlen)
{
	return SSL_select_next_proto((unsigned char **)out, length, ours, n, in, inlen) ==
	       OPENSSL_NPN_NEGOTIATED;
}

/* Called before a certificate is asked for. */
static int tls_select_alpn(SSL *ssl, const unsigned char **out, unsigned char *length,
			   const unsigned char *in, unsigned int inlen, void *arg)
{
	struct tls_verdict *verdict = SSL_get_app_data(ssl);

	if (tls_offers(out, length, tls_alpn, sizeof(tls_alpn), in, inlen))
		return SSL_TLSEXT_ERR_OK;
	if (!verdict || !verdict->invites ||
	    !tls_offers(out, length, tls_visit, sizeof(tls_visit) - 1, in, inlen))
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	verdict->visitor = true;
	SSL_set_verify(ssl, SSL_VERIFY_NONE, NULL);
	return SSL_TLSEXT_ERR_OK;
}

static void tls_complain(FILE *errors, const struct config *c, int line, const char *what,
			 const char *file)
{
	unsigned long code = ERR_peek_last_error();
	const char *user;

	ERR_clear_error();
	if (access(file, R_OK) && errno == EACCES) {
		user = user_name(geteuid());
		fprintf(errors,
			"%s:%d: %s: %s: not readable for user %s, as whom the agent runs: `chown %s %s`\n",
			c->file, line, what, file, user ?: "?", user ?: "USER", file);
		return;
	}
	fprintf(errors, "%s:%d: %s: %s: %s\n", c->file, line, what, file,
		code ? ERR_reason_error_string(code) : "unusable");
}

/* A process that can read the key can be this node. */
static bool tls_is_private(const struct config *c, int line, const char *what, const char *file,
			   FILE *errors)
{
	const char *why;
	struct stat st;

	/* what cannot be looked at cannot be read either, which is said later */
	if (stat(file, &st))
		return true;
	why = cert_exposed(st.st_mode, st.st_uid);
	if (why)
		fprintf(errors, "%s:%d: %s: %s: %s: `chmod %s %s`\n", c->file, line, what, file,
			why, st.st_uid ? "600" : "640", file);
	return !why;
}

static bool tls_load(SSL_CTX *ctx, const struct config *c, FILE *errors)
{
	if (!tls_cluster_keep(ctx, c->cluster) ||
	    (SSL_CTX_set1_groups_list(ctx, TLS_GROUPS) != 1 &&
	     SSL_CTX_set1_groups_list(ctx, TLS_GROUPS_FEW) != 1))
		tls_complain(errors, c, 1, "TLS", "context");
	else if (SSL_CTX_use_certificate_chain_file(ctx, c->certificate) != 1)
		tls_complain(errors, c, c->lines[CONFIG_CERTIFICATE], "certificate",
			     c->certificate);
	else if (SSL_CTX_use_PrivateKey_file(ctx, c->key, SSL_FILETYPE_PEM) != 1)
		tls_complain(errors, c, c->lines[CONFIG_KEY], "key", c->key);
	else if (SSL_CTX_check_private_key(ctx) != 1)
		tls_complain(errors, c, c->lines[CONFIG_KEY], "key does not match the certificate",
			     c->key);
	else if (SSL_CTX_load_verify_file(ctx, c->authority) != 1)
		tls_complain(errors, c, c->lines[CONFIG_AUTHORITY], "authority", c->authority);
	else
		return true;
	return false;
}

static SSL_CTX *tls_context(const struct config *c, bool server, FILE *errors)
{
	SSL_CTX *ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());

	if (!ctx) {
		tls_complain(errors, c, 1, "TLS", "context");
		return NULL;
	}
	SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
	/* a peer that dies sends no close_notify; frames tell whether something is missing */
	SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
	/* connections last for days: resumption is not worth its state */
	SSL_CTX_set_num_tickets(ctx, 0);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, tls_verify);
	SSL_CTX_set_verify_depth(ctx, TLS_DEPTH);
	if (server)
		SSL_CTX_set_alpn_select_cb(ctx, tls_select_alpn, NULL);
	else
		SSL_CTX_set_alpn_protos(ctx, tls_alpn, sizeof(tls_alpn));
	if (tls_load(ctx, c, errors)) {
		renewed_use(ctx, c);
		return ctx;
	}
	SSL_CTX_free(ctx);
	return NULL;
}

/* Refuses here, where it can be corrected, a certificate that peers would refuse. */
static bool tls_is_ours(const struct config *c, SSL_CTX *ctx, FILE *errors)
{
	X509 *cert = SSL_CTX_get0_certificate(ctx),
	     *issuer = cert_issuer(SSL_CTX_get_cert_store(ctx), cert);
	const char *why = issuer ? cert_refusal(cert, issuer, c->cluster) : NULL;

	if (why)
		fprintf(errors, "%s:%d: certificate: %s: %s; `cluster` is \"%s\"\n", c->file,
			c->lines[CONFIG_CERTIFICATE], c->certificate, why, c->cluster);
	return !why;
}

struct tls *tls_new(const struct config *c, FILE *errors)
{
	struct tls *tls;
	char cn[256];

	if (!tls_is_private(c, c->lines[CONFIG_KEY], "key", c->key, errors) ||
	    (*c->authority_key && !tls_is_private(c, c->lines[CONFIG_AUTHORITY_KEY],
						  "authority-key", c->authority_key, errors)))
		return NULL;
	tls = calloc(1, sizeof(*tls));
	if (!tls)
		return NULL;
	tls->server = tls_context(c, true, errors);
	if (!tls->server)
		goto free_tls;
	tls->client = tls_context(c, false, errors);
	if (!tls->client)
		goto free_tls;
	if (!cert_host(SSL_CTX_get0_certificate(tls->server), cn, sizeof(cn)) ||
	    strlen(cn) > CERT_HOST_MAX) {
		fprintf(errors, "%s:%d: certificate: %s: no usable CN\n", c->file,
			c->lines[CONFIG_CERTIFICATE], c->certificate);
		goto free_tls;
	}
	if (*c->host && strcmp(cn, c->host)) {
		fprintf(errors, "%s:%d: certificate: %s: its CN is not this node's host \"%s\"\n",
			c->file, c->address_line, c->certificate, c->host);
		goto free_tls;
	}
	if (tls_is_ours(c, tls->server, errors))
		return tls;

free_tls:
	tls_free(tls);
	return NULL;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->server);
	SSL_CTX_free(tls->client);
	free(tls);
}

void tls_use(struct agent *agent, struct tls *tls)
{
	tls_free(agent->tls);
	agent->tls = tls;
}

SSL_CTX *tls_context_of(const struct tls *tls)
{
	return tls->client;
}

SSL *tls_side(struct tls *tls, bool server, struct tls_verdict *verdict)
{
	SSL *ssl = SSL_new(server ? tls->server : tls->client);

	if (ssl)
		SSL_set_app_data(ssl, verdict);
	return ssl;
}

bool tls_peer_cn(SSL *ssl, char *cn, size_t size)
{
	X509 *cert = SSL_get0_peer_certificate(ssl);

	return cert && SSL_get_verify_result(ssl) == X509_V_OK && cert_host(cert, cn, size);
}

int64_t tls_peer_until(SSL *ssl)
{
	STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);
	int64_t first = 0, until;

	for (int i = 0; i < sk_X509_num(chain); i++) {
		until = cert_until(sk_X509_value(chain, i), NULL);
		if (!i || until < first)
			first = until;
	}
	return first;
}

/* As the handshake does it, with the contexts and the time of now. */
const char *tls_peer_refusal(struct agent *agent, SSL *ssl)
{
	X509_STORE *store = SSL_CTX_get_cert_store(agent->tls->client);
	X509 *leaf = SSL_get0_peer_certificate(ssl);
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	const char *why = "out of memory";
	STACK_OF(X509) * chain;

	if (!ctx || !leaf || !X509_STORE_CTX_init(ctx, store, leaf, SSL_get_peer_cert_chain(ssl)) ||
	    !X509_STORE_CTX_set_default(ctx, SSL_is_server(ssl) ? "ssl_client" : "ssl_server"))
		goto free_ctx;
	X509_STORE_CTX_set_depth(ctx, TLS_DEPTH);
	if (X509_verify_cert(ctx) != 1) {
		why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx));
		goto free_ctx;
	}
	chain = X509_STORE_CTX_get0_chain(ctx);
	why = cert_refusal(leaf, sk_X509_value(chain, sk_X509_num(chain) - 1),
			   agent->config->cluster);
	if (!why && revoke_has(agent->revoke_list, leaf))
		why = tls_is_revoked;
free_ctx:
	ERR_clear_error();
	X509_STORE_CTX_free(ctx);
	return why;
}

bool tls_own_cn(const struct tls *tls, char *cn, size_t size)
{
	return tls && cert_host(SSL_CTX_get0_certificate(tls->server), cn, size);
}

X509 *tls_own(const struct tls *tls, X509 **authority)
{
	X509 *own = SSL_CTX_get0_certificate(tls->server);

	*authority = cert_issuer(SSL_CTX_get_cert_store(tls->server), own);
	return own;
}

int tls_own_validity(const struct tls *tls, int64_t *from, int64_t *until, char *cn, size_t size)
{
	X509 *cert = tls ? SSL_CTX_get0_certificate(tls->server) : NULL;

	if (!cert || !cert_host(cert, cn, size))
		return -ENOENT;
	*until = cert_until(cert, from);
	return 0;
}
