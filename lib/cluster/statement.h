/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file statement.h
 * The bytes that are signed of an entry of the roster (docs/protocol.md, "Signatures").
 */
#ifndef CLUSTER_STATEMENT_H
#define CLUSTER_STATEMENT_H

#include <stddef.h>
#include "cluster/roster.h"
#include "eh/topology.h"

enum statement {
	STATEMENT_ENTRY, /**< a host says where it is, or that it leaves */
	STATEMENT_GRANT, /**< the top controller says whose code it is */
};

/**
 * A text, each part of it ended by a NUL: no two entries have the same bytes. The caller frees it.
 * NULL: no memory.
 */
char *statement_text(enum statement what, const char *cluster, const struct eh_topology *topology,
		     const struct roster_entry *e, size_t *length);

#endif
