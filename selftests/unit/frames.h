/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames from an end of a job, as a test reads them that plays its agent. */
#ifndef UNIT_FRAMES_H
#define UNIT_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

/* 1: the payload of a whole one is behind its header in `in`; 0: it has not come; -1: there is no other end. */
int frames_read(int socket, uint8_t *in, size_t room, size_t *have, enum frame_type *type,
		uint32_t *length);
/* The end of a job that connects within this time, and says a frame of this type first. */
int frames_accept(int listener, int wait_ms, enum frame_type wanted, uint8_t *payload,
		  uint32_t *length);

#endif
