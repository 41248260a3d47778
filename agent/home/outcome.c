// SPDX-License-Identifier: GPL-2.0-or-later
#include "home/outcome.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <linux/ehsched.h>
#include <jansson.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/event.h"
#include "base/journal.h"
#include "base/user.h"
#include "home/counters.h"
#include "home/history.h"
#include "home/placement_seek.h"
#include "home/record.h"
#include "net/peer.h"
#include "wire/frame.h"
#include "wire/reason.h"

void outcome_audit(const struct placement *p, enum journal_what what, int status)
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

void outcome_started(struct placement *p, pid_t stub, pid_t remote)
{
	if (p->phase == PLACEMENT_OVER)
		return;
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
	if (p->phase == PLACEMENT_OVER)
		return;
	record_step(p, "%s did not start it (%s): it runs at home", peer_host(p->to),
		    reason_name(reason));
	p->reason = reason;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(reason));
	if (placement_seek_blames(reason))
		placement_seek_avoid(p->to);
	placement_seek_undo(p);
	p->to = NULL;
	outcome_tell(p);
	history_stays(p, !p->explicit_node && reason != EHS_REASON_KILLED);
	outcome_audit(p, JOURNAL_STAYS, 0);
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
	if (p->phase == PLACEMENT_OVER)
		return;
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
	p->reason = REASON_STARVED;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(p->reason));
}

void outcome_lost(struct placement *p)
{
	if (p->phase == PLACEMENT_OVER)
		return;
	record_step(p, "%s was lost", peer_host(p->to));
	p->reason = EHS_REASON_LOST;
	snprintf(p->text, sizeof(p->text), "%s", reason_text(p->reason));
	outcome_finished(p, SIGKILL, true);
}

void outcome_rerun(struct placement *p)
{
	if (p->phase == PLACEMENT_OVER)
		return;
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
	p->to = NULL;
	outcome_tell(p);
	history_stays(p, true);
	outcome_audit(p, JOURNAL_STAYS, 0);
	record_over(p);
}
