// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The executor is lost, or had too little memory. The task is reported as killed or, if the user allows
 * it (--retry), run again here. The second run must begin like the first: nothing may be missing from standard input, and
 * standard output must still be open. Output of the first run remains.
 */
#include "lost.h"

#include <errno.h>
#include <unistd.h>

#include "descriptor.h"
#include "fallback.h"
#include "opened.h"
#include "say.h"
#include "signals.h"
#include "stub.h"

#define LOST_FLUSH_MS 200

/* NULL: it can run again. */
static const char *lost_prepare(struct stub *s)
{
	const struct sink *out = &s->sinks[0], *errors = &s->sinks[1];
	int err;

	if (s->told_to_end)
		return "it was told to end";
	/* Lost before it was known to have started: nothing was closed or read. */
	if (s->before < JOB_RUNNING)
		return NULL;
	if (s->flags & JOB_FD(1) && !(s->flags & (JOB_TTY(1) | JOB_NULL(1)))) {
		if (out->fd < 0 || out->end)
			return "its standard output was closed";
		descriptor_restore(1, out->kind);
	}
	if (errors->fd >= 0)
		descriptor_restore(2, errors->kind);
	/* Keys, of descriptor 0 or of /dev/tty. */
	if (s->tty.sent)
		return "terminal input was lost with it";
	if (s->flags & JOB_FD(0) && !(s->flags & (JOB_TTY(0) | JOB_NULL(0)))) {
		err = source_again(&s->sources[0]);
		if (err)
			return err == -EPIPE ? "its standard input was closed"
					     : "its standard input cannot be rewound";
	}
	return opened_again(s);
}

void lost_report(struct stub *s)
{
	static const char *const what[][2] = {
		[LOSS_NONE] = { "", "" },
		[LOSS_GONE] = { "ehsched: lost ", " while it ran" },
		[LOSS_LIMIT] = { "ehsched: no connection to ", " in the time limit while it ran" },
		[LOSS_AGENT] = { "ehsched: no agent on this node in the time limit while ",
				 " ran" },
		[LOSS_PROTOCOL] = { "ehsched: not understood what came from ", " while it ran" },
		[LOSS_STARVED] = { "ehsched: ", " had too little memory for" },
		[LOSS_LOCK] = { "ehsched: another process here has the lock that ", " had for" },
	};
	const char *parts[] = { what[s->loss][0],	s->session.attached.host,
				what[s->loss][1],	" this task (",
				s->session.attached.id, "); it is ",
				"reported as killed",	"" };
	/* One that has ended has done its work, unless it was killed for memory. */
	const bool again = s->retry && (s->before != JOB_ENDED || s->loss == LOSS_STARVED);
	const char *why;

	terminal_restore(&s->tty);
	why = again ? lost_prepare(s) : "";
	if (!why) {
		session_note(&s->session, NOTE_RERUN);
		session_flush(&s->session, LOST_FLUSH_MS);
		parts[6] = "run again here";
		say_line(parts, 8);
		fallback_run_here(s);
	}
	if (*why) {
		parts[6] = "reported as killed and not run again: ";
		parts[7] = why;
	}
	if (s->rsh) {
		parts[5] = ")";
		parts[6] = "";
	}
	/* How it ended is known otherwise. */
	if (s->loss != LOSS_STARVED)
		session_note(&s->session, NOTE_LOST);
	session_flush(&s->session, LOST_FLUSH_MS);
	say_line(parts, 8);
	if (s->rsh) {
		witness_end(&s->witness);
		_exit(STUB_NO_TRANSPORT);
	}
	signals_die(s, SIGKILL);
}
