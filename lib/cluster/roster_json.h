/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file roster_json.h  A roster and its entries as JSON: in messages, and in the file of an agent. */
#ifndef CLUSTER_ROSTER_JSON_H
#define CLUSTER_ROSTER_JSON_H

#include <jansson.h>
#include "roster.h"

/** Bytes of `cert`: certificates in DER, as base64; and of a signature. */
#define ROSTER_CERT_MAX 8192
#define ROSTER_SIGN_MAX 1024

/** {"code","host","address","version","left"?} and the strings of its proof. NULL: no memory. */
json_t *roster_entry_to_json(const struct eh_topology *topology, const struct roster_entry *e);
/** NULL, or what is wrong. The caller releases out->proof. */
const char *roster_entry_from_json(const struct eh_topology *topology, const json_t *o,
				   struct roster_entry *out);
/** {"topology":{"n","l"},"version":STAMP,"roster":[entries]}; NULL: no memory. */
json_t *roster_to_json(const struct roster *r);
/** Returns NULL with the reason in *why on failure. */
struct roster *roster_from_json(const json_t *body, const char **why);

#endif
