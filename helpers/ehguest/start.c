// SPDX-License-Identifier: GPL-2.0-or-later
#include "start.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "helpers/end/calls.h"
#include "helpers/end/look.h"
#include "helpers/end/names.h"
#include "wire/attach.h"
#include "wire/launch.h"

static int start_read(void *to, size_t length)
{
	for (size_t have = 0; have < length;) {
		ssize_t n = recv(START_SOCKET, (char *)to + have, length - have, MSG_WAITALL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		have += n;
	}
	return 0;
}

/* A frame, which is larger than all that comes later; the caller unmaps it. */
static uint8_t *start_receive_frame(enum frame_type *type, uint32_t *length)
{
	uint8_t head[FRAME_HEADER], *frame;

	if (start_read(head, sizeof(head)) || frame_parse(head, type, length) || !*length)
		return NULL;
	frame = mmap(NULL, *length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (frame == MAP_FAILED)
		return NULL;
	if (!start_read(frame, *length))
		return frame;
	munmap(frame, *length);
	return NULL;
}

/* Tells the agent whether the files are those of home. 0, or -errno: it is not to go on. */
static int start_compare(const uint8_t *list, uint32_t length, bool tells)
{
	uint8_t frame[FRAME_HEADER + ATTACH_SIZE];
	struct note n = { .what = NOTE_SAME, .timed = tells };
	const char *path = "";
	int err = names_compare(list, length, &path);
	size_t size;

	if (err && err != -EXDEV)
		return err;
	if (err) {
		n.what = NOTE_DIFFERS;
		snprintf(n.text, sizeof(n.text), "%s", path);
	}
	n.ended_us = calls_us();
	size = note_encode(&n, frame + FRAME_HEADER);
	frame_header(frame, FRAME_NOTE, size);
	size += FRAME_HEADER;
	if (send(START_SOCKET, frame, size, MSG_NOSIGNAL) != (ssize_t)size)
		return -EPIPE;
	return err;
}

/* The job, and before it the files that its arguments name, if there are any to compare. */
static uint8_t *start_receive_job(uint32_t *length, bool tells)
{
	enum frame_type type;
	uint8_t *frame = start_receive_frame(&type, length);
	int err;

	if (frame && type == FRAME_NAMED) {
		err = start_compare(frame, *length, tells);
		munmap(frame, *length);
		frame = err ? NULL : start_receive_frame(&type, length);
	}
	if (!frame || type == FRAME_JOB)
		return frame;
	munmap(frame, *length);
	return NULL;
}

static uint64_t start_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Its process may say what it likes: the kernel has told home's agent. */
static void start_correct(struct job_spec *spec, const struct launch_start *asked)
{
	for (int i = 0; i < JOB_RLIMITS; i++)
		for (int j = 0; j < 2; j++)
			spec->rlimit[i][j] = start_least(spec->rlimit[i][j], asked->rlimit[i][1]);
	memcpy(spec->traits, asked->traits, sizeof(spec->traits));
}

/* Its agent decides whether they are those of home. 0 or -EPIPE. */
static int start_look(const struct job_spec *spec)
{
	uint8_t frame[LOOK_FRAME];

	look_make(spec->cwd, spec->path, frame);
	return send(START_SOCKET, frame, sizeof(frame), MSG_NOSIGNAL) == sizeof(frame) ? 0 : -EPIPE;
}

int start_receive(struct start *s, const struct launch_start *asked)
{
	const bool tells = asked && asked->flags & LAUNCH_TELLS;
	int err;

	s->job = start_receive_job(&s->length, tells);
	if (!s->job)
		return -EPIPE;
	err = job_decode(&s->spec, s->job, s->length);
	if (!err && asked)
		start_correct(&s->spec, asked);
	if (!err && tells)
		err = start_look(&s->spec);
	return err;
}

void start_over(struct start *s)
{
	flow_close(&s->its);
	if (!s->job)
		return;
	job_free(&s->spec);
	munmap(s->job, s->length);
	s->job = NULL;
}
