// SPDX-License-Identifier: GPL-2.0-or-later
/* The executor's decision: whether it takes a task, and how long it keeps the place. */

#include "executor/reserve.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/log.h"
#include "base/user.h"
#include "cluster/drain.h"
#include "cluster/hierarchy.h"
#include "cluster/report.h"
#include "executor/view.h"
#include "job/files.h"
#include "net/peer.h"
#include "net/server.h"
#include "wire/attach.h"
#include "wire/reason.h"
#include "wire/view.h"

#define RESERVE_NOBODY 65534
#define RESERVE_TEXT_MAX (EHS_PATH_MAX + 256)

struct reservations {
	struct reservation *list;
	unsigned int checking; /* requests in progress that have no place in the list yet */
};

/* Why a task is refused. */
struct reserve_refusal {
	enum ehs_reason reason;
	char text[RESERVE_TEXT_MAX];
};

/* A request while program and directory are compared. */
struct reserve_ask {
	struct reservation *r;
	struct server_answer *answer;
	struct files_question *question;
	char *path, *folder;
};

static struct reservations *reserve_all(const struct peer *from)
{
	return from->agent->reservations;
}

static void reserve_free(struct reservation *r)
{
	if (r->lease)
		event_free(r->lease);
	free(r->command);
	free(r);
}

void reserve_end(struct reservation *r)
{
	struct reservation **at;

	if (!r)
		return;
	for (at = &reserve_all(r->from)->list; *at != r; at = &(*at)->next)
		;
	*at = r->next;
	reserve_free(r);
}

static void reserve_on_lease(evutil_socket_t fd, short what, void *arg)
{
	struct reservation *r = arg;
	struct agent *agent = r->from->agent;

	log_debug("%s: reservation expired without a job", r->id);
	reserve_end(r);
	hierarchy_touch(agent);
}

struct reservation *reserve_claim(const struct peer *from, const char *token)
{
	struct reservation *r;

	for (r = reserve_all(from)->list; r; r = r->next)
		if (r->state == RESERVE_WAITING && r->from == from && !strcmp(r->token, token))
			break;
	if (!r)
		return NULL;
	event_del(r->lease);
	r->state = RESERVE_CLAIMED;
	return r;
}

unsigned int reserve_waiting(const struct peer *from)
{
	unsigned int n = 0;

	for (const struct reservation *r = reserve_all(from)->list; r; r = r->next)
		n += r->state == RESERVE_WAITING && r->from == from;
	return n;
}

uint64_t reserve_starting_load(struct agent *agent)
{
	uint64_t load = 0;

	for (const struct reservation *r = agent->reservations->list; r; r = r->next)
		if (r->state == RESERVE_CLAIMED)
			load += r->size;
	return load;
}

uint64_t reserve_load(struct agent *agent)
{
	uint64_t load = reserve_starting_load(agent);

	for (const struct reservation *r = agent->reservations->list; r; r = r->next)
		if (r->state == RESERVE_WAITING)
			load += r->size;
	return load;
}

static unsigned int reserve_count(struct agent *agent, enum reserve_state from,
				  enum reserve_state to)
{
	unsigned int n = 0;

	for (const struct reservation *r = agent->reservations->list; r; r = r->next)
		n += r->state >= from && r->state <= to;
	return n;
}

unsigned int reserve_guests(struct agent *agent)
{
	return reserve_count(agent, RESERVE_CLAIMED, RESERVE_RUNNING);
}

static bool reserve_runs(struct agent *agent, const char *id)
{
	for (const struct reservation *r = agent->reservations->list; r; r = r->next)
		if (r->state != RESERVE_WAITING && !strcmp(r->id, id))
			return true;
	return false;
}

int reserve_init(struct agent *agent)
{
	agent->reservations = calloc(1, sizeof(*agent->reservations));
	return agent->reservations ? 0 : -ENOMEM;
}

void reserve_exit(struct agent *agent)
{
	struct reservation *r, *next;

	if (!agent->reservations)
		return;
	while ((r = agent->reservations->list)) {
		next = r->next;
		reserve_end(r);
		agent->reservations->list = next; /* it is; linters do not see that */
	}
	free(agent->reservations);
	agent->reservations = NULL;
}

/* Memory available without swapping, in MiB; 0 if /proc does not say. */
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

static void __attribute__((format(printf, 3, 4)))
reserve_refuse(struct reserve_refusal *out, enum ehs_reason reason, const char *format, ...)
{
	va_list args;

	out->reason = reason;
	va_start(args, format);
	vsnprintf(out->text, sizeof(out->text), format, args);
	va_end(args);
}

static void reserve_answer_refusal(struct server_answer *to, const struct reserve_refusal *no)
{
	log_debug("refuses a task: %s", no->text);
	server_answer(to, 200,
		      json_pack("{s:s,s:s}", "reason", reason_name(no->reason), "text", no->text));
}

static void reserve_malformed(const struct peer *from, struct server_answer *to, const char *what)
{
	log_warning("invalid reservation request from node %s: %s", peer_code(from), what);
	server_answer(to, 400, json_pack("{s:s}", "error", what));
}

/* "HOME:COOKIE" with the code of the requesting peer. It becomes the name of a directory. */
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

static bool reserve_is_of_system(const struct config *config, const struct reservation *r)
{
	if (r->uid >= config->uid_min && r->uid != RESERVE_NOBODY)
		return false;
	for (size_t i = 0; i < config->nallow_users; i++)
		if (!strcmp(config->allow_users[i], r->user))
			return false;
	return true;
}

/* ehlaunch decides; this tells home before it sends the job, and in more words. */
static bool reserve_admits_user(const struct reservation *r, struct reserve_refusal *no)
{
	struct agent *agent = r->from->agent;
	const char *here = user_name(r->uid);

	if (!r->uid && !agent->config->allow_root) {
		reserve_refuse(
			no, EHS_REASON_ROOT_REFUSED,
			"node %s does not run root's tasks (allow-root in its configuration)",
			agent->config->host);
		return false;
	}
	/* An agent that is not root has only its own user's tasks, who need not have a name. */
	if (geteuid() && r->uid == geteuid() && !here && !*r->user)
		return true;
	if (!here || strcmp(r->user, here)) {
		reserve_refuse(no, EHS_REASON_UNKNOWN_USER, "user %u is %s at home, %s on node %s",
			       r->uid, *r->user ? r->user : "unknown", here ? here : "unknown",
			       agent->config->host);
		return false;
	}
	if (r->uid && !geteuid() && reserve_is_of_system(agent->config, r)) {
		reserve_refuse(no, EHS_REASON_REFUSED,
			       "node %s does not run tasks of user %s (uid-min and allow-users in "
			       "its configuration)",
			       agent->config->host, r->user);
		return false;
	}
	return true;
}

/* Checks everything except files. */
static bool reserve_admits(const struct reservation *r, struct reserve_refusal *no)
{
	struct agent *agent = r->from->agent;
	const struct config *config = agent->config;
	uint64_t free_mib;

	if (agent->draining) {
		reserve_refuse(no, EHS_REASON_DRAINING, "node %s is draining%s%s",
			       agent->config->host, *drain_reason(agent) ? ": " : "",
			       drain_reason(agent));
		return false;
	}
	if (reserve_count(agent, RESERVE_WAITING, RESERVE_RUNNING) +
		    agent->reservations->checking >=
	    config->guests) {
		reserve_refuse(no, EHS_REASON_GUEST_LIMIT,
			       "node %s accepts at most %u guests and reservations",
			       agent->config->host, config->guests);
		return false;
	}
	if (!reserve_admits_user(r, no))
		return false;
	free_mib = reserve_available_mib();
	if (free_mib < config->headroom) {
		reserve_refuse(no, EHS_REASON_NO_HEADROOM,
			       "node %s has %" PRIu64 " MiB of memory left and keeps %" PRIu64,
			       agent->config->host, free_mib, config->headroom);
		return false;
	}
	return true;
}

static int reserve_make_token(char token[EHS_TOKEN_MAX + 1])
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(token, EHS_TOKEN_MAX + 1, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	return 0;
}

/* Chooses whose files the task sees, once it is known whether its own are the same here. */
static bool reserve_settle_view(struct reserve_ask *ask, enum files_result result,
				const char *trouble, struct reserve_refusal *no)
{
	const char *here = ask->r->from->agent->config->host;
	struct reservation *r = ask->r;

	if (result != FILES_SAME && r->view != VIEW_AUTO) {
		if (trouble)
			reserve_refuse(no, EHS_REASON_FILES_DIFFER, "%s: %s, on node %s", ask->path,
				       trouble, here);
		else if (result == FILES_FOLDER_DIFFERS)
			reserve_refuse(no, EHS_REASON_FILES_DIFFER,
				       "the directory %s is missing or not the same on node %s",
				       ask->folder, here);
		else
			reserve_refuse(no, EHS_REASON_FILES_DIFFER,
				       "%s is missing or not the same on node %s", ask->path, here);
		return false;
	}
	if (result != FILES_SAME)
		r->view = VIEW_HOME;
	trouble = r->view == VIEW_HOME ? view_trouble(r->from->agent) : NULL;
	if (trouble)
		reserve_refuse(no, EHS_REASON_REFUSED, "node %s cannot mount home's files: %s", here,
			       trouble);
	return !trouble;
}

/* Grants the place: answers, and starts the lease. 0 or -ENOMEM. */
static int reserve_grant(struct reserve_ask *ask)
{
	struct reservation *r = ask->r;
	struct agent *agent = r->from->agent;
	const unsigned int lease = agent->config->lease;
	const struct timeval limit = { lease / 1000, lease % 1000 * 1000 };

	if (reserve_make_token(r->token) || evtimer_add(r->lease, &limit))
		return -ENOMEM;
	r->next = agent->reservations->list;
	agent->reservations->list = r;
	hierarchy_guest_seen(agent, report_id(r->id));
	server_answer(ask->answer, 200,
		      json_pack("{s:s,s:i,s:s}", "token", r->token, "lease", (int)lease, "view",
				view_name(r->view)));
	hierarchy_touch(agent);
	return 0;
}

static void reserve_ask_free(struct reserve_ask *ask)
{
	free(ask->path);
	free(ask->folder);
	free(ask);
}

static void reserve_decide(struct reserve_ask *ask, enum files_result result, const char *trouble)
{
	struct reserve_refusal no;

	server_answer_watch(ask->answer, NULL, NULL);
	if (!reserve_settle_view(ask, result, trouble, &no)) {
		reserve_answer_refusal(ask->answer, &no);
		reserve_free(ask->r);
	} else if (reserve_grant(ask)) {
		server_answer(ask->answer, 500, NULL);
		reserve_free(ask->r);
	}
	reserve_ask_free(ask);
}

static void reserve_on_compared(void *ctx, enum files_result result, const char *trouble)
{
	struct reserve_ask *ask = ctx;

	reserve_all(ask->r->from)->checking--;
	reserve_decide(ask, result, trouble);
}

/* Home does not wait any more. */
static void reserve_on_gone(void *ctx)
{
	struct reserve_ask *ask = ctx;

	reserve_all(ask->r->from)->checking--;
	files_cancel(ask->question);
	reserve_free(ask->r);
	server_answer(ask->answer, 500, NULL);
	reserve_ask_free(ask);
}

/* Unless the task sees home's files, its program and directory must be the same here. */
static void reserve_compare(struct reserve_ask *ask, json_t *program, json_t *folder)
{
	struct agent *agent = ask->r->from->agent;
	const struct look_question q = {
		.uid = ask->r->uid,
		.folder = ask->folder,
		.path = ask->path,
	};
	const char *trouble;

	if (ask->r->view == VIEW_HOME) {
		reserve_decide(ask, FILES_SAME, NULL);
		return;
	}
	ask->question =
		files_compare(agent, &q, program, folder, reserve_on_compared, ask, &trouble);
	if (!ask->question) {
		reserve_decide(ask, FILES_PROGRAM_DIFFERS, trouble);
		return;
	}
	agent->reservations->checking++;
	server_answer_watch(ask->answer, reserve_on_gone, ask);
}

/* The members of a request. Strings and objects are borrowed from the body. */
struct reserve_request {
	const char *id, *command, *path, *cwd_path;
	const char *user; /* NULL: the user has no name at home */
	enum view view;
	uid_t uid;
	uint64_t size;
	json_t *program, *cwd;
};

/* Returns NULL, or what is wrong with the body. */
static const char *reserve_parse(const struct peer *from, const json_t *body,
				 struct reserve_request *out)
{
	const char *view = json_string_value(json_object_get(body, "view"));
	json_int_t uid, size;

	if (json_unpack((json_t *)body, "{s:s,s:s,s:s,s:I,s:I,s:o,s:o}", "id", &out->id, "command",
			&out->command, "path", &out->path, "uid", &uid, "size", &size, "program",
			&out->program, "cwd", &out->cwd) ||
	    json_unpack(out->cwd, "{s:s}", "path", &out->cwd_path) ||
	    !reserve_id_is_good(from, out->id) || !*out->path || strlen(out->path) > EHS_PATH_MAX ||
	    strlen(out->cwd_path) > EHS_PATH_MAX || uid < 0 || uid >= UINT32_MAX || size < 0 ||
	    size > EHS_MAX_LOAD)
		return "a member is missing or of the wrong type";
	if (reserve_runs(from->agent, out->id))
		return "this placement already runs here";
	out->user = json_string_value(json_object_get(body, "user"));
	if (out->user && (!*out->user || strlen(out->user) >= LAUNCH_USER_MAX))
		return "the name of its user is too long";
	out->view = view ? view_parse(view) : VIEW_SHARED;
	if (out->view == VIEW_UNSET)
		return "its view is unknown";
	out->uid = uid;
	out->size = size;
	return NULL;
}

static struct reservation *reserve_new(struct peer *from, const struct reserve_request *q)
{
	struct reservation *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->from = from;
	r->uid = q->uid;
	r->size = q->size;
	r->view = q->view;
	snprintf(r->id, sizeof(r->id), "%s", q->id);
	snprintf(r->user, sizeof(r->user), "%s", q->user ? q->user : "");
	r->command = strdup(q->command);
	r->lease = evtimer_new(from->agent->base, reserve_on_lease, r);
	if (r->command && r->lease)
		return r;
	reserve_free(r);
	return NULL;
}

struct reservation *reserve_adopt(struct peer *from, const struct attach *who, uid_t uid)
{
	const struct reserve_request q = {
		.id = who->id,
		.command = who->command,
		.uid = uid,
		.view = VIEW_SHARED,
	};
	struct reservation *r;

	if (!reserve_id_is_good(from, q.id) || reserve_runs(from->agent, q.id))
		return NULL;
	r = reserve_new(from, &q);
	if (!r)
		return NULL;
	/* From a user's process, and shown as JSON. */
	for (char *c = r->command; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	r->state = who->pid ? RESERVE_RUNNING : RESERVE_CLAIMED;
	r->next = from->agent->reservations->list;
	from->agent->reservations->list = r;
	return r;
}

void reserve_on_request(struct agent *agent, struct peer *from, const json_t *body,
			struct server_answer *answer)
{
	struct reserve_request q;
	const char *wrong = reserve_parse(from, body, &q);
	struct reserve_refusal no;
	struct reserve_ask *ask;

	if (wrong) {
		reserve_malformed(from, answer, wrong);
		return;
	}
	ask = calloc(1, sizeof(*ask));
	if (!ask)
		goto no_memory;
	ask->answer = answer;
	ask->path = strdup(q.path);
	ask->folder = strdup(q.cwd_path);
	ask->r = ask->path && ask->folder ? reserve_new(from, &q) : NULL;
	if (!ask->r)
		goto free_ask;
	if (reserve_admits(ask->r, &no)) {
		reserve_compare(ask, q.program, q.cwd);
		return;
	}
	reserve_answer_refusal(answer, &no);
	reserve_free(ask->r);
	reserve_ask_free(ask);
	return;

free_ask:
	reserve_ask_free(ask);
no_memory:
	server_answer(answer, 500, NULL);
}
