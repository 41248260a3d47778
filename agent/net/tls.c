// SPDX-License-Identifier: GPL-2.0-or-later
/* Contexts and certificates (OpenSSL 3). */

#include "net/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/user.h"
#include "cluster/address.h"

struct tls {
	SSL_CTX *server, *client;
};

static const unsigned char tls_alpn[] = { 2, 'h', '2' };

static bool tls_cn(X509 *cert, char *cn, size_t size)
{
	X509_NAME *name = X509_get_subject_name(cert);
	int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
	unsigned char *text = NULL;
	bool good = false;
	int length;

	/* with a second one, or a NUL inside, two readers might see different names */
	if (at < 0 || X509_NAME_get_index_by_NID(name, NID_commonName, at) >= 0)
		return false;
	length =
		ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
	if (length > 0 && (size_t)length < size && strlen((char *)text) == (size_t)length) {
		memcpy(cn, text, length + 1);
		good = true;
	}
	OPENSSL_free(text);
	return good;
}

static int tls_verify(int ok, X509_STORE_CTX *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls_verdict *verdict = SSL_get_app_data(ssl);
	X509 *leaf = X509_STORE_CTX_get0_cert(store);

	if (!ok && verdict && !verdict->why) {
		verdict->why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
		if (!leaf || !tls_cn(leaf, verdict->cn, sizeof(verdict->cn)))
			strcpy(verdict->cn, "?");
	}
	return ok;
}

static int tls_select_alpn(SSL *ssl, const unsigned char **out, unsigned char *length,
			   const unsigned char *in, unsigned int inlen, void *arg)
{
	if (SSL_select_next_proto((unsigned char **)out, length, tls_alpn, sizeof(tls_alpn), in,
				  inlen) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
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
	SSL_CTX_set_verify_depth(ctx, 4);
	if (server)
		SSL_CTX_set_alpn_select_cb(ctx, tls_select_alpn, NULL);
	else
		SSL_CTX_set_alpn_protos(ctx, tls_alpn, sizeof(tls_alpn));
	if (SSL_CTX_use_certificate_chain_file(ctx, c->certificate) != 1)
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
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

struct tls *tls_new(const struct config *c, FILE *errors)
{
	struct tls *tls = calloc(1, sizeof(*tls));
	char cn[256];

	if (!tls)
		return NULL;
	tls->server = tls_context(c, true, errors);
	if (!tls->server)
		goto free_tls;
	tls->client = tls_context(c, false, errors);
	if (!tls->client)
		goto free_tls;
	if (!tls_cn(SSL_CTX_get0_certificate(tls->server), cn, sizeof(cn)) ||
	    strlen(cn) > ADDRESS_HOST_MAX) {
		fprintf(errors, "%s:%d: certificate: %s: no usable CN\n", c->file,
			c->lines[CONFIG_CERTIFICATE], c->certificate);
		goto free_tls;
	}
	if (*c->host && strcmp(cn, c->host)) {
		fprintf(errors, "%s:%d: certificate: %s: its CN is not this node's host \"%s\"\n",
			c->file, c->address_line, c->certificate, c->host);
		goto free_tls;
	}
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

	return cert && SSL_get_verify_result(ssl) == X509_V_OK && tls_cn(cert, cn, size);
}

static int64_t tls_seconds(const ASN1_TIME *t)
{
	struct tm tm = { 0 };

	return ASN1_TIME_to_tm(t, &tm) == 1 ? timegm(&tm) : 0;
}

bool tls_own_cn(const struct tls *tls, char *cn, size_t size)
{
	return tls && tls_cn(SSL_CTX_get0_certificate(tls->server), cn, size);
}

int tls_own_validity(const struct tls *tls, int64_t *from, int64_t *until, char *cn, size_t size)
{
	X509 *cert = tls ? SSL_CTX_get0_certificate(tls->server) : NULL;

	if (!cert || !tls_cn(cert, cn, size))
		return -ENOENT;
	*from = tls_seconds(X509_get0_notBefore(cert));
	*until = tls_seconds(X509_get0_notAfter(cert));
	return 0;
}
