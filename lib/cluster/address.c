// SPDX-License-Identifier: GPL-2.0-or-later
/* Numeric addresses with a port, as text and for sockets. */

#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int address_parse(const char *text, struct address *out)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&out->sa;
	struct sockaddr_in *in = (struct sockaddr_in *)&out->sa;
	const char *host = text, *colon = strrchr(text, ':');
	char number[INET6_ADDRSTRLEN];
	unsigned long port;
	size_t n;
	char *end;

	if (!colon || colon[1] < '0' || colon[1] > '9' || strlen(text) >= sizeof(out->text))
		return -EINVAL;
	port = strtoul(colon + 1, &end, 10);
	if (*end || port < 1 || port > 65535)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	strcpy(out->text, text);
	n = colon - text;
	if (n > 2 && text[0] == '[' && text[n - 1] == ']') {
		host++;
		n -= 2;
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		out->length = sizeof(*in6);
	} else {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		out->length = sizeof(*in);
	}
	if (n >= sizeof(number))
		return -EINVAL;
	memcpy(number, host, n);
	number[n] = '\0';
	if (inet_pton(out->sa.ss_family, number,
		      out->sa.ss_family == AF_INET ? (void *)&in->sin_addr
						   : (void *)&in6->sin6_addr) != 1)
		return -EINVAL;
	return 0;
}

void address_from(const struct sockaddr *sa, struct address *out)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
	char host[INET6_ADDRSTRLEN];

	memset(out, 0, sizeof(*out));
	strcpy(out->text, "?");
	if (sa->sa_family == AF_INET && inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host))) {
		out->length = sizeof(*in);
		snprintf(out->text, sizeof(out->text), "%s:%u", host, ntohs(in->sin_port));
	} else if (sa->sa_family == AF_INET6 &&
		   inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host))) {
		out->length = sizeof(*in6);
		snprintf(out->text, sizeof(out->text), "[%s]:%u", host, ntohs(in6->sin6_port));
	}
	memcpy(&out->sa, sa, out->length);
}

uint64_t address_source(const struct address *a)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&a->sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&a->sa;
	/* first bits that no IPv6 address has which is used */
	const uint64_t four = 0xffffull << 32;
	uint32_t part[2];

	if (a->sa.ss_family != AF_INET6)
		return four | ntohl(in->sin_addr.s_addr);
	memcpy(part,
	       IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) ? &in6->sin6_addr.s6_addr[8]
						     : &in6->sin6_addr.s6_addr[0],
	       sizeof(part));
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return four | ntohl(part[1]);
	return (uint64_t)ntohl(part[0]) << 32 | ntohl(part[1]);
}

bool address_is(const struct address *address, const char *text)
{
	const bool old = address->sa.ss_family == AF_INET;
	const bool bare = !old && text[0] != '[';
	char with_port[ADDRESS_TEXT];
	struct address other;

	if ((size_t)snprintf(with_port, sizeof(with_port), "%s%s%s:1", bare ? "[" : "", text,
			     bare ? "]" : "") >= sizeof(with_port) ||
	    address_parse(with_port, &other) || other.sa.ss_family != address->sa.ss_family)
		return false;
	if (old)
		return ((struct sockaddr_in *)&other.sa)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)&address->sa)->sin_addr.s_addr;
	return !memcmp(&((struct sockaddr_in6 *)&other.sa)->sin6_addr,
		       &((const struct sockaddr_in6 *)&address->sa)->sin6_addr,
		       sizeof(struct in6_addr));
}
