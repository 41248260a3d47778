/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stub at home that gives its task more descriptors than 0 to 2. Include it after cmocka.h. */
#ifndef UNIT_STUB_FILES_H
#define UNIT_STUB_FILES_H

#include "stub_home.h"

#define FIRST JOB_CHANNEL_FILES

static inline struct home *files_open(void)
{
	struct home *h = home_open();

	for (int i = 0; i < 3; i++)
		h->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	return h;
}

static inline void files_give(struct home *h, int number, int fd)
{
	h->more[h->nmore].fd = fd;
	h->more[h->nmore++].number = number;
}

/* The channel of a descriptor, 0: none. */
static inline uint32_t files_channel(const struct home *h, uint32_t number)
{
	for (uint32_t i = 0; i < h->ndescriptors; i++)
		if (h->descriptors[i].number == number)
			return h->descriptors[i].channel;
	return 0;
}

static inline const struct job_file *files_of(const struct home *h, uint32_t number)
{
	uint32_t channel = files_channel(h, number);

	assert_true(channel >= FIRST);
	return &h->files[channel - FIRST];
}

#endif
