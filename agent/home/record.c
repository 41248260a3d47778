// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "home/placement.h"
#include "net/peer.h"
#include "wire/reason.h"

#define RECORD_KEPT 1024
#define RECORD_OWN_COOKIES (1ull << 62)

static struct placement *record_ids, *record_tokens;
static struct placement *record_oldest, **record_newest = &record_oldest;
static unsigned int record_kept;
static uint64_t record_counter;

void record_step(struct placement *p, const char *format, ...)
{
	unsigned int i = p->nsteps < RECORD_STEPS ? p->nsteps++ : RECORD_STEPS - 1;
	va_list args;

	p->steps[i].us = clock_us() - p->began_us;
	va_start(args, format);
	vsnprintf(p->steps[i].what, sizeof(p->steps[i].what), format, args);
	va_end(args);
}

/* The program's name for people; what is not printable ASCII would not pass as JSON. */
static void record_name(struct placement *p)
{
	const char *slash = strrchr(p->path, '/');

	snprintf(p->command, sizeof(p->command), "%s", slash && slash[1] ? slash + 1 : p->path);
	for (char *c = p->command; *c; c++)
		if (*c < ' ' || *c == 127)
			*c = '?';
}

/* ---- their life ---- */

static void record_free(struct placement *p)
{
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): clang does not follow the links of uthash */
	HASH_DELETE(by_id, record_ids, p);
	if (p->token[0])
		HASH_DELETE(by_token, record_tokens, p);
	if (p->timer)
		event_free(p->timer);
	json_decref(p->program);
	free(p->path);
	free(p);
}

/* It is over and nothing will come back to it: it joins those that are kept. */
static void record_retire(struct placement *p)
{
	struct placement *old;

	if (p->phase != PLACEMENT_OVER || p->calls)
		return;
	json_decref(p->program);
	p->program = NULL;
	event_free(p->timer);
	p->timer = NULL;
	p->next = NULL;
	*record_newest = p;
	record_newest = &p->next;
	if (++record_kept <= RECORD_KEPT)
		return;
	old = record_oldest;
	record_oldest = old->next;
	record_kept--;
	record_free(old);
}

void record_set_token(struct placement *p, const char *token)
{
	strcpy(p->token, token);
	HASH_ADD(by_token, record_tokens, token, strlen(p->token), p);
}

void record_over(struct placement *p)
{
	if (p->token[0])
		HASH_DELETE(by_token, record_tokens, p);
	p->token[0] = '\0';
	p->phase = PLACEMENT_OVER;
	evtimer_del(p->timer);
	record_retire(p);
}

void record_hold(struct placement *p)
{
	p->calls++;
}

void record_release(struct placement *p)
{
	p->calls--;
	record_retire(p);
}

struct placement *record_new(const struct placement_task *task, event_callback_fn on_timer)
{
	struct placement *p = calloc(1, sizeof(*p)), *old;

	if (!p)
		return NULL;
	p->timer = evtimer_new(the_agent.base, on_timer, p);
	p->path = strdup(task->path);
	if (!p->timer || !p->path)
		goto free_placement;
	record_name(p);
	p->kernel = task->cookie;
	p->cookie = task->cookie ? task->cookie : record_counter++;
	snprintf(p->id, sizeof(p->id), "%s:%llu", the_agent.code, (unsigned long long)p->cookie);
	/* a module that was loaded anew begins again; what is over may give way */
	HASH_FIND(by_id, record_ids, p->id, strlen(p->id), old);
	if (old) {
		HASH_DELETE(by_id, record_ids, old);
		snprintf(old->id, sizeof(old->id), "%s:old:%llu", the_agent.code,
			 (unsigned long long)record_counter++);
		HASH_ADD(by_id, record_ids, id, strlen(old->id), old);
	}
	p->began_us = clock_us();
	p->started = clock_wall_ms();
	p->pid = task->pid;
	p->uid = task->uid;
	p->time_ms = task->time_ms;
	p->explicit_node = task->node;
	HASH_ADD(by_id, record_ids, id, strlen(p->id), p);
	return p;

free_placement:
	if (p->timer)
		event_free(p->timer);
	free(p->path);
	free(p);
	return NULL;
}

/* ---- what others want to know ---- */

struct placement *record_by_id(const char *id)
{
	struct placement *p;

	HASH_FIND(by_id, record_ids, id, strlen(id), p);
	return p;
}

struct placement *record_by_token(const char *token)
{
	struct placement *p;

	HASH_FIND(by_token, record_tokens, token, strlen(token), p);
	return p;
}

struct placement *record_by_cookie(uint64_t cookie)
{
	char id[sizeof(((struct placement *)0)->id)];

	snprintf(id, sizeof(id), "%s:%llu", the_agent.code, (unsigned long long)cookie);
	return record_by_id(id);
}

bool record_is_away(const struct placement *p)
{
	return p->phase == PLACEMENT_AWAY || p->phase == PLACEMENT_CLAIMED;
}

void record_list(json_t *tasks)
{
	struct placement *p, *next;
	char when[32];

	HASH_ITER(by_id, record_ids, p, next) {
		if (!record_is_away(p))
			continue;
		json_array_append_new(
			tasks,
			json_pack("{s:s,s:i,s:s,s:s,s:s,s:i,s:s,s:s,s:s}", "id", p->id, "pid",
				  (int)p->pid, "home", the_agent.code, "executor", peer_code(p->to),
				  "command", p->command, "uid", (int)p->uid, "state",
				  p->phase == PLACEMENT_AWAY ? "running" : "starting", "reason",
				  reason_name(p->reason), "started", clock_text(p->started, when)));
	}
}

static json_t *record_describe(const struct placement *p)
{
	json_t *steps = json_array();

	for (unsigned int i = 0; i < p->nsteps; i++)
		json_array_append_new(steps,
				      json_pack("{s:f,s:s}", "at_ms", p->steps[i].us / 1000.0,
						"what", p->steps[i].what));
	return json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:o}", "version", 1, "id", p->id, "command",
			 p->command, "home", the_agent.code, "executor",
			 p->to ? peer_code(p->to) : the_agent.code, "reason",
			 reason_name(p->reason), "text",
			 p->phase == PLACEMENT_OPEN ? "not decided yet" : p->text, "steps", steps);
}

json_t *record_why(const char *id)
{
	const struct placement *p = record_by_id(id);

	return p ? record_describe(p) : NULL;
}

json_t *record_why_pid(pid_t pid)
{
	const struct placement *p, *found = NULL;

	/* in the order they were made: a number may have been used before */
	for (p = record_ids; p; p = p->by_id.next)
		if (p->pid == pid)
			found = p;
	return found ? record_describe(found) : NULL;
}

void record_init(void)
{
	/* later than those of an earlier life of this agent, whose guests may still be known */
	record_counter = RECORD_OWN_COOKIES + clock_wall_ms();
}

void record_exit(void)
{
	struct placement *p, *next;

	HASH_ITER(by_id, record_ids, p, next)
		record_free(p);
	record_oldest = NULL;
	record_newest = &record_oldest;
}
