// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/statement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATEMENT_PARTS 8

char *statement_text(enum statement what, const char *cluster, const struct eh_topology *topology,
		     const struct roster_entry *e, size_t *length)
{
	char shape[32], code[EH_CODE_TEXT], version[32];
	const char *const parts[STATEMENT_PARTS] = {
		what == STATEMENT_GRANT ? "ehsched grant 1" : "ehsched entry 1",
		cluster,
		shape,
		code,
		e->host,
		e->address.text,
		version,
		e->left ? "left" : "here",
	};
	char *text, *at;

	snprintf(shape, sizeof(shape), "%u,%u", topology->n, topology->l);
	eh_code_format(topology, (struct eh_code){ 0, e->index }, code);
	snprintf(version, sizeof(version), "%" PRIu64, e->version);
	*length = 0;
	for (int i = 0; i < STATEMENT_PARTS; i++)
		*length += strlen(parts[i]) + 1;
	text = at = malloc(*length);
	for (int i = 0; text && i < STATEMENT_PARTS; i++)
		at = stpcpy(at, parts[i]) + 1;
	return text;
}
