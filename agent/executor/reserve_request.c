// SPDX-License-Identifier: GPL-2.0-or-later
/* A request for a place, as it came from another node: nothing of it is believed before it is checked. */

#include "executor/reserve_request.h"

#include <string.h>
#include <linux/ehsched.h>

#include "base/agent.h"
#include "cluster/idle_message.h"
#include "cluster/report.h"
#include "eh/eh.h"
#include "net/peer.h"
#include "wire/launch.h"

#define RESERVE_MEMORY_MAX (1ll << 50) /* bytes that a task may be expected to take */

bool reserve_request_id_is_good(const struct peer *from, const char *id)
{
	return report_id_is_of(id, peer_code(from)) && strlen(id) < RESERVE_ID_MAX;
}

const char *reserve_request_read(struct reserve_request *q, const struct peer *from,
				 const json_t *body)
{
	const char *view = json_string_value(json_object_get(body, "view"));
	const json_t *credit;
	json_int_t uid, size, memory;

	if (json_unpack((json_t *)body, "{s:s,s:s,s:s,s:I,s:I,s:o,s:o}", "id", &q->id, "command",
			&q->command, "path", &q->path, "uid", &uid, "size", &size, "program",
			&q->program, "cwd", &q->cwd) ||
	    json_unpack(q->cwd, "{s:s}", "path", &q->cwd_path) ||
	    !reserve_request_id_is_good(from, q->id) || !*q->path ||
	    strlen(q->path) > EHS_PATH_MAX || strlen(q->cwd_path) > EHS_PATH_MAX || uid < 0 ||
	    uid >= UINT32_MAX || size < 0 || size > (json_int_t)EH_SIZE_MAX)
		return "a member is missing or of the wrong type";
	credit = json_object_get(body, "credit");
	q->by_credit = credit;
	if (credit && idle_credit_from_json(credit, from->agent->self.index, &q->credit))
		return "its credit is invalid";
	if (!label_from_json(json_object_get(body, "only_on"), &q->wish.only) ||
	    !label_from_json(json_object_get(body, "never_on"), &q->wish.never))
		return "its labels are invalid";
	/* Home does not know it, or is of an earlier version: it is absent. */
	memory = json_integer_value(json_object_get(body, "memory"));
	if (memory < 0 || memory > RESERVE_MEMORY_MAX)
		return "its memory is invalid";
	q->memory = memory;
	q->user = json_string_value(json_object_get(body, "user"));
	if (q->user && (!*q->user || strlen(q->user) >= LAUNCH_USER_MAX))
		return "the name of its user is too long";
	q->view = view ? view_parse(view) : VIEW_SHARED;
	if (q->view == VIEW_UNSET)
		return "its view is unknown";
	q->uid = uid;
	q->size = size;
	return NULL;
}
