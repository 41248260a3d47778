// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds a place for a task: asks the hierarchy, reserves on the executor, gives the verdict. The
 * digest of the program is computed while the hierarchy is asked.
 */

#include "home/placement.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/event.h"
#include "base/log.h"
#include "base/user.h"
#include "cluster/ask.h"
#include "cluster/report.h"
#include "eh/member.h"
#include "eh/topology.h"
#include "home/counters.h"
#include "home/record.h"
#include "home/serve.h"
#include "job/files.h"
#include "net/link.h"
#include "net/peer.h"
#include "net/peers.h"
#include "node/cgroup.h"
#include "wire/reason.h"
#include "wire/view.h"

#define PLACEMENT_OPEN_MAX 256 /* undecided at a time, to limit the load of the agent */
#define PLACEMENT_SIZE 1000 /* load of one task, in thousandths */
#define PLACEMENT_TIME_MS 5000 /* for placements without a time limit */
#define PLACEMENT_AVOID_MIN 100 /* ms */
#define PLACEMENT_AVOID_MAX 5000
/* peers to avoid that the controller is told of; it knows itself which are down */
#define PLACEMENT_AVOIDED 16

static void placement_ask(struct placement *p);

/* ---- the verdict ---- */

static void placement_event(const struct placement *p)
{
	event_tell(p->agent, "place",
		   json_pack("{s:s,s:s,s:i,s:i,s:s,s:s,s:s}", "id", p->id, "command", p->command,
			     "pid", (int)p->pid, "uid", (int)p->uid, "home", p->agent->code,
			     "executor", p->to ? peer_code(p->to) : p->agent->code, "reason",
			     reason_name(p->reason)));
}

static void placement_stay(struct placement *p, enum ehs_reason reason, const char *text)
{
	placement_fn decided = p->decided;

	p->reason = reason;
	snprintf(p->text, sizeof(p->text), "%s", text && *text ? text : reason_text(reason));
	record_step(p, "stays at home: %s", reason_name(reason));
	if (p->to && !p->explicit_node)
		ask_failed(p->agent, p->id, p->to, &p->decider);
	p->to = NULL;
	p->decided = NULL;
	p->agent->placements_open--;
	placement_event(p);
	/* Keep it until the callback has seen it. */
	record_hold(p);
	if (p->question) {
		files_cancel(p->question);
		p->question = NULL;
		record_release(p);
	}
	decided(p->ctx, p, NULL, NULL, reason);
	record_over(p);
	record_release(p);
}

static void placement_go(struct placement *p, const char *token, unsigned int lease_ms)
{
	const struct timeval lease = { lease_ms / 1000, lease_ms % 1000 * 1000 };
	placement_fn decided = p->decided;

	snprintf(p->token, sizeof(p->token), "%s", token);
	p->reason = p->explicit_node	      ? EHS_REASON_EXPLICIT
		    : p->kernel && !p->leaves ? EHS_REASON_SENDER
					      : EHS_REASON_AUTO;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(p->reason));
	record_step(p, "reserved on %s", peer_code(p->to));
	p->decided = NULL;
	p->agent->placements_open--;
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

/*
 * Whether the refusal is about the node, not about this task. Draining does not count, because the
 * controller knows when it ends.
 */
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
	record_step(p, "%s refuses: %s", peer_code(p->to), reason_name(reason));
	if (placement_blames_node(reason))
		placement_avoid(p->to);
	if (p->explicit_node) {
		placement_stay(p, reason, text);
		return;
	}
	ask_failed(p->agent, p->id, p->to, &p->decider);
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
	const char *view = json_string_value(json_object_get(reply, "view"));
	json_int_t lease = json_integer_value(json_object_get(reply, "lease"));
	enum ehs_reason reason = EHS_REASON_REFUSED;
	struct placement *p = ctx;

	if (p->phase != PLACEMENT_OPEN) {
		/* Too late: the reservation ends with its lease. */
		if (p->to && !p->explicit_node)
			ask_failed(p->agent, p->id, p->to, &p->decider);
	} else if (status == 200 && token && *token && strlen(token) <= EHS_TOKEN_MAX) {
		/* For VIEW_AUTO the answer says what was chosen. */
		if (view && view_parse(view) == VIEW_HOME && p->view == VIEW_AUTO)
			p->view = VIEW_HOME;
		if (p->view == VIEW_HOME)
			record_step(p, "sees the files of this node (view home)");
		placement_go(p, token,
			     lease > 0 && lease < 60000 ? lease : p->agent->config->lease);
	} else {
		if (status == 0)
			reason = EHS_REASON_UNREACHABLE;
		else if (name)
			reason_parse(name, &reason);
		placement_refused(p, reason,
				  status	    ? text
				  : *p->to->trouble ? p->to->trouble
						    : "no answer");
	}
	record_release(p);
}

static unsigned int placement_time_left(const struct placement *p)
{
	uint64_t gone = (clock_us() - p->began_us) / 1000;

	return gone < p->time_ms ? p->time_ms - gone : 1;
}

/* The executor and the program's identity are known. */
static void placement_reserve(struct placement *p)
{
	const char *user = user_name(p->uid);
	json_t *body;
	int err;

	body = json_pack("{s:s,s:s,s:s,s:I,s:s?,s:i,s:O,s:O,s:s}", "id", p->id, "command",
			 p->command, "path", p->path, "uid", (json_int_t)p->uid, "user", user,
			 "size", PLACEMENT_SIZE, "program", p->program, "cwd", p->folder, "view",
			 view_name(p->view));
	if (!body) {
		placement_stay(p, EHS_REASON_FILES_DIFFER, "cannot send its path: not UTF-8");
		return;
	}
	record_hold(p);
	err = link_request(p->to, "/v1/reserve", body, placement_time_left(p),
			   placement_on_reserved, p);
	if (err) {
		placement_refused(p, EHS_REASON_UNREACHABLE, p->to->trouble);
		record_release(p);
	}
}

static void placement_ready(struct placement *p)
{
	if (p->phase == PLACEMENT_OPEN && p->program && p->to)
		placement_reserve(p);
}

/* The rules are about absolute paths, with links and without; the path of an exec may be relative. */
static bool placement_excluded(const struct placement *p, const struct files_identity *identity)
{
	char full[2 * PATH_MAX];

	if (p->explicit_node || !p->agent->config->nexclude)
		return false;
	if (p->path[0] == '/')
		snprintf(full, sizeof(full), "%s", p->path);
	else if (identity)
		snprintf(full, sizeof(full), "%s/%s", identity->folder_path, p->path);
	else
		return false; /* not known yet */
	return config_excludes(p->agent->config, full) ||
	       (identity && config_excludes(p->agent->config, identity->real));
}

static void placement_on_files(void *ctx, const struct files_identity *identity,
			       const char *trouble)
{
	struct placement *p = ctx;

	p->question = NULL;
	if (!identity) {
		placement_stay(p, EHS_REASON_FILES_DIFFER, trouble);
	} else if (placement_excluded(p, identity)) {
		placement_stay(p, EHS_REASON_EXCLUDED, NULL);
	} else {
		p->program = json_incref(identity->program);
		p->folder = json_incref(identity->folder);
		placement_ready(p);
	}
	record_release(p);
}

/* Asks for the identities of program and directory. False: it stays. */
static bool placement_look(struct placement *p)
{
	const struct look_question q = { .uid = p->uid, .pid = p->pid, .path = p->path };
	const char *trouble;

	p->question = files_identify(p->agent, &q, placement_on_files, p, &trouble);
	if (p->question)
		record_hold(p);
	else
		placement_stay(p, EHS_REASON_FILES_DIFFER, trouble);
	return p->question;
}

/* Notes which controllers were asked, and what they knew, for `why`. */
static void placement_note_path(struct placement *p, const struct ask_answer *answer)
{
	const struct eh_topology *t = &p->agent->config->topology;
	char group[EH_CODE_TEXT];

	for (size_t i = 0; i < answer->npath; i++) {
		const struct eh_probe *probe = &answer->path[i];
		struct eh_code code = { probe->level,
					p->agent->self.index >> (t->n * probe->level) };
		struct peer *at = peers_by_code(p->agent, (struct eh_code){ 0, probe->node });

		record_step(p, "group %s, led by %s, is %s", eh_code_format(t, code, group),
			    at ? peer_code(at) : "?", report_state_name(probe->state));
		log_debug("%s: group %s, led by %s, is %s", p->id, group, at ? peer_code(at) : "?",
			  report_state_name(probe->state));
	}
}

/* Notes the task's path through the hypercube. */
static void placement_note_way(struct placement *p, const struct peer *to)
{
	const struct eh_topology *t = &p->agent->config->topology;
	struct eh_code way[EH_PATH_MAX];
	char code[EH_CODE_TEXT], text[EH_PATH_MAX * EH_CODE_TEXT];
	int n = eh_path(t, p->agent->self, to->code, report_id(p->id), way);
	size_t used = 0;

	for (int i = 0; i < n; i++)
		used += snprintf(text + used, sizeof(text) - used, " %s",
				 eh_code_format(t, way[i], code));
	if (n <= 0)
		return;
	record_step(p, "path:%s", text);
	log_debug("%s: path:%s", p->id, text);
}

static void placement_on_answer(void *ctx, const struct ask_answer *answer)
{
	struct placement *p = ctx;

	p->probes += answer->probes;
	placement_note_path(p, answer);
	if (answer->npath)
		p->decider = answer->path[answer->npath - 1];
	if (p->phase != PLACEMENT_OPEN) {
		if (answer->to)
			ask_failed(p->agent, p->id, answer->to, &p->decider);
	} else if (!answer->to) {
		placement_stay(p, answer->reason, NULL);
	} else {
		record_step(p, "the controller chose %s", peer_code(answer->to));
		placement_note_way(p, answer->to);
		p->to = answer->to;
		placement_ready(p);
	}
	record_release(p);
}

static void placement_ask(struct placement *p)
{
	struct peer * not [PLACEMENT_AVOIDED + PLACEMENT_TRIES], *peer;
	uint64_t now = clock_ms();
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->ntried; i++)
		not [n++] = p->tried[i];
	for (peer = peers_next(p->agent, NULL); peer && n < PLACEMENT_AVOIDED;
	     peer = peers_next(p->agent, peer))
		if (peer->avoid_until > now)
			not [n++] = peer;
	record_hold(p);
	ask_start(p->agent,
		  &(struct ask_question){ .id = p->id,
					  .size = PLACEMENT_SIZE,
					  .leaves = p->leaves,
					  .tried = not,
					  .ntried = n,
					  .time_ms = placement_time_left(p) },
		  placement_on_answer, p);
}

/* ---- the start ---- */

/* Refuses a view that this node cannot serve; VIEW_AUTO becomes VIEW_SHARED. NULL, or why. */
static const char *placement_set_view(struct placement *p, enum view wish)
{
	const char *trouble;

	p->view = wish;
	if (p->view == VIEW_UNSET)
		p->view = cgroup_session_view(p->agent, p->pid);
	if (p->view == VIEW_UNSET)
		p->view = p->agent->config->view;
	if (p->view == VIEW_SHARED)
		return NULL;
	trouble = serve_trouble();
	if (!trouble && !p->uid && !p->agent->config->allow_root)
		trouble = "view home serves files to root's tasks only if the home node sets "
			  "allow-root";
	if (!trouble || p->view == VIEW_HOME)
		return trouble;
	p->view = VIEW_SHARED;
	return NULL;
}

int placement_start(struct agent *agent, const struct placement_task *task, placement_fn decided,
		    void *ctx)
{
	struct placement *p = record_new(agent, task, placement_on_timer);
	const char *trouble;
	struct timeval limit;

	if (!p)
		return -ENOMEM;
	if (!p->time_ms)
		p->time_ms = PLACEMENT_TIME_MS;
	limit.tv_sec = p->time_ms / 1000;
	limit.tv_usec = p->time_ms % 1000 * 1000;
	p->decided = decided;
	p->ctx = ctx;
	/* Hold it until this function ends: it may be decided at once. */
	record_hold(p);
	agent->placements_open++;
	p->leaves = !p->explicit_node && (task->leaves || cgroup_session_leaves(agent, p->pid));
	record_step(p, "%s of %s by process %d", p->kernel ? "exec" : "start", p->command,
		    (int)p->pid);
	if (p->leaves)
		record_step(p, "it is to leave whatever the load (--all)");
	if (agent->placements_open > PLACEMENT_OPEN_MAX) {
		placement_stay(p, EHS_REASON_QUEUE_FULL, NULL);
		goto out;
	}
	if (placement_excluded(p, NULL)) {
		placement_stay(p, EHS_REASON_EXCLUDED, NULL);
		goto out;
	}
	trouble = placement_set_view(p, task->view);
	if (trouble) {
		placement_stay(p, EHS_REASON_REFUSED, trouble);
		goto out;
	}
	if (task->node) {
		p->to = peers_by_name(agent, task->node);
		if (!p->to) {
			placement_stay(p, EHS_REASON_UNREACHABLE, "no such node in the cluster");
			goto out;
		}
	}
	evtimer_add(p->timer, &limit);
	if (placement_look(p) && !p->explicit_node)
		placement_ask(p);
out:
	record_release(p);
	return 0;
}

/* ---- what becomes of it ---- */

struct placement *placement_claim(struct agent *agent, const char *handle, pid_t pid, uid_t uid,
				  enum ehs_reason *reason)
{
	static struct log_limit limit;
	struct placement *p;
	char *end;

	*reason = EHS_REASON_LEASE_OVER;
	errno = 0;
	p = record_by_cookie(agent, strtoull(handle, &end, 10));
	if (errno || *end || !p || p->phase != PLACEMENT_RESERVED)
		return NULL;
	if (p->pid != pid || p->uid != uid) {
		if (log_allowed(&limit))
			log_warning("process %d of user %u presented the handle of %s, which "
				    "belongs to process %d of user %u",
				    (int)pid, uid, p->id, (int)p->pid, p->uid);
		*reason = EHS_REASON_REFUSED;
		return NULL;
	}
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
	counters_started(p->to, p->reason, p->kernel);
	record_step(p, "started on %s as process %d", peer_code(p->to), (int)remote);
}

void placement_failed(struct placement *p, enum ehs_reason reason)
{
	if (p->phase == PLACEMENT_OVER)
		return;
	record_step(p, "%s did not start it (%s): it runs at home", peer_code(p->to),
		    reason_name(reason));
	p->reason = reason;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(reason));
	if (placement_blames_node(reason))
		placement_avoid(p->to);
	if (!p->explicit_node)
		ask_failed(p->agent, p->id, p->to, &p->decider);
	p->to = NULL;
	placement_event(p);
	record_over(p);
}

static void placement_finished(struct placement *p, int status, bool lost)
{
	event_tell(p->agent, "finish",
		   json_pack("{s:s,s:s,s:i,s:s,s:i,s:b}", "id", p->id, "command", p->command, "uid",
			     (int)p->uid, "executor", peer_code(p->to), "status", status, "lost",
			     (int)lost));
	record_over(p);
}

void placement_ended(struct placement *p, int status)
{
	if (p->phase == PLACEMENT_OVER)
		return;
	record_step(p, WIFSIGNALED(status) ? "killed by signal %d" : "exited with status %d",
		    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	placement_finished(p, status, false);
}

void placement_lost(struct placement *p)
{
	if (p->phase == PLACEMENT_OVER)
		return;
	record_step(p, "%s was lost", peer_code(p->to));
	p->reason = EHS_REASON_LOST;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(p->reason));
	placement_finished(p, SIGKILL, true);
}

void placement_rerun(struct placement *p)
{
	if (p->phase == PLACEMENT_OVER)
		return;
	record_step(p, "%s was lost: running it again at home", peer_code(p->to));
	p->reason = EHS_REASON_LOST;
	snprintf(p->text, sizeof(p->text),
		 "The connection to the node that ran the task broke after it had started; the "
		 "task was run again at home, as --retry allows.");
	p->to = NULL;
	placement_event(p);
	record_over(p);
}

void placement_too_late(struct agent *agent, uint64_t cookie)
{
	struct placement *p = record_by_cookie(agent, cookie);

	if (p && p->phase == PLACEMENT_RESERVED)
		placement_failed(p, EHS_REASON_TIME_OUT);
}

/* ---- what others want to know ---- */

struct peer *placement_executor(const struct placement *p)
{
	return p->to;
}

enum view placement_view(const struct placement *p)
{
	return p->view;
}

const char *placement_token(const struct placement *p)
{
	return p->token;
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
