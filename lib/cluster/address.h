/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file address.h
 * The address on which an agent listens: numeric, with a port, so that no name
 * service is needed.
 */
#ifndef CLUSTER_ADDRESS_H
#define CLUSTER_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_TEXT 56 /**< bytes of "[ADDRESS]:PORT" with its NUL */
#define ADDRESS_HOST_MAX 64 /**< bytes of a host name, the CN of its certificate (X.520) */

struct address {
	char text[ADDRESS_TEXT]; /**< as it was parsed or formatted */
	struct sockaddr_storage sa;
	socklen_t length;
};

/** "ADDRESS:PORT" or "[ADDRESS]:PORT", numeric only. Returns 0, or -EINVAL (`out` is then
 *  undefined). */
int address_parse(const char *text, struct address *out);
/** From accept(2) or getsockname(2). The text is "?" if it is not an IP address. */
void address_from(const struct sockaddr *sa, struct address *out);
/**
 * The source of a connection: an IPv4 address, also one within IPv6, or the first 64 bits of an IPv6
 * address.
 */
uint64_t address_source(const struct address *address);
/** Whether the text is this address without its port, in any way to write it; IPv6 with or without []. */
bool address_is(const struct address *address, const char *text);

#endif
