/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file node.h  Rules of a site about nodes, by the names of their hosts. No input or output. */
#ifndef SITE_NODE_H
#define SITE_NODE_H

#include <stddef.h>

#include "site/who.h"

/** As struct site_who. */
struct site_node {
	char *const *allow, *const *deny;
	size_t nallow, ndeny;
};

/** Decides: SITE_MAY, SITE_DENIED or SITE_NOT_ALLOWED. Names of hosts have no case. */
enum site_answer site_node(const struct site_node *rule, const char *host);

#endif
