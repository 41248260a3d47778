// SPDX-License-Identifier: GPL-2.0-or-later
/* The executor's last word: whether it takes a task, and for how long it waits for it. */

#include "executor/reserve.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/log.h"
#include "base/user.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "executor/guest.h"
#include "executor/view.h"
#include "job/files.h"
#include "net/peer.h"
#include "net/server.h"
#include "wire/reason.h"
#include "wire/view.h"

#define RESERVE_TEXT_MAX (EHS_PATH_MAX + 256)

/* The question while the program is compared. */
struct reserve_ask {
	struct reservation *r;
	struct server_answer *answer;
	char *path;
};

static struct reservation *reserve_list;
static unsigned int reserve_count; /* those being checked included */

void reserve_free(struct reservation *r)
{
	if (!r)
		return;
	if (r->lease)
		event_free(r->lease);
	free(r->command);
	free(r);
}

static void reserve_unlink(struct reservation *r)
{
	struct reservation **at;

	for (at = &reserve_list; *at != r; at = &(*at)->next)
		;
	*at = r->next;
	reserve_count--;
}

static void reserve_on_lease(evutil_socket_t fd, short what, void *arg)
{
	struct reservation *r = arg;

	log_debug("%s: reservation expired without a job", r->id);
	reserve_unlink(r);
	reserve_free(r);
	hierarchy_touch(&the_agent);
}

struct reservation *reserve_claim(const struct peer *from, const char *token)
{
	struct reservation *r;

	for (r = reserve_list; r; r = r->next)
		if (r->from == from && !strcmp(r->token, token))
			break;
	if (!r)
		return NULL;
	reserve_unlink(r);
	event_del(r->lease);
	return r;
}

void reserve_exit(void)
{
	struct reservation *r;

	while ((r = reserve_list)) {
		reserve_unlink(r);
		reserve_free(r);
	}
}

uint64_t reserve_load(void)
{
	uint64_t load = guest_starting_load();

	for (const struct reservation *r = reserve_list; r; r = r->next)
		load += r->size;
	return load;
}

/* MiB that can be had without swapping; 0 when /proc does not say. */
static uint64_t reserve_available_mib(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	uint64_t kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib >> 10;
}

static void reserve_refuse(struct server_answer *to, enum ehs_reason reason, const char *text)
{
	server_answer(to, 200, json_pack("{s:s,s:s}", "reason", reason_name(reason), "text", text));
}

static void reserve_malformed(const struct peer *from, struct server_answer *to, const char *what)
{
	log_warning("invalid reservation request from node %s: %s", peer_code(from), what);
	server_answer(to, 400, json_pack("{s:s}", "error", what));
}

/* "HOME:COOKIE" of the peer that asks: it becomes the name of a folder. */
static bool reserve_id_is_good(const struct peer *from, const char *id)
{
	size_t n = strlen(peer_code(from));

	if (strncmp(id, peer_code(from), n) || id[n] != ':' || !id[n + 1] ||
	    strlen(id) >= RESERVE_ID_MAX)
		return false;
	for (id += n + 1; *id; id++)
		if (!isdigit((unsigned char)*id))
			return false;
	return true;
}

/* What does not depend on files. A text and a reason, or NULL. */
static const char *reserve_check(const struct reservation *r, const char *user,
				 enum ehs_reason *reason, char text[RESERVE_TEXT_MAX])
{
	const struct config *config = the_agent.config;
	const char *here = user_name(r->uid);
	uint64_t free_mib;

	if (the_agent.draining) {
		*reason = EHS_REASON_DRAINING;
		snprintf(text, RESERVE_TEXT_MAX, "node %s is draining", the_agent.code);
	} else if (guest_count() + reserve_count >= config->guests) {
		*reason = EHS_REASON_GUEST_LIMIT;
		snprintf(text, RESERVE_TEXT_MAX, "node %s already has %u guests", the_agent.code,
			 config->guests);
	} else if (!r->uid && !config->allow_root) {
		*reason = EHS_REASON_ROOT_REFUSED;
		snprintf(text, RESERVE_TEXT_MAX,
			 "node %s does not run root's tasks (allow-root in its configuration)",
			 the_agent.code);
	} else if (!user != !here || (user && strcmp(user, here))) {
		*reason = EHS_REASON_UNKNOWN_USER;
		snprintf(text, RESERVE_TEXT_MAX, "user %u is %s at home, %s on node %s", r->uid,
			 user ? user : "nobody", here ? here : "nobody", the_agent.code);
	} else {
		free_mib = reserve_available_mib();
		if (free_mib >= config->headroom)
			return NULL;
		*reason = EHS_REASON_NO_HEADROOM;
		snprintf(text, RESERVE_TEXT_MAX,
			 "node %s has %" PRIu64 " MiB of memory left and keeps %" PRIu64,
			 the_agent.code, free_mib, config->headroom);
	}
	return text;
}

static int reserve_make_token(char token[EHS_TOKEN_MAX + 1])
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(token, EHS_TOKEN_MAX + 1, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	return 0;
}

static void reserve_on_compared(void *ctx, bool same)
{
	struct reserve_ask *ask = ctx;
	struct reservation *r = ask->r;
	const unsigned int lease = the_agent.config->lease;
	const struct timeval limit = { lease / 1000, lease % 1000 * 1000 };
	char text[RESERVE_TEXT_MAX];
	const char *trouble;

	if (!same && r->view == VIEW_AUTO)
		r->view = VIEW_HOME;
	else if (!same) {
		snprintf(text, sizeof(text), "%s is missing or not the same on node %s", ask->path,
			 the_agent.code);
		reserve_refuse(ask->answer, EHS_REASON_FILES_DIFFER, text);
		goto drop;
	}
	trouble = r->view == VIEW_HOME ? view_trouble() : NULL;
	if (trouble) {
		snprintf(text, sizeof(text), "node %s cannot mount home's files: %s",
			 the_agent.code, trouble);
		reserve_refuse(ask->answer, EHS_REASON_REFUSED, text);
		goto drop;
	}
	if (reserve_make_token(r->token) || evtimer_add(r->lease, &limit)) {
		server_answer(ask->answer, 500, NULL);
		goto drop;
	}
	r->next = reserve_list;
	reserve_list = r;
	hierarchy_guest_seen(&the_agent, report_id(r->id));
	server_answer(ask->answer, 200,
		      json_pack("{s:s,s:i,s:s}", "token", r->token, "lease", (int)lease, "view",
				view_name(r->view)));
	hierarchy_touch(&the_agent);
	goto done;
drop:
	reserve_count--;
	reserve_free(r);
done:
	free(ask->path);
	free(ask);
}

/* The program's path as it is here: a relative one was meant from the task's folder. */
static char *reserve_path(const char *path, const char *cwd)
{
	char *full;

	if (path[0] == '/')
		return strdup(path);
	return asprintf(&full, "%s/%s", cwd, path) < 0 ? NULL : full;
}

void reserve_on_request(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer)
{
	/* null: the user has no name at home */
	const char *user = json_string_value(json_object_get(body, "user"));
	const char *view = json_string_value(json_object_get(body, "view"));
	const char *id, *command, *path, *cwd_path, *why;
	enum ehs_reason reason = EHS_REASON_REFUSED;
	json_int_t uid, size;
	json_t *program, *cwd;
	struct reserve_ask *ask;
	char text[RESERVE_TEXT_MAX];

	if (json_unpack((json_t *)body, "{s:s,s:s,s:s,s:I,s:I,s:o,s:o}", "id", &id, "command",
			&command, "path", &path, "uid", &uid, "size", &size, "program", &program,
			"cwd", &cwd) ||
	    json_unpack(cwd, "{s:s}", "path", &cwd_path) || !reserve_id_is_good(from, id) ||
	    !*path || strlen(path) > EHS_PATH_MAX || strlen(cwd_path) > EHS_PATH_MAX || uid < 0 ||
	    uid >= UINT32_MAX || size < 0 || size > EHS_MAX_LOAD) {
		reserve_malformed(from, answer, "a member is missing or of the wrong type");
		return;
	}
	if (guest_known(id)) {
		reserve_malformed(from, answer, "this placement already runs here");
		return;
	}
	ask = calloc(1, sizeof(*ask));
	if (!ask)
		goto no_memory;
	ask->answer = answer;
	ask->path = reserve_path(path, cwd_path);
	ask->r = calloc(1, sizeof(*ask->r));
	if (!ask->path || !ask->r)
		goto free_ask;
	ask->r->from = from;
	ask->r->uid = uid;
	ask->r->size = size;
	ask->r->view = view ? view_parse(view) : VIEW_SHARED;
	snprintf(ask->r->id, sizeof(ask->r->id), "%s", id);
	ask->r->command = strdup(command);
	ask->r->lease = evtimer_new(the_agent.base, reserve_on_lease, ask->r);
	if (!ask->r->command || !ask->r->lease)
		goto free_ask;

	why = reserve_check(ask->r, user, &reason, text);
	if (!why && ask->r->view != VIEW_HOME && !files_same_folder(cwd, cwd_path)) {
		if (ask->r->view == VIEW_AUTO)
			ask->r->view = VIEW_HOME;
		else
			why = text;
		reason = EHS_REASON_FILES_DIFFER;
		snprintf(text, sizeof(text),
			 "the directory %s is missing or not the same on "
			 "node %s",
			 cwd_path, the_agent.code);
	}
	if (why) {
		reserve_refuse(answer, reason, why);
		answer = NULL;
		goto free_ask;
	}
	reserve_count++;
	if (ask->r->view == VIEW_HOME) {
		reserve_on_compared(ask, true);
		return;
	}
	files_same_program(program, ask->path, reserve_on_compared, ask);
	return;

free_ask:
	reserve_free(ask->r);
	free(ask->path);
	free(ask);
no_memory:
	if (answer)
		server_answer(answer, 500, NULL);
}
