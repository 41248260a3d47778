// SPDX-License-Identifier: GPL-2.0-or-later
/* The agent's configuration file: taken and complete, or refused with a message that names the file. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[64], *errors = NULL;
	struct config *config;
	size_t length;
	FILE *messages;
	int fd = memfd_create("config", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		exit(1);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	messages = open_memstream(&errors, &length);
	if (!messages)
		exit(1);
	config = config_read(name, NULL, messages);
	fclose(messages);
	if (!config != !!length || (!config && strncmp(errors, name, strlen(name))))
		abort();
	if (config &&
	    (!config->address.length || !config->capacity || (!config->njoin && !config->npeers)))
		abort();
	config_free(config);
	free(errors);
	close(fd);
	return 0;
}
