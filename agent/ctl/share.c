// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl/share.h"

#include <string.h>

#include "base/agent.h"
#include "cluster/report.h"
#include "cluster/slots.h"
#include "ctl/rights.h"
#include "eh/slots.h"

static void share_on_slots(void *ctx, unsigned int slots, bool of_cluster)
{
	ctl_reply(ctx, json_pack("{s:i,s:i,s:s,s:i}", "version", 1, "slots", (int)slots, "of",
				 of_cluster ? "cluster" : "node", "again", SLOTS_AGAIN_MS));
}

void share_request(struct ctl_conn *c, const json_t *request)
{
	const char *of = json_string_value(json_object_get(request, "of"));
	struct slots_wish wish = { .uid = ctl_uid(c) };
	uint64_t used, wants;

	/* Without the module no exec of a build is intercepted. */
	wish.here = of ? !strcmp(of, "node") : !ctl_agent(c)->module;
	if (report_number(request, "build", INT64_MAX, &wish.build) ||
	    report_number(request, "used", EH_SLOTS_MAX, &used) ||
	    report_number(request, "wants", EH_SLOTS_MAX, &wants)) {
		ctl_reply(c,
			  ctl_error("slots", "build, used or wants is missing or too large", true));
		return;
	}
	if (json_is_true(json_object_get(request, "ended"))) {
		slots_ended(ctl_agent(c), wish.uid, wish.build);
		ctl_reply(c, json_pack("{s:i}", "version", 1));
		return;
	}
	wish.used = used;
	wish.wants = wants;
	slots_ask(ctl_agent(c), &wish, share_on_slots, c);
}
