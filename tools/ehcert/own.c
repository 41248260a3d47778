// SPDX-License-Identifier: GPL-2.0-or-later
#include "own.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cert/name.h"
#include "ehcert.h"

void own_name(char *host, size_t size)
{
	char name[256] = "";

	*host = '\0';
	if (!gethostname(name, sizeof(name) - 1) && cert_is_host(name))
		snprintf(host, size, "%s", name);
}

int own_check_host(const char *host)
{
	if (cert_is_host(host))
		return 0;
	return bad_usage("'%s' is not a host name: at most %d letters, digits, dots and hyphens",
			 host, CERT_HOST_MAX);
}

int own_check_cluster(const char *cluster)
{
	if (cert_is_cluster(cluster))
		return 0;
	return bad_usage(
		"'%s' is not the name of a cluster: at most %d letters, digits, dots, hyphens "
		"and underscores",
		cluster, CERT_CLUSTER_MAX);
}

int own_host(const char *given, char *host, size_t size)
{
	if (given && own_check_host(given))
		return EXIT_USAGE;
	if (given)
		snprintf(host, size, "%s", given);
	else
		own_name(host, size);
	if (*host)
		return 0;
	return fail(EXIT_REFUSED, "this host has no name that a certificate may have: use --host");
}

static int own_parse(const char *given, struct address *out)
{
	char with[ADDRESS_TEXT];

	if (!address_parse(given, out))
		return 0;
	if (snprintf(with, sizeof(with), "%s:" OWN_PORT, given) < (int)sizeof(with) &&
	    !address_parse(with, out))
		return 0;
	if (snprintf(with, sizeof(with), "[%s]:" OWN_PORT, given) < (int)sizeof(with) &&
	    !address_parse(with, out))
		return 0;
	return bad_usage("--address %s: not ADDRESS or ADDRESS:PORT with a numeric address", given);
}

static bool own_is_global(const struct ifaddrs *i, int family)
{
	const struct sockaddr_in6 *in6 = (const void *)i->ifa_addr;

	if (!i->ifa_addr || i->ifa_addr->sa_family != family || !(i->ifa_flags & IFF_UP) ||
	    (i->ifa_flags & IFF_LOOPBACK))
		return false;
	return family == AF_INET || !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
}

/* How many there are; the first as text with the port. */
static unsigned int own_find(const struct ifaddrs *all, int family, char *text, size_t size)
{
	char number[INET6_ADDRSTRLEN];
	unsigned int n = 0;

	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		const void *at;

		if (!own_is_global(i, family))
			continue;
		at = family == AF_INET
			     ? (const void *)&((const struct sockaddr_in *)i->ifa_addr)->sin_addr
			     : (const void *)&((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr;
		if (!n++ && inet_ntop(family, at, number, sizeof(number)))
			snprintf(text, size, family == AF_INET ? "%s:" OWN_PORT : "[%s]:" OWN_PORT,
				 number);
	}
	return n;
}

int own_address(const char *given, struct address *out)
{
	char text[ADDRESS_TEXT + 8] = "";
	struct ifaddrs *all;
	unsigned int n;

	if (given)
		return own_parse(given, out);
	if (getifaddrs(&all))
		return fail(EXIT_REFUSED, "addresses of this host: %s", strerror(errno));
	n = own_find(all, AF_INET, text, sizeof(text));
	if (!n)
		n = own_find(all, AF_INET6, text, sizeof(text));
	freeifaddrs(all);
	if (n == 1 && !address_parse(text, out))
		return 0;
	return fail(EXIT_REFUSED, "this host has %s: say with --address which others reach it at",
		    n ? "several addresses" : "no address but those of loopback and links");
}

int own_directory(const char *given, char *path, size_t size)
{
	char whole[PATH_MAX];

	if (!realpath(given, whole))
		return fail(EXIT_REFUSED, "%s: %s", given, strerror(errno));
	for (const char *c = whole; *c; c++)
		if (*c == '"' || *c == '\\' || *c == '$' || (unsigned char)*c < ' ')
			return fail(EXIT_REFUSED,
				    "%s: a directory whose name has quotes, backslashes or $ "
				    "cannot be used",
				    given);
	if ((size_t)snprintf(path, size, "%s", whole) < size)
		return 0;
	return fail(EXIT_REFUSED, "%s: %s", given, strerror(ENAMETOOLONG));
}
