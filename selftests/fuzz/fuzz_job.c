// SPDX-License-Identifier: GPL-2.0-or-later
/* The specification of a job: what is taken stays within the input, and encodes to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "wire/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_spec spec;
	uint8_t *again;

	if (job_decode(&spec, data, size))
		return 0;
	if (!spec.argc || spec.argv[spec.argc] || spec.envp[spec.envc] || spec.cwd[0] != '/')
		abort();
	if (job_encoded_size(&spec) != size)
		abort();
	again = malloc(size);
	if (again) {
		job_encode(&spec, again);
		if (memcmp(again, data, size))
			abort();
	}
	free(again);
	job_free(&spec);
	return 0;
}
