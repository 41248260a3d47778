// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A task's way out of here: ask the hierarchy, reserve at the executor, give
 * the verdict. The digest of the program is computed while the hierarchy is
 * asked. A placement is kept for `ehctl why` until 1024 others have ended.
 */

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include <uthash.h>

#include "agent.h"
#include "clock.h"
#include "h2.h"
#include "placement.h"
#include "reason.h"
#include "tally.h"
#include "user.h"

#define PLACEMENT_KEPT 1024
#define PLACEMENT_OPEN_MAX 256 /* undecided at a time: an agent cannot be drowned */
#define PLACEMENT_TRIES 3 /* the first, and twice again */
#define PLACEMENT_SIZE 1000 /* load of one task */
#define PLACEMENT_TIME_MS 5000 /* for explicit ones without a limit of their own */
#define PLACEMENT_STEPS 12
#define PLACEMENT_OWN_COOKIES (1ull << 62)
#define PLACEMENT_AVOID_MIN 100 /* ms */
#define PLACEMENT_AVOID_MAX 5000
#define PLACEMENT_AVOIDED 16 /* named to the controller; it knows of those that are gone */

enum placement_phase {
	PLACEMENT_OPEN, /* undecided */
	PLACEMENT_RESERVED, /* verdict given, its stub has not come yet */
	PLACEMENT_CLAIMED, /* the stub is here */
	PLACEMENT_AWAY, /* runs there */
	PLACEMENT_OVER,
};

struct placement_step {
	uint32_t us;
	char what[92];
};

struct placement {
	UT_hash_handle by_id, by_token;
	struct placement *next; /* in the list of ended ones */
	char id[EH_CODE_TEXT + 24], token[EHS_TOKEN_MAX + 1];
	uint64_t cookie, began_us;
	enum placement_phase phase;
	bool kernel, explicit_node;
	unsigned int calls; /* under way that will come back to us */
	placement_fn decided;
	void *ctx;
	struct event *timer; /* time limit, then lease */
	pid_t pid, remote;
	uid_t uid;
	char *path, command[64];
	json_t *program;
	bool program_known;
	struct peer *to, *tried[PLACEMENT_TRIES];
	unsigned int ntried, time_ms, probes;
	enum ehs_reason reason;
	char text[200];
	int64_t started; /* wall clock, ms */
	unsigned int nsteps;
	struct placement_step steps[PLACEMENT_STEPS];
};

static struct placement *placement_ids, *placement_tokens;
static struct placement *placement_oldest, **placement_newest = &placement_oldest;
static unsigned int placement_kept, placement_open;
static uint64_t placement_counter;

static void placement_ask(struct placement *p);

static void __attribute__((format(printf, 2, 3)))
placement_step(struct placement *p, const char *format, ...)
{
	/* the last place is for how it ended */
	unsigned int i = p->nsteps < PLACEMENT_STEPS ? p->nsteps++ : PLACEMENT_STEPS - 1;
	va_list args;

	p->steps[i].us = clock_us() - p->began_us;
	va_start(args, format);
	vsnprintf(p->steps[i].what, sizeof(p->steps[i].what), format, args);
	va_end(args);
}

/* The program's name for people; what is not printable ASCII would not pass as JSON. */
static void placement_name(struct placement *p)
{
	const char *slash = strrchr(p->path, '/');

	snprintf(p->command, sizeof(p->command), "%s", slash && slash[1] ? slash + 1 : p->path);
	for (char *c = p->command; *c; c++)
		if (*c < ' ' || *c == 127)
			*c = '?';
}

/* ---- records ---- */

static void placement_free(struct placement *p)
{
	HASH_DELETE(by_id, placement_ids, p);
	if (p->token[0])
		HASH_DELETE(by_token, placement_tokens, p);
	if (p->timer)
		event_free(p->timer);
	json_decref(p->program);
	free(p->path);
	free(p);
}

/* It is over and nothing will come back to it: it joins those that are kept. */
static void placement_retire(struct placement *p)
{
	struct placement *old;

	if (p->phase != PLACEMENT_OVER || p->calls)
		return;
	json_decref(p->program);
	p->program = NULL;
	event_free(p->timer);
	p->timer = NULL;
	p->next = NULL;
	*placement_newest = p;
	placement_newest = &p->next;
	if (++placement_kept <= PLACEMENT_KEPT)
		return;
	old = placement_oldest;
	placement_oldest = old->next;
	placement_kept--;
	placement_free(old);
}

static void placement_over(struct placement *p)
{
	if (p->token[0])
		HASH_DELETE(by_token, placement_tokens, p);
	p->token[0] = '\0';
	p->phase = PLACEMENT_OVER;
	evtimer_del(p->timer);
	placement_retire(p);
}

static void placement_call_done(struct placement *p)
{
	p->calls--;
	placement_retire(p);
}

/* ---- the verdict ---- */

static void placement_event(const struct placement *p)
{
	api_event("place", json_pack("{s:s,s:s,s:i,s:s,s:s,s:s}", "id", p->id, "command",
				     p->command, "pid", (int)p->pid, "home", agent.code, "executor",
				     p->to ? peer_code(p->to) : agent.code, "reason",
				     reason_name(p->reason)));
}

static void placement_stay(struct placement *p, enum ehs_reason reason, const char *text)
{
	placement_fn decided = p->decided;

	p->reason = reason;
	snprintf(p->text, sizeof(p->text), "%s", text && *text ? text : reason_text(reason));
	placement_step(p, "stays at home: %s", reason_name(reason));
	if (p->to && !p->explicit_node)
		control_failed(p->id, p->to);
	p->to = NULL;
	p->decided = NULL;
	placement_open--;
	placement_event(p);
	/* not retired before the caller has seen it */
	p->calls++;
	decided(p->ctx, p, NULL, NULL, reason);
	placement_over(p);
	placement_call_done(p);
}

static void placement_go(struct placement *p, const char *token, unsigned int lease_ms)
{
	const struct timeval lease = { lease_ms / 1000, lease_ms % 1000 * 1000 };
	placement_fn decided = p->decided;

	strcpy(p->token, token);
	HASH_ADD(by_token, placement_tokens, token, strlen(p->token), p);
	p->reason = p->explicit_node ? EHS_REASON_EXPLICIT
		    : p->kernel	     ? EHS_REASON_SENDER
				     : EHS_REASON_AUTO;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(p->reason));
	placement_step(p, "reserved at %s", peer_code(p->to));
	p->decided = NULL;
	placement_open--;
	p->to->avoid_ms = 0;
	p->phase = p->kernel ? PLACEMENT_RESERVED : PLACEMENT_CLAIMED;
	evtimer_del(p->timer);
	if (p->kernel)
		evtimer_add(p->timer, &lease);
	placement_event(p);
	decided(p->ctx, p, p->to, p->token, p->reason);
}

static void placement_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct placement *p = arg;

	if (p->phase == PLACEMENT_OPEN)
		placement_stay(p, EHS_REASON_TIME_OUT, NULL);
	else if (p->phase == PLACEMENT_RESERVED)
		placement_failed(p, EHS_REASON_LEASE_OVER);
}

/* ---- the executor ---- */

/* Whether the refusal says something of the node, not of this task. (That it drains, the
 * controller knows, and when it no longer does.) */
static bool placement_blames_node(enum ehs_reason reason)
{
	return reason == EHS_REASON_UNREACHABLE || reason == EHS_REASON_REFUSED ||
	       reason == EHS_REASON_NO_HEADROOM || reason == EHS_REASON_GUEST_LIMIT;
}

static void placement_avoid(struct peer *peer)
{
	peer->avoid_ms = peer->avoid_ms ? peer->avoid_ms * 2 : PLACEMENT_AVOID_MIN;
	if (peer->avoid_ms > PLACEMENT_AVOID_MAX)
		peer->avoid_ms = PLACEMENT_AVOID_MAX;
	peer->avoid_until = clock_ms() + peer->avoid_ms;
}

static void placement_refused(struct placement *p, enum ehs_reason reason, const char *text)
{
	placement_step(p, "%s refuses: %s", peer_code(p->to), reason_name(reason));
	if (placement_blames_node(reason))
		placement_avoid(p->to);
	if (p->explicit_node) {
		placement_stay(p, reason, text);
		return;
	}
	control_failed(p->id, p->to);
	p->tried[p->ntried++] = p->to;
	p->to = NULL;
	if (p->ntried == PLACEMENT_TRIES)
		placement_stay(p, reason, text);
	else
		placement_ask(p);
}

static void placement_on_reserved(void *ctx, int status, const json_t *reply)
{
	const char *token = json_string_value(json_object_get(reply, "token"));
	const char *name = json_string_value(json_object_get(reply, "reason"));
	const char *text = json_string_value(json_object_get(reply, "text"));
	json_int_t lease = json_integer_value(json_object_get(reply, "lease"));
	enum ehs_reason reason = EHS_REASON_REFUSED;
	struct placement *p = ctx;

	if (p->phase != PLACEMENT_OPEN) {
		/* too late: what it reserved ends with its lease */
		if (p->to && !p->explicit_node)
			control_failed(p->id, p->to);
	} else if (status == 200 && token && *token && strlen(token) <= EHS_TOKEN_MAX) {
		placement_go(p, token, lease > 0 && lease < 60000 ? lease : agent.config->lease);
	} else {
		if (status == 0)
			reason = EHS_REASON_UNREACHABLE;
		else if (name)
			reason_parse(name, &reason);
		placement_refused(p, reason,
				  status	    ? text
				  : *p->to->trouble ? p->to->trouble
						    : "it did not answer");
	}
	placement_call_done(p);
}

static unsigned int placement_time_left(const struct placement *p)
{
	uint64_t gone = (clock_us() - p->began_us) / 1000;

	return gone < p->time_ms ? p->time_ms - gone : 1;
}

/* Both are known, who takes it and what it is. */
static void placement_reserve(struct placement *p)
{
	const char *user = user_name(p->uid);
	char cwd[40];
	json_t *body, *folder;
	int err;

	snprintf(cwd, sizeof(cwd), "/proc/%d/cwd", (int)p->pid);
	folder = files_folder(cwd);
	if (!folder) {
		placement_stay(p, EHS_REASON_FILES_DIFFER, "its working directory cannot be seen");
		return;
	}
	body = json_pack("{s:s,s:s,s:s,s:I,s:s?,s:i,s:O,s:o}", "id", p->id, "command", p->command,
			 "path", p->path, "uid", (json_int_t)p->uid, "user", user, "size",
			 PLACEMENT_SIZE, "program", p->program, "cwd", folder);
	if (!body) {
		placement_stay(p, EHS_REASON_FILES_DIFFER,
			       "its path is not UTF-8 and cannot be sent");
		return;
	}
	p->calls++;
	err = h2_request(p->to, "/v1/reserve", body, placement_time_left(p), placement_on_reserved,
			 p);
	if (err) {
		placement_refused(p, EHS_REASON_UNREACHABLE, p->to->trouble);
		placement_call_done(p);
	}
}

static void placement_ready(struct placement *p)
{
	if (p->phase != PLACEMENT_OPEN || !p->program_known || !p->to)
		return;
	if (!p->program)
		placement_stay(p, EHS_REASON_FILES_DIFFER, "the program cannot be read here");
	else
		placement_reserve(p);
}

static void placement_on_program(void *ctx, json_t *identity)
{
	struct placement *p = ctx;

	p->program = json_incref(identity);
	p->program_known = true;
	placement_ready(p);
	placement_call_done(p);
}

static void placement_on_answer(void *ctx, struct peer *to, enum ehs_reason reason,
				unsigned int probes)
{
	struct placement *p = ctx;

	p->probes = probes;
	if (p->phase != PLACEMENT_OPEN) {
		if (to)
			control_failed(p->id, to);
	} else if (!to) {
		placement_stay(p, reason, NULL);
	} else {
		placement_step(p, "the controller says %s", peer_code(to));
		p->to = to;
		placement_ready(p);
	}
	placement_call_done(p);
}

static void placement_ask(struct placement *p)
{
	struct peer * not [PLACEMENT_AVOIDED + PLACEMENT_TRIES], *peer;
	uint64_t now = clock_ms();
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->ntried; i++)
		not [n++] = p->tried[i];
	for (peer = peer_next(NULL); peer && n < PLACEMENT_AVOIDED; peer = peer_next(peer))
		if (peer->avoid_until > now)
			not [n++] = peer;
	p->calls++;
	control_ask(p->id, PLACEMENT_SIZE, not, n, placement_time_left(p), placement_on_answer, p);
}

/* ---- the start ---- */

/* The rules are about absolute paths; an exec's may be relative to its folder. */
static bool placement_excluded(const struct placement *p)
{
	char link[40], folder[PATH_MAX], full[2 * PATH_MAX], real[PATH_MAX];
	ssize_t n;

	if (!agent.config->nexclude)
		return false;
	snprintf(full, sizeof(full), "%s", p->path);
	if (p->path[0] != '/') {
		snprintf(link, sizeof(link), "/proc/%d/cwd", (int)p->pid);
		n = readlink(link, folder, sizeof(folder) - 1);
		if (n < 0)
			return true;
		folder[n] = '\0';
		snprintf(full, sizeof(full), "%s/%s", folder, p->path);
	}
	return config_excludes(agent.config, full) ||
	       (realpath(full, real) && config_excludes(agent.config, real));
}

static struct placement *placement_new(const struct placement_task *task)
{
	struct placement *p = calloc(1, sizeof(*p)), *old;

	if (!p)
		return NULL;
	p->timer = evtimer_new(agent.base, placement_on_timer, p);
	p->path = strdup(task->path);
	if (!p->timer || !p->path)
		goto free_placement;
	placement_name(p);
	p->kernel = task->cookie;
	p->cookie = task->cookie ? task->cookie : placement_counter++;
	snprintf(p->id, sizeof(p->id), "%s:%llu", agent.code, (unsigned long long)p->cookie);
	/* a module that was loaded anew begins again; what is over may give way */
	HASH_FIND(by_id, placement_ids, p->id, strlen(p->id), old);
	if (old) {
		HASH_DELETE(by_id, placement_ids, old);
		snprintf(old->id, sizeof(old->id), "%s:old:%llu", agent.code,
			 (unsigned long long)placement_counter++);
		HASH_ADD(by_id, placement_ids, id, strlen(old->id), old);
	}
	p->began_us = clock_us();
	p->started = clock_wall_ms();
	p->pid = task->pid;
	p->uid = task->uid;
	p->time_ms = task->time_ms ? task->time_ms : PLACEMENT_TIME_MS;
	p->explicit_node = task->node;
	HASH_ADD(by_id, placement_ids, id, strlen(p->id), p);
	return p;

free_placement:
	if (p->timer)
		event_free(p->timer);
	free(p->path);
	free(p);
	return NULL;
}

int placement_start(const struct placement_task *task, placement_fn decided, void *ctx)
{
	struct placement *p = placement_new(task);
	struct timeval limit;

	if (!p)
		return -ENOMEM;
	limit.tv_sec = p->time_ms / 1000;
	limit.tv_usec = p->time_ms % 1000 * 1000;
	p->decided = decided;
	p->ctx = ctx;
	/* held until this function ends, as it may be decided at once */
	p->calls++;
	placement_open++;
	placement_step(p, "%s of %s by process %d", p->kernel ? "exec" : "start", p->command,
		       (int)p->pid);
	if (placement_open > PLACEMENT_OPEN_MAX) {
		placement_stay(p, EHS_REASON_QUEUE_FULL, NULL);
		goto out;
	}
	if (!p->explicit_node && placement_excluded(p)) {
		placement_stay(p, EHS_REASON_EXCLUDED, NULL);
		goto out;
	}
	if (task->node) {
		p->to = peer_by_text(task->node);
		if (!p->to) {
			placement_stay(p, EHS_REASON_UNREACHABLE,
				       "no such node in the configuration");
			goto out;
		}
	}
	evtimer_add(p->timer, &limit);
	p->calls++;
	files_program(p->path, p->pid, placement_on_program, p);
	if (p->phase == PLACEMENT_OPEN && !p->explicit_node)
		placement_ask(p);
out:
	placement_call_done(p);
	return 0;
}

/* ---- what becomes of it ---- */

struct placement *placement_by_token(const char *token)
{
	struct placement *p;

	HASH_FIND(by_token, placement_tokens, token, strlen(token), p);
	if (!p || p->phase != PLACEMENT_RESERVED)
		return NULL;
	p->phase = PLACEMENT_CLAIMED;
	evtimer_del(p->timer);
	return p;
}

void placement_started(struct placement *p, pid_t stub, pid_t remote)
{
	if (p->phase == PLACEMENT_OVER)
		return;
	p->phase = PLACEMENT_AWAY;
	p->pid = stub;
	p->remote = remote;
	tally_started(p->to, p->reason);
	placement_step(p, "started at %s as process %d", peer_code(p->to), (int)remote);
}

void placement_failed(struct placement *p, enum ehs_reason reason)
{
	if (p->phase == PLACEMENT_OVER)
		return;
	placement_step(p, "%s did not start it (%s): runs at home", peer_code(p->to),
		       reason_name(reason));
	p->reason = reason;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(reason));
	if (placement_blames_node(reason))
		placement_avoid(p->to);
	if (!p->explicit_node)
		control_failed(p->id, p->to);
	p->to = NULL;
	placement_event(p);
	placement_over(p);
}

static void placement_finished(struct placement *p, int status, bool lost)
{
	api_event("finish",
		  json_pack("{s:s,s:s,s:s,s:i,s:b}", "id", p->id, "command", p->command, "executor",
			    peer_code(p->to), "status", status, "lost", (int)lost));
	placement_over(p);
}

void placement_ended(struct placement *p, int status)
{
	if (p->phase == PLACEMENT_OVER)
		return;
	placement_step(
		p, WIFSIGNALED(status) ? "killed there by signal %d" : "ended there with status %d",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	placement_finished(p, status, false);
}

void placement_lost(struct placement *p)
{
	if (p->phase == PLACEMENT_OVER)
		return;
	placement_step(p, "%s was lost", peer_code(p->to));
	p->reason = EHS_REASON_LOST;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(p->reason));
	placement_finished(p, SIGKILL, true);
}

void placement_too_late(uint64_t cookie)
{
	struct placement *p = (struct placement *)placement_by_cookie(cookie);

	if (p && p->phase == PLACEMENT_RESERVED)
		placement_failed(p, EHS_REASON_TIME_OUT);
}

/* ---- what others want to know ---- */

struct peer *placement_executor(const struct placement *p)
{
	return p->to;
}

uid_t placement_uid(const struct placement *p)
{
	return p->uid;
}

const char *placement_id(const struct placement *p)
{
	return p->id;
}

const char *placement_text(const struct placement *p)
{
	return p->text;
}

uint64_t placement_cookie(const struct placement *p)
{
	return p->cookie;
}

enum ehs_reason placement_reason(const struct placement *p)
{
	return p->reason;
}

const struct placement *placement_by_cookie(uint64_t cookie)
{
	char id[sizeof(((struct placement *)0)->id)];
	struct placement *p;

	snprintf(id, sizeof(id), "%s:%llu", agent.code, (unsigned long long)cookie);
	HASH_FIND(by_id, placement_ids, id, strlen(id), p);
	return p;
}

bool placement_is_away(const struct placement *p)
{
	return p->phase == PLACEMENT_AWAY || p->phase == PLACEMENT_CLAIMED;
}

void placement_list(json_t *tasks)
{
	struct placement *p, *next;
	char when[32];

	HASH_ITER(by_id, placement_ids, p, next) {
		if (!placement_is_away(p))
			continue;
		json_array_append_new(
			tasks,
			json_pack("{s:s,s:i,s:s,s:s,s:s,s:i,s:s,s:s,s:s}", "id", p->id, "pid",
				  (int)p->pid, "home", agent.code, "executor", peer_code(p->to),
				  "command", p->command, "uid", (int)p->uid, "state",
				  p->phase == PLACEMENT_AWAY ? "running" : "starting", "reason",
				  reason_name(p->reason), "started", clock_text(p->started, when)));
	}
}

json_t *placement_why(const char *id)
{
	json_t *steps;
	struct placement *p;

	HASH_FIND(by_id, placement_ids, id, strlen(id), p);
	if (!p)
		return NULL;
	steps = json_array();
	for (unsigned int i = 0; i < p->nsteps; i++)
		json_array_append_new(steps,
				      json_pack("{s:f,s:s}", "at_ms", p->steps[i].us / 1000.0,
						"what", p->steps[i].what));
	return json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:o}", "version", 1, "id", p->id, "command",
			 p->command, "home", agent.code, "executor",
			 p->to ? peer_code(p->to) : agent.code, "reason", reason_name(p->reason),
			 "text", p->phase == PLACEMENT_OPEN ? "not decided yet" : p->text, "steps",
			 steps);
}

void placement_init(void)
{
	/* later than those of an earlier life of this agent, whose guests may still be known */
	placement_counter = PLACEMENT_OWN_COOKIES + clock_wall_ms();
}

void placement_exit(void)
{
	struct placement *p, *next;

	HASH_ITER(by_id, placement_ids, p, next)
		placement_free(p);
	placement_oldest = NULL;
	placement_newest = &placement_oldest;
}
