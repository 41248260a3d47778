// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/portion.h"

#include <stdint.h>

/* A record takes two, its head and the rest; a handshake of an honest peer has about five records. */
#define PORTION_READS 32

/* Both of the process. -1, NULL: not made yet. */
static int portion_index = -1;
static BIO_METHOD *portion_method;

/* Since the last time that there was no more, or that it was said so. */
static uintptr_t portion_reads(BIO *bio)
{
	return (uintptr_t)BIO_get_ex_data(bio, portion_index);
}

static void portion_count(BIO *bio, uintptr_t reads)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): libcrypto has room for a pointer only */
	BIO_set_ex_data(bio, portion_index, (void *)reads);
}

static int portion_read(BIO *bio, char *to, int size)
{
	const uintptr_t reads = portion_reads(bio);
	int n;

	if (reads == PORTION_READS) {
		portion_count(bio, 0);
		BIO_clear_retry_flags(bio);
		BIO_set_retry_read(bio);
		return -1;
	}
	n = BIO_meth_get_read(BIO_s_socket())(bio, to, size);
	portion_count(bio, n > 0 ? reads + 1 : 0);
	return n;
}

/* All but reading is a socket's. */
static BIO_METHOD *portion_make(void)
{
	const BIO_METHOD *socket = BIO_s_socket();
	BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOCKET, "portion of a socket");

	if (m && BIO_meth_set_read(m, portion_read) &&
	    BIO_meth_set_write(m, BIO_meth_get_write(socket)) &&
	    BIO_meth_set_puts(m, BIO_meth_get_puts(socket)) &&
	    BIO_meth_set_ctrl(m, BIO_meth_get_ctrl(socket)) &&
	    BIO_meth_set_create(m, BIO_meth_get_create(socket)) &&
	    BIO_meth_set_destroy(m, BIO_meth_get_destroy(socket)))
		return m;
	BIO_meth_free(m);
	return NULL;
}

BIO *portion_new(int fd)
{
	BIO *bio;

	if (portion_index < 0)
		portion_index = BIO_get_ex_new_index(0, NULL, NULL, NULL, NULL);
	if (!portion_method)
		portion_method = portion_make();
	bio = portion_index >= 0 && portion_method ? BIO_new(portion_method) : NULL;
	if (bio)
		BIO_set_fd(bio, fd, BIO_NOCLOSE);
	return bio;
}
