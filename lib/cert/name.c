// SPDX-License-Identifier: GPL-2.0-or-later
#include "cert/name.h"

#include <string.h>

#define NAME_FIRST "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool name_is(const char *text, const char *others, size_t most)
{
	size_t n = strlen(text);

	return n && n <= most && strchr(NAME_FIRST, text[0]) && strspn(text, others) == n;
}

bool cert_is_host(const char *text)
{
	return name_is(text, NAME_FIRST ".-", CERT_HOST_MAX);
}

bool cert_is_cluster(const char *text)
{
	return name_is(text, NAME_FIRST "._-", CERT_CLUSTER_MAX);
}
