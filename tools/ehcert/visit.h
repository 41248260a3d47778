/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file visit.h  The connection of a host that has no certificate yet. Failures are reported. */
#ifndef EHCERT_VISIT_H
#define EHCERT_VISIT_H

#include <jansson.h>

#include "cert/token.h"
#include "cluster/address.h"

/**
 * Connects to the host that has invited: the one of the token, or `where` (NAME, ADDRESS or either with
 * :PORT; NULL: none). Checks that its certificate has that host's name and is signed by the
 * token's authority, and only then sends `request` (taken over). `own` becomes this side's address.
 * NULL after a message.
 */
json_t *visit(const struct cert_token *token, const char *where, json_t *request,
	      struct address *own);

#endif
