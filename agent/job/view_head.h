/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file view_head.h  The first bytes of a stream of POST /v1/files; a path may follow. */
#ifndef AGENT_JOB_VIEW_HEAD_H
#define AGENT_JOB_VIEW_HEAD_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/attach.h"

#define VIEW_TOKEN 32 /**< bytes of a token, without a NUL */
#define VIEW_HEAD (4 * 4 + VIEW_TOKEN)

struct view_head {
	uint32_t uid, number; /**< number: which file system of the view, from 0 on */
	bool again; /**< go on with one that is served; there is no path */
	char token[ATTACH_TOKEN];
	uint32_t length; /**< of the path */
};

/** Writes it as it goes over the socket. */
void view_head_put(uint8_t out[VIEW_HEAD], const struct view_head *h);
/** 0 or -EPROTO. */
int view_head_get(struct view_head *h, const uint8_t in[VIEW_HEAD]);

#endif
