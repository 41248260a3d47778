// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/outcome.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <linux/ehsched.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/event.h"
#include "base/journal.h"
#include "base/user.h"
#include "cluster/credits.h"
#include "cluster/hierarchy.h"
#include "home/choice.h"
#include "home/counters.h"
#include "home/eligible.h"
#include "home/history.h"
#include "home/record.h"
#include "job/files.h"
#include "net/peer.h"
#include "wire/frame.h"
#include "wire/reason.h"

static void outcome_audit(const struct placement *p, enum journal_what what, int status)
{
	journal_task(p->agent, what,
		     &(struct journal_task){
			     .id = p->id,
			     .user = p->agent->config->audit ? user_name(p->uid) : NULL,
			     .uid = p->uid,
			     .program = p->path,
			     .home = p->agent->code,
			     .executor = p->to ? peer_code(p->to) : p->agent->code,
			     .reason = reason_name(p->reason),
			     .status = status,
			     .ended = what == JOURNAL_ENDED,
		     });
}

void outcome_tell(const struct placement *p)
{
	event_tell(p->agent, "place",
		   json_pack("{s:s,s:s,s:i,s:i,s:s,s:s,s:s,s:f}", "id", p->id, "command",
			     p->command, "pid", (int)p->pid, "uid", (int)p->uid, "home",
			     p->agent->code, "executor", p->to ? peer_code(p->to) : p->agent->code,
			     "reason", reason_name(p->reason), "at_ms",
			     (clock_us() - p->began_us) / 1000.0));
}

/* Why, in the words of the table. */
static void outcome_reason(struct placement *p, enum ehs_reason reason)
{
	p->reason = reason;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(reason));
}

/* Its task runs at home. */
static void outcome_home(struct placement *p, bool counts)
{
	p->to = NULL;
	outcome_tell(p);
	history_stays(p, counts);
	outcome_audit(p, JOURNAL_STAYS, 0);
}

void outcome_stays(struct placement *p, enum ehs_reason reason, const char *text)
{
	placement_fn decided = p->decided;

	p->decided = NULL;
	outcome_reason(p, reason);
	if (text && *text)
		snprintf(p->text, sizeof(p->text), "%s", text);
	record_step(p, "stays at home: %s", reason_name(reason));
	if (p->to)
		choice_undo(p);
	if (!p->explicit_node)
		credits_stays(p->agent);
	p->agent->placements_open--;
	outcome_home(p, !p->explicit_node);
	/* Keep it until the callback has seen it. */
	record_hold(p);
	if (p->judge) {
		eligible_cancel(p->judge);
		p->judge = NULL;
		record_release(p);
	}
	if (p->question) {
		files_cancel(p->question);
		p->question = NULL;
		record_release(p);
	}
	decided(p->ctx, p, NULL, NULL, reason);
	if (credits_on(p->agent))
		hierarchy_touch(p->agent); /* it has taken a processor */
	record_over(p);
	record_release(p);
}

void outcome_started(struct placement *p, pid_t stub, pid_t remote)
{
	p->phase = PLACEMENT_AWAY;
	p->pid = stub;
	p->remote = remote;
	counters_started(p->to, p->reason);
	record_step(p, "started on %s as process %d", peer_host(p->to), (int)remote);
	history_away(p);
	outcome_audit(p, JOURNAL_AWAY, 0);
}

void outcome_failed(struct placement *p, enum ehs_reason reason)
{
	record_step(p, "%s did not start it (%s): it runs at home", peer_host(p->to),
		    reason_name(reason));
	outcome_reason(p, reason);
	if (choice_blames(reason))
		choice_avoid(p->to);
	choice_undo(p);
	outcome_home(p, !p->explicit_node && reason != EHS_REASON_KILLED);
	record_over(p);
}

static void outcome_finished(struct placement *p, int status, bool lost)
{
	event_tell(p->agent, "finish",
		   json_pack("{s:s,s:s,s:i,s:s,s:i,s:o,s:o,s:b}", "id", p->id, "command",
			     p->command, "uid", (int)p->uid, "executor", peer_code(p->to), "status",
			     status, "exit",
			     WIFEXITED(status) ? json_integer(WEXITSTATUS(status)) : json_null(),
			     "signal",
			     WIFSIGNALED(status) ? json_integer(WTERMSIG(status)) : json_null(),
			     "lost", (int)lost));
	history_ended(p, status, lost);
	outcome_audit(p, JOURNAL_ENDED, status);
	record_over(p);
}

void outcome_ended(struct placement *p, int status)
{
	record_step(p, WIFSIGNALED(status) ? "killed by signal %d" : "exited with status %d",
		    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	outcome_finished(p, status, false);
}

void outcome_used(struct placement *p, const struct frame_exit *use)
{
	p->used = true;
	p->cpu_user = use->user_us / 1e6;
	p->cpu_system = use->system_us / 1e6;
	p->memory = use->maxrss_kib * 1024;
}

void outcome_moved(struct placement *p, uint64_t bytes)
{
	p->bytes = bytes;
}

void outcome_starved(struct placement *p)
{
	record_step(p, "killed because memory was short on %s", peer_host(p->to));
	outcome_reason(p, REASON_STARVED);
}

void outcome_lost(struct placement *p)
{
	record_step(p, "%s was lost", peer_host(p->to));
	outcome_reason(p, EHS_REASON_LOST);
	outcome_finished(p, SIGKILL, true);
}

void outcome_rerun(struct placement *p)
{
	if (p->reason == REASON_STARVED) {
		record_step(p, "running it again at home");
		snprintf(
			p->text, sizeof(p->text),
			"Memory was short on the node that ran the task, and it was killed there; it "
			"was run again at home, as --retry allows.");
	} else {
		record_step(p, "%s was lost: running it again at home", peer_host(p->to));
		p->reason = EHS_REASON_LOST;
		snprintf(
			p->text, sizeof(p->text),
			"The connection to the node that ran the task broke after it had started; the "
			"task was run again at home, as --retry allows.");
	}
	outcome_home(p, true);
	record_over(p);
}
