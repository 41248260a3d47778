// SPDX-License-Identifier: GPL-2.0-or-later
/* Other hosts: connections without TLS, and HTTP/2 by the input. */
#include "one_inside.h"

#include <dlfcn.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/sign.h"
#include "net/tls.h"

static const char *const one_hosts[] = { "n0", "n2", "n1", "other", "n3" };

/* ---- TLS that hides nothing ---- */

void tls_use(struct agent *agent, struct tls *tls)
{
}

struct tls *tls_new(const struct config *config, FILE *errors)
{
	return NULL;
}

void tls_free(struct tls *tls)
{
}

SSL *tls_side(struct tls *tls, bool server, struct tls_verdict *verdict)
{
	return (SSL *)&one;
}

bool tls_peer_cn(SSL *ssl, char *cn, size_t size)
{
	const int fd = bufferevent_getfd((struct bufferevent *)ssl);

	if (fd < 0 || fd >= ONE_FD_MAX || !one.hosts[fd])
		return false;
	snprintf(cn, size, "%s", one.hosts[fd]);
	return true;
}

int64_t tls_peer_until(SSL *ssl)
{
	return INT64_MAX;
}

const char *tls_peer_refusal(struct agent *agent, SSL *ssl)
{
	return NULL;
}

bool tls_own_cn(const struct tls *tls, char *cn, size_t size)
{
	snprintf(cn, size, "n1");
	return true;
}

X509 *tls_own(const struct tls *tls, X509 **authority)
{
	*authority = NULL;
	return NULL;
}

int tls_own_validity(const struct tls *tls, int64_t *from, int64_t *until, char *cn, size_t size)
{
	*from = *until = 0;
	tls_own_cn(tls, cn, size);
	return 0;
}

/* ---- signatures: each host's is its name ---- */

char *sign_certificate(const struct tls *tls)
{
	return strdup("n1");
}

char *sign_make(const struct tls *tls, const void *text, size_t length)
{
	return strdup("n1");
}

const char *sign_check(const struct tls *tls, const struct revoke_list *revoked,
		       const char *cluster, const char *host, const char *cert, const char *sign,
		       const void *text, size_t length)
{
	return strcmp(host, cert) || strcmp(host, sign) ? "the signature was not made by its host"
							: NULL;
}

bool sign_is_revoked(const struct revoke_list *revoked, const char *cert)
{
	return false;
}

static struct bufferevent *one_fresh; /* its handshake is still to be done */

struct bufferevent *bufferevent_openssl_socket_new(struct event_base *base, evutil_socket_t fd,
						   struct ssl_st *ssl,
						   enum bufferevent_ssl_state state, int options)
{
	one_fresh = bufferevent_socket_new(base, fd, options);
	return one_fresh;
}

/* The last call of a new connection: its handshake is done. */
int bufferevent_enable(struct bufferevent *bev, short what)
{
	static int (*real)(struct bufferevent * bev, short what);
	int err;

	if (!real)
		real = dlsym(RTLD_NEXT, "bufferevent_enable");
	err = real(bev, what);
	if (bev == one_fresh) {
		one_fresh = NULL;
		bufferevent_trigger_event(bev, BEV_EVENT_CONNECTED, BEV_OPT_DEFER_CALLBACKS);
	}
	return err;
}

struct ssl_st *bufferevent_openssl_get_ssl(struct bufferevent *bev)
{
	return (SSL *)bev;
}

unsigned long bufferevent_get_openssl_error(struct bufferevent *bev)
{
	return 0;
}

/* There is no SSL, and bytes come by the bufferevent above. */
int SSL_read(SSL *ssl, void *to, int room)
{
	return -1;
}

int SSL_get_error(const SSL *ssl, int ret)
{
	return SSL_ERROR_WANT_READ;
}

void SSL_set_bio(SSL *ssl, BIO *in, BIO *out)
{
	BIO_free(in);
}

void SSL_get0_alpn_selected(const SSL *ssl, const unsigned char **data, unsigned int *length)
{
	*data = (const unsigned char *)"h2";
	*length = 2;
}

int SSL_write(SSL *ssl, const void *bytes, int n)
{
	return send(bufferevent_getfd((struct bufferevent *)ssl), bytes, n,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the socket for hosts ---- */

struct evconnlistener *evconnlistener_new_bind(struct event_base *base, evconnlistener_cb cb,
					       void *arg, unsigned int flags, int backlog,
					       const struct sockaddr *to, int length)
{
	one.accept = cb;
	return (struct evconnlistener *)&one;
}

void evconnlistener_set_error_cb(struct evconnlistener *listener, evconnlistener_errorcb cb)
{
}

void evconnlistener_free(struct evconnlistener *listener)
{
}

/* A connection to a host leads to an end. */
int connect(int fd, const struct sockaddr *to, socklen_t length)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)to;
	int pair[2];

	if (to->sa_family != AF_INET)
		return syscall(SYS_connect, fd, to, length);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -1;
	dup3(pair[0], fd, O_CLOEXEC);
	close(pair[0]);
	if (fd < ONE_FD_MAX)
		one.hosts[fd] = one_hosts[ntohs(in->sin_port) % 5];
	one_end_new(pair[1]);
	return 0;
}

/* ---- HTTP/2 ---- */

static const char *const one_routes[] = {
	"/v1/hello",
	"/v1/control",
	"/v1/drain",
	"/v1/nodes",
	"/v1/reserve",
	"/v1/job",
	"/v1/resume",
	"/v1/mounts",
	"/v1/files",
	"/v1/start",
	"/v1/join",
	"/v1/leave",
	"/v1/roster",
	"/v1/guests",
	"/v1/none",
	/* inputs that are kept know those above by their number */
	"/v1/gang",
	"/v1/slots",
	"/v1/credit",
	"/v1/roster/parts",
	"/v1/renew",
	"/v1/revoked",
};

static void one_h2(const struct end *e, uint8_t type, uint8_t flags, uint32_t stream,
		   const void *bytes, size_t n)
{
	uint8_t head[9] = { n >> 16,	  n >> 8,	n,	     type,  flags,
			    stream >> 24, stream >> 16, stream >> 8, stream };

	one_send(e, head, sizeof(head));
	one_send(e, bytes, n);
}

void one_request(struct input *in, struct end *e)
{
	const uint8_t how = input_byte(in), which = input_byte(in);
	const char *path = one_routes[which % (sizeof(one_routes) / sizeof(one_routes[0]))];
	uint8_t block[64] = { how & 1 ? 0x82 : 0x83, 0x87, 0x41, 1, 'a', 0x44, strlen(path) };
	size_t n;
	const uint8_t *body = input_bytes(in, &n);

	memcpy(block + 7, path, strlen(path));
	e->stream += e->stream ? 2 : 1;
	/* 1: HEADERS, 0: DATA; 4: all headers, 1: the end */
	one_h2(e, 1, n ? 4 : 5, e->stream, block, 7 + strlen(path));
	if (n)
		one_h2(e, 0, how & 2 ? 0 : 1, e->stream, body, n);
}

void one_response(struct input *in, const struct end *e)
{
	static const uint8_t statuses[] = { 0x88, 0x88, 0x8c, 0x8d, 0x8e };
	const uint8_t how = input_byte(in), stream = input_byte(in);
	size_t n;
	const uint8_t *body = input_bytes(in, &n);

	one_h2(e, 1, 4, stream, &statuses[(how >> 1) % 5], 1);
	one_h2(e, 0, how & 1, stream, body, n);
}

void one_data(struct input *in, const struct end *e)
{
	const uint8_t how = input_byte(in);
	size_t n;
	const uint8_t *body = input_bytes(in, &n);

	one_h2(e, 0, how & 1, e->stream - (how >> 1 & 6), body, n);
}

void one_host(struct input *in)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	struct sockaddr_in from = { .sin_family = AF_INET };
	const uint8_t how = input_byte(in);
	struct end *e;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		exit(1);
	if (pair[0] < ONE_FD_MAX)
		one.hosts[pair[0]] = one_hosts[(how & 127) % 5];
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	e = one_end_new(pair[1]);
	one.accept((struct evconnlistener *)&one, pair[0], (struct sockaddr *)&from, sizeof(from),
		   &one.agent);
	if (how & 128)
		return;
	one_send(e, preface, sizeof(preface) - 1);
	one_h2(e, 4, 0, 0, NULL, 0);
}
