// SPDX-License-Identifier: GPL-2.0-or-later
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int write_all(int fd, const unsigned char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = { .fd = fd, .events = POLLOUT };

			poll(&p, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= n;
	}
	return 0;
}

int wire_send(int fd, enum wire_type type, const void *data, size_t len)
{
	unsigned char head[WIRE_HEADER] = { type, len >> 24, len >> 16, len >> 8, len };
	int err;

	err = write_all(fd, head, sizeof(head));
	if (!err)
		err = write_all(fd, data, len);
	return err;
}

long wire_fill(struct wire_in *in, int fd)
{
	ssize_t n;

	if (in->room - in->have < WIRE_CHUNK) {
		size_t room = in->have + WIRE_CHUNK + WIRE_HEADER;
		unsigned char *buf = realloc(in->buf, room);

		if (!buf)
			return -ENOMEM;
		in->buf = buf;
		in->room = room;
	}
	n = read(fd, in->buf + in->have, in->room - in->have);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	in->have += n;
	return n;
}

static size_t frame_length(const struct wire_in *in)
{
	const unsigned char *h = in->buf + 1;

	return (size_t)h[0] << 24 | h[1] << 16 | h[2] << 8 | h[3];
}

bool wire_next(struct wire_in *in, unsigned char *type, unsigned char **data, size_t *len)
{
	if (in->have < WIRE_HEADER)
		return false;
	*len = frame_length(in);
	if (*len > WIRE_MAX) {
		fprintf(stderr, "on: control channel: frame of %zu bytes: not our protocol\n",
			*len);
		exit(ON_FAILED);
	}
	if (in->have < WIRE_HEADER + *len)
		return false;
	*type = in->buf[0];
	*data = in->buf + WIRE_HEADER;
	return true;
}

void wire_done(struct wire_in *in)
{
	size_t used = WIRE_HEADER + frame_length(in);

	in->have -= used;
	memmove(in->buf, in->buf + used, in->have);
}

unsigned char *wire_pack(const struct wire_run *run, size_t *len)
{
	size_t argc = 0, i;
	FILE *mem;
	char *buf = NULL;

	mem = open_memstream(&buf, len);
	if (!mem)
		return NULL;
	while (run->argv[argc])
		argc++;
	fprintf(mem, "%u %u %u", run->flags, run->rows, run->cols);
	fputc(0, mem);
	fprintf(mem, "%s", run->cwd);
	fputc(0, mem);
	fprintf(mem, "%zu", argc);
	fputc(0, mem);
	for (i = 0; i < argc; i++)
		fwrite(run->argv[i], strlen(run->argv[i]) + 1, 1, mem);
	for (i = 0; run->envp[i]; i++)
		fwrite(run->envp[i], strlen(run->envp[i]) + 1, 1, mem);
	if (fclose(mem)) {
		free(buf);
		return NULL;
	}
	return (unsigned char *)buf;
}

int wire_unpack(unsigned char *data, size_t len, struct wire_run *run)
{
	size_t strings = 0, argc, i, at = 0;
	char **list;

	if (!len || data[len - 1])
		return -EINVAL;
	for (i = 0; i < len; i++)
		strings += !data[i];
	if (strings < 4)
		return -EINVAL;
	/* One more for the NULL that closes the arguments, one for the environment's. */
	list = calloc(strings + 2, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (i = 0; i < strings; i++) {
		list[i] = (char *)data + at;
		at += strlen(list[i]) + 1;
	}
	if (sscanf(list[0], "%u %u %u", &run->flags, &run->rows, &run->cols) != 3)
		goto free_list;
	argc = strtoul(list[2], NULL, 10);
	if (!argc || argc > strings - 3)
		goto free_list;
	run->cwd = list[1];
	run->argv = list + 3;
	memmove(run->argv + argc + 1, run->argv + argc, (strings - 3 - argc) * sizeof(*list));
	run->argv[argc] = NULL;
	run->envp = run->argv + argc + 1;
	return 0;
free_list:
	free(list);
	return -EINVAL;
}
