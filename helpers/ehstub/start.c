// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehstub [--retry] [--rsh] [--no-terminal] [--view VIEW] TOKEN PATH ARGV0 [ARG]…
 *
 * TOKEN is the number of a placement (from the kernel), "@NODE", "@auto" or "@all" (from ehctl). It is
 * no secret, as everybody can read it: the agent gives a placement only to the process it was made for.
 * "@NODE!" is for sh, which runs PATH as a script. Any failure before GO ends in an exec of PATH here.
 */
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "helpers/common/number.h"
#include "helpers/ehstub/end.h"
#include "helpers/ehstub/fallback.h"
#include "helpers/ehstub/job.h"
#include "helpers/ehstub/loop.h"
#include "helpers/ehstub/signals.h"
#include "helpers/ehstub/stub.h"
#include "helpers/ehstub/tokens.h"
#include "helpers/end/calls.h"
#include "helpers/end/open.h"

#define START_FILES 80 /* descriptors that are nearly always enough */
#define START_OURS 6 /* to the agent, for signals, and what is open for a moment */

/* ---- limits ---- */

/*
 * Soft limits may be lower than what we need. Only root's may be raised beyond the hard one. Returns
 * whether there are so many now.
 */
static bool start_raise_files(struct stub *s, rlim_t need)
{
	struct rlimit more = { need, need }, now;

	if (getrlimit(RLIMIT_NOFILE, &now) || now.rlim_cur >= need)
		return true;
	if (now.rlim_max > need)
		more.rlim_max = now.rlim_max;
	s->raised = true;
	if (!setrlimit(RLIMIT_NOFILE, &more))
		return true;
	more.rlim_cur = more.rlim_max = now.rlim_max;
	setrlimit(RLIMIT_NOFILE, &more);
	return false;
}

/* Those of the task, one of our own for each direction of an open file, and some. poll() takes no more. */
static rlim_t start_need(const struct stub *s)
{
	return 3 + s->opens.ndescriptors + 2 * s->opens.nfiles + START_OURS;
}

/* Something that the task has open can be only here. */
static void __attribute__((noreturn)) stay(struct stub *s)
{
	char number[NUMBER_SIZE];
	const char *parts[] = { fallback_caller(s),
				"descriptor ",
				number,
				" ",
				s->opens.trouble,
				": it cannot be carried to another node" };

	s->sigmask = calls_mask(~0ull);
	if (!s->explicit)
		fallback_run_here(s);
	number_text(s->opens.culprit, number);
	fallback_say(parts, 6);
	_exit(fallback_status(s));
}

static void __attribute__((noreturn)) stand_in(struct stub *s)
{
	int ret;

	if (!start_raise_files(s, start_need(s)))
		fallback_give_up(s, "", EMFILE);
	/* Signals that are not read stay pending, for the program if it runs here after all. */
	s->ending =
		open_above_2(calls_signalfd(SIGNALS_ENDING & ~(signals_ignored() | s->sigmask)));
	s->signals = open_above_2(calls_signalfd(~0ull));
	if (s->ending < 0 || s->signals < 0)
		fallback_give_up(s, "signalfd", errno);
	end_open(s);
	ret = hop_connect(NULL);
	if (ret < 0)
		fallback_give_up(s, "agent of this node", -ret);
	session_open(&s->session, ret);
	ret = stub_send_job(s, s->session.end.deadline);
	if (ret)
		fallback_give_up(s, s->path, -ret);
	/* While the answer is waited for, and before the program can have children. */
	witness_start(&s->witness);
	loop_run(s);
}

/* Takes what is before the token. Returns what follows, as a program's arguments; NULL: not understood. */
static char **start_options(struct stub *s, char **argv)
{
	bool any = false;

	for (; argv[1] && argv[1][0] == '-'; argv++) {
		any = true;
		if (!strcmp(argv[1], "--retry")) {
			s->retry = true;
		} else if (!strcmp(argv[1], "--rsh")) {
			s->rsh = true;
		} else if (!strcmp(argv[1], "--no-terminal")) {
			s->no_terminal = true;
		} else if (!strcmp(argv[1], "--view") && argv[2]) {
			s->view = view_parse(argv[2]);
			argv++;
		} else {
			return NULL;
		}
	}
	/* Options are ehctl's. The kernel gives a token that an agent has chosen, before what the task has. */
	if (!argv[1] || !argv[2] || !argv[3] || (any && argv[1][0] != '@'))
		return NULL;
	return argv;
}

/* Of one that is all zero. */
static void start_init(struct stub *s)
{
	s->session.hop.socket = s->tty.fd = -1;
	source_init(&s->sources[0], 0, &s->session, &s->opens, &s->witness);
	s->nsources = 1;
	for (uint32_t channel = 1; channel <= STUB_SINKS; channel++)
		sink_init(&s->sinks[s->nsinks++], channel, &s->session, &s->opens);
	s->tty.session = &s->session;
	s->tty.out = &s->sinks[JOB_CHANNEL_TERMINAL - 1];
}

int stub_start(char **argv)
{
	static struct stub stub; /* zero, so that it takes memory only as it is used */
	struct stub *s = &stub;
	char *mark;

	start_init(s);
	s->session.note.begun_us = calls_us();
	s->all = argv;
	argv = argv[0] ? start_options(s, argv) : NULL;
	if (!argv) {
		static const char *const usage[] = {
			"ehstub: not to be run by hand; the kernel and ehctl start it"
		};

		fallback_say(usage, 1);
		return 2;
	}
	s->token = argv[1];
	s->path = argv[2];
	s->argv = argv + 3;
	s->explicit = s->token[0] == '@' && strcmp(s->token, "@auto") && strcmp(s->token, "@all");
	mark = s->explicit ? strchr(argv[1], FALLBACK_BY_SHELL) : NULL;
	if (mark) {
		*mark = '\0';
		fallback_by_shell(s);
	}
	getrlimit(RLIMIT_NOFILE, &s->files);
	start_raise_files(s, START_FILES);
	if (!opens_look(&s->opens) || !tokens_look(&s->opens))
		stay(s);
	/* A file system may not answer: until signals are blocked they end this task as they should. */
	stub_name_files(s);
	s->sigmask = calls_mask(~0ull);
	stand_in(s);
}
