// SPDX-License-Identifier: GPL-2.0-or-later
#include "link_input.h"

/* What LINK_PLAIN, of which inputs are kept, leaves 0. */
static void link_input_more(struct input *in, struct job_message *m)
{
	switch (m->what) {
	case JOB_REFUSED:
		m->refused.reason = input_byte(in);
		m->refused.error = input_byte(in);
		m->refused.text = (const char *)in->at;
		m->refused.length = in->left < 9 ? in->left : 9;
		break;
	case JOB_EXIT:
		m->exit.use.status = input_number(in);
		break;
	case JOB_LOCK:
		m->exclusive = input_byte(in) & 1;
		break;
	case JOB_END:
	case JOB_CLOSED:
		m->shut = input_byte(in) & 1;
		break;
	case JOB_TERMINAL:
		m->terminal.flush = input_byte(in) & 1;
		m->terminal.modes.iflag = input_number(in);
		m->terminal.modes.oflag = input_number(in);
		m->terminal.modes.lflag = input_number(in);
		break;
	default:
		break;
	}
}

size_t link_input(struct input *in, const struct job_end *e, enum link_rich rich,
		  uint8_t out[LINK_INPUT_MAX])
{
	static uint8_t bytes[JOB_DATA_MAX];
	uint8_t how = input_byte(in);
	struct job_message m = { .what = how & 31, .channel = input_byte(in) & 7 };
	uint32_t type = m.what;
	size_t n = 0;

	if (how >= 224)
		type = how & 1 ? LINK_HELLO : LINK_ACK;
	frame_put_u64(out,
		      type > JOB_WHATS ? 0 : e->link.expected - (how & 32 ? input_number(in) : 0));
	frame_put_u64(out + 8, e->link.sent - (how & 64 ? input_number(in) : 0));
	frame_put_u32(out + 16, type);
	switch (m.what) {
	case JOB_STOPPED:
		m.signal = 1 + input_byte(in) % 64;
		break;
	case JOB_SIGNAL:
		m.sent.signal = 1 + input_byte(in) % 64;
		m.sent.reach = input_byte(in) % JOB_REACHES;
		m.sent.queued = input_byte(in) & 1;
		m.sent.value = input_number(in);
		break;
	case JOB_EXIT:
		m.exit.more = input_byte(in) & 1;
		break;
	case JOB_DATA:
		m.data.length = input_number(in) % (JOB_DATA_MAX + 1);
		m.data.bytes = bytes;
		m.data.copy = input_byte(in) & 1;
		break;
	case JOB_OFFER:
		m.ahead = input_byte(in) & 1;
		break;
	case JOB_WANT:
		m.total = e->channels[m.channel].may + input_number(in);
		break;
	case JOB_READ:
		m.total = input_number(in);
		break;
	case JOB_SEEK:
		m.offset = input_number(in);
		break;
	default:
		break;
	}
	if (rich == LINK_RICH)
		link_input_more(in, &m);
	/* Lines, for a terminal. */
	for (size_t i = 0; rich == LINK_RICH && m.what == JOB_DATA && i < m.data.length; i++)
		bytes[i] = "a\r\nb"[i % 4];
	if (type < JOB_WHATS)
		n = job_message_encode(&m, out + LINK_HEADER);
	return LINK_HEADER + n;
}
