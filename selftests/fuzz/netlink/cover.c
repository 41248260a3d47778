// SPDX-License-Identifier: GPL-2.0-or-later
#include "cover.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/kcov.h>

#define COVER_WORDS (64 << 10)
#define COVER_CHILDREN 16
#define KCOV "/sys/kernel/debug/kcov"

/* A tracer: word 0 counts the places after it. */
struct tracer {
	int fd;
	uint64_t *words;
};

static struct tracer own = { .fd = -1 };
static struct tracer of_child[COVER_CHILDREN];
static bool have;
/* The module's code, and a byte for each of its addresses; shared by all workers. */
static uint64_t code, code_end;
static uint8_t *seen;

/* Where the module's code is: /proc/modules names its beginning, that of .text. */
static bool cover_find(const char *module)
{
	unsigned long long at;
	unsigned long size;
	char name[64];
	FILE *file = fopen("/proc/modules", "r");

	while (file && fscanf(file, "%63s %lu %*s %*s %*s %llx%*[^\n]", name, &size, &at) == 3) {
		if (strcmp(name, module))
			continue;
		code = at;
		code_end = at + size;
	}
	if (file)
		fclose(file);
	return code;
}

static bool tracer_open(struct tracer *tracer)
{
	tracer->fd = open(KCOV, O_RDWR | O_CLOEXEC);
	if (tracer->fd < 0)
		return false;
	if (ioctl(tracer->fd, KCOV_INIT_TRACE, (unsigned long)COVER_WORDS))
		goto close_fd;
	tracer->words = mmap(NULL, COVER_WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE,
			     MAP_SHARED, tracer->fd, 0);
	if (tracer->words != MAP_FAILED)
		return true;
close_fd:
	close(tracer->fd);
	tracer->fd = -1;
	return false;
}

static void tracer_start(struct tracer *tracer)
{
	if (ioctl(tracer->fd, KCOV_ENABLE, KCOV_TRACE_PC)) {
		perror("fuzz: " KCOV ": KCOV_ENABLE");
		_exit(2);
	}
	__atomic_store_n(tracer->words, 0, __ATOMIC_RELAXED);
}

static unsigned int tracer_take(struct tracer *tracer)
{
	uint64_t i, n = __atomic_load_n(tracer->words, __ATOMIC_RELAXED);
	unsigned int news = 0;

	for (i = 1; i <= n && i < COVER_WORDS; i++) {
		uint64_t place = tracer->words[i];

		if (place < code || place >= code_end)
			continue;
		news += !__atomic_exchange_n(&seen[place - code], 1, __ATOMIC_RELAXED);
	}
	__atomic_store_n(tracer->words, 0, __ATOMIC_RELAXED);
	return news;
}

bool cover_init(const char *module)
{
	struct tracer tracer;

	/* an address of 0 is what those without rights are shown */
	if (!cover_find(module) || !tracer_open(&tracer))
		return false;
	munmap(tracer.words, COVER_WORDS * sizeof(uint64_t));
	close(tracer.fd);
	seen = mmap(NULL, code_end - code, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	have = seen != MAP_FAILED;
	return have;
}

void cover_begin(unsigned int children)
{
	unsigned int i;

	if (!have)
		return;
	for (i = 0; i < children && i < COVER_CHILDREN; i++)
		if (!tracer_open(&of_child[i]))
			exit(2);
	if (!tracer_open(&own))
		exit(2);
	tracer_start(&own);
}

void cover_child(unsigned int child)
{
	if (have && child < COVER_CHILDREN)
		tracer_start(&of_child[child]);
}

unsigned int cover_take(void)
{
	return have ? tracer_take(&own) : 0;
}

unsigned int cover_take_child(unsigned int child)
{
	return have && child < COVER_CHILDREN ? tracer_take(&of_child[child]) : 0;
}

unsigned int cover_seen(void)
{
	unsigned int n = 0;
	uint64_t i;

	for (i = 0; have && i < code_end - code; i++)
		n += seen[i];
	return n;
}

void cover_print(FILE *file)
{
	uint64_t i;

	for (i = 0; have && i < code_end - code; i++)
		if (seen[i])
			fprintf(file, "place %llx\n", (unsigned long long)i);
}
