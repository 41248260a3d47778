// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stream of TLS 1.3 between two plain programs, with the agents' library and what it chooses by itself: the measure of bulk
 * data of tasks.
 * stream receive ADDRESS PORT CERTIFICATE KEY: says "ready", takes one connection, drops what comes until its end; prints
 * MB/s from the first byte on, and the cipher.
 * stream send ADDRESS PORT BYTES: connects, sends so many.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <openssl/ssl.h>

static char bytes[65536];

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static SSL *stream_over(SSL_CTX *ctx, int fd)
{
	SSL *ssl = SSL_new(ctx);

	if (fd < 0 || !ssl || SSL_set_fd(ssl, fd) != 1)
		errx(1, "no connection");
	return ssl;
}

static int receive(SSL_CTX *ctx, int fd)
{
	double began = 0, all = 0;
	SSL *ssl;
	int n;

	if (listen(fd, 1))
		err(1, "listen");
	puts("ready");
	fflush(stdout);
	ssl = stream_over(ctx, accept(fd, NULL, NULL));
	if (SSL_accept(ssl) != 1)
		errx(1, "no handshake");
	while ((n = SSL_read(ssl, bytes, sizeof(bytes))) > 0) {
		began = began ? began : now_s();
		all += n;
	}
	printf("%.2f %s\n", all / (now_s() - began) / 1e6, SSL_get_cipher_name(ssl));
	return SSL_shutdown(ssl) < 0;
}

static int send_bytes(SSL_CTX *ctx, int fd, long left)
{
	SSL *ssl = stream_over(ctx, fd);
	int n;

	if (SSL_connect(ssl) != 1)
		errx(1, "no handshake");
	for (; left > 0; left -= n) {
		n = SSL_write(ssl, bytes, left < (long)sizeof(bytes) ? left : (long)sizeof(bytes));
		if (n <= 0)
			errx(1, "it broke");
	}
	SSL_shutdown(ssl);
	return SSL_read(ssl, bytes, 1) > 0;
}

int main(int argc, char **argv)
{
	const int receives = argc == 6 && !strcmp(argv[1], "receive"), one = 1;
	SSL_CTX *ctx = SSL_CTX_new(receives ? TLS_server_method() : TLS_client_method());
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = { .sin_family = AF_INET };

	if ((!receives && (argc != 5 || strcmp(argv[1], "send"))) ||
	    inet_pton(AF_INET, argv[2], &at.sin_addr) != 1)
		errx(2, "receive ADDRESS PORT CERTIFICATE KEY, or send ADDRESS PORT BYTES");
	at.sin_port = htons(atoi(argv[3]));
	if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1)
		errx(1, "no TLS");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if ((receives ? bind : connect)(fd, (struct sockaddr *)&at, sizeof(at)))
		err(1, "%s", argv[2]);
	if (!receives)
		return send_bytes(ctx, fd, atol(argv[4]));
	if (SSL_CTX_use_certificate_chain_file(ctx, argv[4]) != 1 ||
	    SSL_CTX_use_PrivateKey_file(ctx, argv[5], SSL_FILETYPE_PEM) != 1)
		errx(1, "%s, %s: cannot be used", argv[4], argv[5]);
	return receive(ctx, fd);
}
