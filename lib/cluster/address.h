/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file address.h
 * Where an agent listens: a numeric address with a port, so that no name
 * service is needed.
 */
#ifndef CLUSTER_ADDRESS_H
#define CLUSTER_ADDRESS_H

#include <stddef.h>
#include <sys/socket.h>

#define ADDRESS_TEXT 56 /* "[ADDRESS]:PORT" with its NUL */
#define ADDRESS_HOST_MAX 64 /**< bytes of a host's name: the CN of its certificate (X.520) */

struct address {
	char text[ADDRESS_TEXT]; /**< as it was parsed or formatted */
	struct sockaddr_storage sa;
	socklen_t length;
};

/** "ADDRESS:PORT" or "[ADDRESS]:PORT", numbers only. 0 or -EINVAL (then `out` is undefined). */
int address_parse(const char *text, struct address *out);
/** From accept(2) or getsockname(2); other than IP addresses have the text "?". */
void address_from(const struct sockaddr *sa, struct address *out);

#endif
