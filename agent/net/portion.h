/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file portion.h
 * How much libssl reads of a connection before others have their turn. A call of libssl returns when it
 * has data, or a whole message of a handshake, and until then reads as long as there is something: what
 * a peer sends in very small records, or without data in them, would keep it, and with it the loop.
 */
#ifndef AGENT_NET_PORTION_H
#define AGENT_NET_PORTION_H

#include <openssl/bio.h>

/** Like BIO_new_socket(fd, BIO_NOCLOSE), but after some reads in a row it says once that there is no more
 *  yet: the loop comes back to it, as the socket is readable. NULL: no memory. */
BIO *portion_new(int fd);

#endif
