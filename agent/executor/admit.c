// SPDX-License-Identifier: GPL-2.0-or-later
#include "executor/admit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/label.h"
#include "base/rule.h"
#include "base/user.h"
#include "net/peer.h"
#include "net/server_answer.h"
#include "node/memory.h"
#include "site/map.h"
#include "wire/clean.h"
#include "wire/launch.h"
#include "wire/reason.h"

#define ADMIT_NOBODY 65534
#define ADMIT_NAMES_PART 10u /* a tenth of the loop's time, for users of one member */
#define ADMIT_NAMES_US 2000000u /* at once, a tenth of this */

void admit_refuse(struct admit_refusal *out, enum ehs_reason reason, const char *format, ...)
{
	char text[sizeof(out->text)];
	va_list args;

	out->reason = reason;
	out->memory_left = 0;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* Paths are in it, which may have any character; home takes no other text. */
	clean_text(out->text, sizeof(out->text), text);
}

static bool admit_is_low(const struct config *config, uid_t uid)
{
	return uid < config->uid_min || uid == ADMIT_NOBODY;
}

static bool admit_is_of_system(const struct config *config, uid_t uid, const char *user)
{
	if (!admit_is_low(config, uid))
		return false;
	for (size_t i = 0; i < config->nallow_users; i++)
		if (!strcmp(config->allow_users[i], user))
			return false;
	return true;
}

/* One that the site's map says is `name` here. */
static bool admit_mapped(const struct agent *agent, const char *user, const char *name, uid_t *uid,
			 struct admit_refusal *no)
{
	const struct config *config = agent->config;
	char why[RULE_TEXT];

	if (user_number(name, uid)) {
		admit_refuse(no, EHS_REASON_UNKNOWN_USER,
			     "user %s is %s on node %s (user-map), which does not know that name",
			     user, name, config->host);
		return false;
	}
	if (admit_is_low(config, *uid)) {
		admit_refuse(
			no, EHS_REASON_REFUSED,
			"user %s is %s on node %s (user-map), whose number is %u: a map must not "
			"lead to a user below uid-min",
			user, name, config->host, *uid);
		return false;
	}
	if (rule_takes_user(config, *uid, why))
		return true;
	admit_refuse(no, REASON_GUEST_USER,
		     "node %s does not run tasks of user %s, who is %s there (user-map): %s",
		     config->host, user, name, why);
	return false;
}

/* ehlaunch decides; this tells home before it sends the job, and in more words. */
bool admit_user(const struct agent *agent, uid_t uid, const char *user, uid_t *is,
		struct admit_refusal *no)
{
	const struct config *config = agent->config;
	const char *mapped = uid ? site_map(config->user_map, config->nuser_map, user) : NULL;
	const char *here = user_name(uid);
	char why[RULE_TEXT];

	if (mapped)
		return admit_mapped(agent, user, mapped, is, no);
	*is = uid;
	if (!uid && !agent->config->allow_root) {
		admit_refuse(no, EHS_REASON_ROOT_REFUSED,
			     "node %s does not run root's tasks (allow-root in its configuration)",
			     agent->config->host);
		return false;
	}
	if (!rule_takes_user(agent->config, uid, why)) {
		admit_refuse(no, REASON_GUEST_USER, "node %s does not run tasks of user %s: %s",
			     agent->config->host, *user ? user : "unknown", why);
		return false;
	}
	/* An agent that is not root has only its own user's tasks, who need not have a name. */
	if (geteuid() && uid == geteuid() && !here && !*user)
		return true;
	if (!here || strcmp(user, here)) {
		admit_refuse(no, EHS_REASON_UNKNOWN_USER, "user %u is %s at home, %s on node %s",
			     uid, *user ? user : "unknown", here ? here : "unknown",
			     agent->config->host);
		return false;
	}
	/* An ordinary user's agent has only its own user's tasks. */
	if (uid && uid != geteuid() && admit_is_of_system(agent->config, uid, user)) {
		admit_refuse(no, EHS_REASON_REFUSED,
			     "node %s does not run tasks of user %s (uid-min and allow-users in "
			     "its configuration)",
			     agent->config->host, user);
		return false;
	}
	return true;
}

/* Names may be asked of a directory service, in the one loop: a member may take a part of its time for them. */
bool admit_user_of(struct peer *from, uid_t uid, const char *user, uid_t *is,
		   struct admit_refusal *no)
{
	const uint64_t began = clock_us();
	bool may;

	if (from->names_at > began + ADMIT_NAMES_US) {
		admit_refuse(
			no, EHS_REASON_REFUSED,
			"node %s has looked up users for node %s for too long: try again later",
			from->agent->config->host, peer_host(from));
		return false;
	}
	may = admit_user(from->agent, uid, user, is, no);
	from->names_at = (from->names_at > began ? from->names_at : began) +
			 ADMIT_NAMES_PART * (clock_us() - began);
	return may;
}

/* One of [uid, name]. False: malformed. `text`: NULL, or how it is another one here than at its home. */
static bool admit_unknown(struct peer *from, const json_t *one, json_t **text)
{
	struct admit_refusal no;
	json_int_t uid;
	const char *name;
	uid_t is;

	*text = NULL;
	if (json_unpack((json_t *)one, "[I,s]", &uid, &name) || uid < 0 || uid >= UINT32_MAX ||
	    strlen(name) >= LAUNCH_USER_MAX)
		return false;
	if (!admit_user_of(from, uid, name, &is, &no) && no.reason == EHS_REASON_UNKNOWN_USER)
		*text = json_string(no.text);
	return true;
}

json_t *admit_on_users(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const json_t *users = json_object_get(body, "users"), *one;
	json_t *said = json_array(), *text;
	size_t i;

	*status = json_is_array(users) && json_array_size(users) <= ADMIT_USERS ? 200 : 400;
	json_array_foreach((json_t *)users, i, one) {
		if (*status != 200 || !admit_unknown(from, one, &text)) {
			*status = 400;
			break;
		}
		json_array_append_new(said, text ?: json_null());
	}
	if (*status == 200)
		return json_pack("{s:o}", "users", said);
	json_decref(said);
	return server_answer_error("users is missing or malformed");
}

bool admit_node(const struct agent *agent, const char *host, struct admit_refusal *no)
{
	char why[RULE_TEXT];

	if (rule_takes_node(agent->config, host, why))
		return true;
	admit_refuse(no, REASON_GUEST_NODE, "node %s does not run tasks of node %s: %s",
		     agent->config->host, host, why);
	return false;
}

bool admit_memory(struct agent *agent, uint64_t wanted, struct admit_refusal *no, uint64_t *left)
{
	const struct config *config = agent->config;
	const uint64_t most = (uint64_t)config->guest_memory << 20;
	const uint64_t keep = config->headroom << 20;
	struct memory_state now;
	uint64_t expected;

	*left = 0;
	memory_look(agent, &now);
	if (config->memory_pressure && now.waits > config->memory_pressure) {
		admit_refuse(
			no, EHS_REASON_NO_HEADROOM,
			"node %s: tasks wait for memory in %.0f%% of the time (memory-pressure)",
			config->host, now.waits);
		return false;
	}
	if (now.left < keep) {
		admit_refuse(no, EHS_REASON_NO_HEADROOM,
			     "node %s has %" PRIu64 " MiB of memory left and keeps %" PRIu64
			     " free",
			     config->host, now.left >> 20, config->headroom);
		return false;
	}
	expected = memory_expected(agent);
	*left = now.left - keep > expected ? now.left - keep - expected : 0;
	if (most && *left > most)
		*left = most;
	if (most && wanted > most) {
		admit_refuse(no, EHS_REASON_NO_HEADROOM,
			     "node %s: %" PRIu64 " MiB of memory expected, guest-memory is %u",
			     config->host, wanted >> 20, config->guest_memory);
		return false;
	}
	if (wanted <= *left && (*left || !expected))
		return true;
	admit_refuse(no, EHS_REASON_NO_HEADROOM,
		     "node %s: %" PRIu64 " MiB expected, %" PRIu64 " left, less %" PRIu64
		     " for its tasks, %" PRIu64 " kept",
		     config->host, wanted >> 20, now.left >> 20, expected >> 20, config->headroom);
	return false;
}

bool admit_more(const struct agent *agent, unsigned int has, const char *user,
		struct admit_refusal *no)
{
	const unsigned int most = agent->config->guests_per_user;

	if (!most || has < most)
		return true;
	admit_refuse(no, REASON_USER_LIMIT,
		     "node %s has %u guests and reservations of user %s and accepts at most %u",
		     agent->config->host, has, *user ? user : "unknown", most);
	return false;
}

bool admit_more_of(const struct agent *agent, unsigned int has, const char *home,
		   struct admit_refusal *no)
{
	const unsigned int most = agent->config->guests_per_node;

	if (!most || has < most)
		return true;
	admit_refuse(no, EHS_REASON_GUEST_LIMIT,
		     "node %s has %u guests and reservations of node %s and accepts at most %u",
		     agent->config->host, has, home, most);
	return false;
}

bool admit_labels(const struct agent *agent, const struct label_wish *wish,
		  struct admit_refusal *no)
{
	struct site_labels own;
	const char *label;

	label_own(agent->config, &own);
	if (site_labels_fit(&own, &wish->only, &wish->never, &label))
		return true;
	admit_refuse(no, REASON_LABELS, "node %s has %s label %s", agent->config->host,
		     site_labels_have(&own, label) ? "the" : "no", label);
	return false;
}
