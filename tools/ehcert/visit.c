// SPDX-License-Identifier: GPL-2.0-or-later
#include "visit.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "cluster/speech.h"
#include "ehcert.h"
#include "own.h"

#define VISIT_S 10 /* for each step */
#define VISIT_ANSWER 65536 /* bytes, at most */

struct visit {
	const struct cert_token *token;
	const char *why; /* of a refusal that is ours */
};

/* ---- the way there ---- */

/* "HOST:PORT", "[ADDRESS]:PORT", or either without a port; cut in place. */
static const char *visit_split(char *where)
{
	char *colon = strrchr(where, ':');
	size_t n;

	/* several colons outside of brackets are an address of IPv6 */
	if (colon && (strchr(where, ':') == colon || (where[0] == '[' && colon[-1] == ']')))
		*colon++ = '\0';
	else
		colon = NULL;
	n = strlen(where);
	if (n > 2 && where[0] == '[' && where[n - 1] == ']') {
		where[n - 1] = '\0';
		memmove(where, where + 1, n - 1);
	}
	return colon ?: OWN_PORT;
}

static int visit_connect(const char *to)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	const struct timeval limit = { VISIT_S, 0 };
	struct addrinfo *found;
	const char *port;
	char where[300];
	int fd = -1, err;

	if ((size_t)snprintf(where, sizeof(where), "%s", to) >= sizeof(where)) {
		fail(0, "%s: too long", to);
		return -1;
	}
	port = visit_split(where);
	err = getaddrinfo(where, port, &hints, &found);
	if (err) {
		fail(0, "%s: %s", where, gai_strerror(err));
		return -1;
	}
	for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (!connect(fd, a->ai_addr, a->ai_addrlen))
			break;
		err = errno;
		close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd < 0)
		fail(0, "%s, port %s: %s", where, port,
		     strerror(err == EINPROGRESS ? ETIMEDOUT : err));
	return fd;
}

/* ---- who is there ---- */

/*
 * Called with what the other side has sent. The authority is the one of the token: no other one counts,
 * whatever this host trusts.
 */
static int visit_verify(X509_STORE_CTX *store, void *arg)
{
	STACK_OF(X509) *sent = X509_STORE_CTX_get0_untrusted(store);
	STACK_OF(X509) *trusted = sk_X509_new_null();
	unsigned char digest[CERT_DIGEST];
	struct visit *v = arg;
	int good = 0;

	for (int i = 0; trusted && i < sk_X509_num(sent); i++) {
		X509 *one = sk_X509_value(sent, i);

		if (cert_digest(one, digest) && !memcmp(digest, v->token->authority, CERT_DIGEST))
			sk_X509_push(trusted, one);
	}
	if (!sk_X509_num(trusted)) {
		v->why = "it was not issued by the authority in the token";
		X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
	} else {
		X509_STORE_CTX_set0_trusted_stack(store, trusted);
		good = X509_verify_cert(store) == 1;
		if (!good)
			v->why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
	}
	sk_X509_free(trusted);
	return good;
}

static bool visit_is_host(SSL *ssl, const char *host)
{
	const X509 *cert = SSL_get0_peer_certificate(ssl);
	char cn[CERT_HOST_MAX + 1];

	return cert && cert_host(cert, cn, sizeof(cn)) && !strcmp(cn, host);
}

static SSL *visit_greet(SSL_CTX *ctx, int fd, struct visit *v)
{
	static const unsigned char alpn[] = "\x0e" TOKEN_ALPN;
	SSL *ssl = SSL_new(ctx);
	unsigned long code;

	_Static_assert(sizeof(TOKEN_ALPN) - 1 == 0x0e, "the length before it");
	SSL_CTX_set_cert_verify_callback(ctx, visit_verify, v);
	if (!ssl || SSL_set_alpn_protos(ssl, alpn, sizeof(alpn) - 1) || !SSL_set_fd(ssl, fd)) {
		fail(0, "out of memory");
		goto free_ssl;
	}
	SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	if (SSL_connect(ssl) == 1) {
		if (visit_is_host(ssl, v->token->host))
			return ssl;
		fail(0, "the host that answers is not %s, which sent the invitation",
		     v->token->host);
		goto free_ssl;
	}
	code = ERR_get_error();
	if (v->why)
		fail(0, "the certificate of the host that answers is refused: %s", v->why);
	else if (ERR_GET_REASON(code) == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL)
		fail(0,
		     "%s has no open invitation: the token was used, or has expired; ask for "
		     "another one",
		     v->token->host);
	else
		fail(0, "no TLS with the host that answers: %s",
		     code ? ERR_reason_error_string(code) : "no answer");
free_ssl:
	SSL_free(ssl);
	return NULL;
}

/* ---- what is said ---- */

static json_t *visit_talk(SSL *ssl, const char *line)
{
	char *answer = malloc(VISIT_ANSWER);
	size_t length = 0;
	json_t *o = NULL;
	int n = 1;

	if (!answer || SSL_write(ssl, line, (int)strlen(line)) <= 0)
		goto free_answer;
	while (n > 0 && length < VISIT_ANSWER && !memchr(answer, '\n', length)) {
		n = SSL_read(ssl, answer + length, (int)(VISIT_ANSWER - length));
		length += n > 0 ? n : 0;
	}
	o = speech_object(answer, length, NULL);
free_answer:
	free(answer);
	if (!o)
		fail(0, "the inviting host did not answer; is the token still valid?");
	return o;
}

static int visit_own(int fd, struct address *own)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t length = sizeof(sa);

	if (getsockname(fd, (struct sockaddr *)&sa, &length))
		return -1;
	address_from((const struct sockaddr *)&sa, own);
	return 0;
}

json_t *visit(const struct cert_token *token, const char *where, json_t *request,
	      struct address *own)
{
	char *text = json_dumps(request, JSON_COMPACT), *line = NULL;
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	int fd = visit_connect(where ?: token->address);
	struct visit v = { .token = token };
	json_t *answer = NULL;
	SSL *ssl = NULL;

	json_decref(request);
	if (fd < 0)
		goto free_all;
	if (!ctx || !text || asprintf(&line, "%s\n", text) < 0) {
		line = NULL;
		fail(0, "out of memory");
		goto free_all;
	}
	SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
	ssl = visit_greet(ctx, fd, &v);
	if (ssl && !visit_own(fd, own))
		answer = visit_talk(ssl, line);
free_all:
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	if (fd >= 0)
		close(fd);
	if (line)
		OPENSSL_cleanse(line, strlen(line));
	if (text)
		OPENSSL_cleanse(text, strlen(text));
	free(line);
	free(text);
	return answer;
}
