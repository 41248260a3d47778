// SPDX-License-Identifier: GPL-2.0-or-later
/* Any JSON: what is taken for a message is in its bounds, and a member that gets it goes on. */
#include <stdlib.h>
#include <string.h>

#include "cluster/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void emit(void *ctx, const struct eh_member_update *up)
{
	if (up->type == EH_MU_SEND && up->node >= 64)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct eh_member_options options = {
		.topology = { 3, 2 }, .self = 8, .heartbeat_ms = 1000, .grant_ms = 1000, .seed = 1
	};
	struct eh_member *member = eh_member_new(&options);
	uint64_t now = 0;

	/* one message a line, each from another node */
	while (member && size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t length = end ? (size_t)(end - data) : size;
		json_t *json = json_loadb((const char *)data, length, JSON_REJECT_DUPLICATES, NULL);
		struct message msg;
		struct eh_member_event event = { .type = EH_ME_MESSAGE,
						 .message = { now / 50 % 64, &msg.body } };

		if (json && !message_from_json(&options.topology, json, &msg))
			eh_member_step(member, &event, now, emit, NULL);
		json_decref(json);
		now += 50;
		eh_member_step(member, &(struct eh_member_event){ .type = EH_ME_TICK }, now, emit,
			       NULL);
		data += length + !!end;
		size -= length + !!end;
	}
	eh_member_free(member);
	return 0;
}
