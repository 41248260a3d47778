// SPDX-License-Identifier: GPL-2.0-or-later
/* "TOPOLOGY CODE": what is taken means the same when it is written and read again. */
#include <stdlib.h>
#include <string.h>

#include "eh/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *space, again[EH_CODE_TEXT];
	struct eh_topology t;
	struct eh_code code, back;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	space = strchr(text, ' ');
	if (space)
		*space = '\0';
	if (!eh_topology_parse(text, &t) && space && !eh_code_parse(&t, space + 1, &code)) {
		if (code.level > t.l || (uint64_t)code.index >> t.n * (t.l - code.level))
			abort();
		if (eh_code_parse(&t, eh_code_format(&t, code, again), &back) ||
		    memcmp(&code, &back, sizeof(code)))
			abort();
		if (eh_code_parse(&t, eh_code_format_octal(&t, code, again), &back) ||
		    memcmp(&code, &back, sizeof(code)))
			abort();
	}
	free(text);
	return 0;
}
