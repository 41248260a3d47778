// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/view_head.h"

#include <errno.h>
#include <string.h>
#include <linux/ehsched.h>

#include "wire/frame.h"
#include "wire/view.h"

void view_head_put(uint8_t out[VIEW_HEAD], const struct view_head *h)
{
	frame_put_u32(out, h->uid);
	frame_put_u32(out + 4, h->number);
	frame_put_u32(out + 8, h->again);
	frame_put_u32(out + 12, h->length);
	memcpy(out + 16, h->token, VIEW_TOKEN);
}

int view_head_get(struct view_head *h, const uint8_t in[VIEW_HEAD])
{
	memset(h, 0, sizeof(*h));
	h->uid = frame_get_u32(in);
	h->number = frame_get_u32(in + 4);
	h->again = frame_get_u32(in + 8);
	h->length = frame_get_u32(in + 12);
	memcpy(h->token, in + 16, VIEW_TOKEN);
	if (frame_get_u32(in + 8) > 1 || h->number >= VIEW_TREES_MAX ||
	    strlen(h->token) != VIEW_TOKEN || h->again != !h->length || h->length > EHS_PATH_MAX)
		return -EPROTO;
	return 0;
}
