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
#include "helpers/ehstub/stub.h"
#include "wire/clean.h"

#define START_SAY_MS 1000
#define START_LINE (PATH_MAX + 1024) /* of a message */
#define START_FILES 80 /* descriptors that are nearly always enough */
#define START_OURS 6 /* to the agent, for signals, and what is open for a moment */
#define START_TOKEN 128 /* bytes of the longest, with its NUL */
#define START_BY_SHELL '!' /* behind the code of a node */

void stub_say(const char *const *parts, int n)
{
	const int64_t until = calls_now() + START_SAY_MS;
	int64_t left = START_SAY_MS;
	char line[START_LINE];
	size_t length = 0, at = 0;
	struct pollfd p = { .events = POLLOUT };
	enum kind kind = KIND_OTHER;
	ssize_t done = 0;

	/* Names of users and words of other nodes are in it. In one piece, so that what others say is not in between. */
	for (int i = 0; i < n; i++) {
		clean_text(line + length, sizeof(line) - length, parts[i]);
		length += strlen(line + length);
	}
	line[length++] = '\n';
	p.fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
	if (p.fd >= 0)
		kind = descriptor_adopt(p.fd);
	else
		p.fd = 2;
	/* A terminal may be held by its user, a pipe be full: nobody can be told then. */
	while (at < length && left > 0 && (done >= 0 || done == -EAGAIN) &&
	       poll(&p, 1, (int)left) > 0) {
		done = descriptor_write(p.fd, kind, (const uint8_t *)line + at, length - at);
		if (done > 0)
			at += done;
		left = until - calls_now();
	}
	if (p.fd != 2)
		close(p.fd);
}

const char *stub_caller(const struct stub *s)
{
	if (s->rsh)
		return "ehrsh: ";
	return s->explicit ? "ehctl exec: " : "";
}

/* The status when nothing was run, for a reason that is none of the program. */
static int start_failed(const struct stub *s)
{
	return s->rsh ? STUB_NO_TRANSPORT : 1;
}

static void complain(const struct stub *s, const char *what, const char *why)
{
	const char *parts[] = { stub_caller(s), what, ": ", why };

	stub_say(parts, 4);
}

/* What execvp() and shells do with a script without a #! line: sh and the path replace argv[0]. */
static void start_by_shell(struct stub *s)
{
	s->argv--;
	s->argv[0] = (char *)"sh";
	s->argv[1] = (char *)s->path;
	s->path = "/bin/sh";
	s->by_shell = true;
}

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

/* This process is as the task was, for another program. */
static void start_restore(struct stub *s)
{
	witness_end(&s->witness);
	if (s->raised)
		setrlimit(RLIMIT_NOFILE, &s->files);
	calls_mask(s->sigmask);
}

/* ---- failures ---- */

void run_here(struct stub *s)
{
	start_restore(s);
	execve(s->path, s->argv, environ);
	if (errno == ENOEXEC) {
		const char *path = s->path;

		start_by_shell(s);
		execve(s->path, s->argv, environ);
		errno = ENOEXEC;
		s->path = path;
	}
	_exit(failure_tell(s, NULL, errno));
}

/* The node cannot execute it: once more, with sh. Returns if that is not possible. */
static void start_again_by_shell(struct stub *s)
{
	const char mark[] = { START_BY_SHELL, '\0' };
	char token[START_TOKEN];

	if (s->by_shell || strlen(s->token) + sizeof(mark) > sizeof(token))
		return;
	strcat(strcpy(token, s->token), mark);
	s->argv[-2] = token;
	start_restore(s);
	execve("/proc/self/exe", s->all, environ);
}

static void __attribute__((noreturn)) start_fail(struct stub *s, int status)
{
	witness_end(&s->witness);
	_exit(status);
}

void give_up(struct stub *s, const char *what, int error)
{
	/* The agent knows of the job, and not that it stays. */
	if (s->session.known) {
		session_note(&s->session, NOTE_STAYS);
		session_flush(&s->session, 0);
	}
	if (!s->explicit)
		run_here(s);
	/* Signals that were not read are pending: one of them may end us here. */
	start_restore(s);
	complain(s, error == EMFILE ? "descriptors for itself (ulimit -n)" : what, strerror(error));
	_exit(start_failed(s));
}

void refused(struct stub *s, uint32_t reason, int error, const char *text)
{
	int status;

	if (!s->explicit || !reason)
		run_here(s);
	if (error == ENOEXEC)
		start_again_by_shell(s);
	if (error) {
		status = failure_tell(s, s->token + 1, error);
		start_fail(s, s->rsh ? start_failed(s) : status);
	}
	complain(s, s->token + 1, text);
	start_fail(s, start_failed(s));
}

/* Something that the task has open can be only here. */
static void __attribute__((noreturn)) stay(struct stub *s)
{
	char number[NUMBER_SIZE];
	const char *parts[] = { stub_caller(s),	  "descriptor ",
				number,		  " ",
				s->opens.trouble, ": it cannot be carried to another node" };

	s->sigmask = calls_mask(~0ull);
	if (!s->explicit)
		run_here(s);
	number_text(s->opens.culprit, number);
	stub_say(parts, 6);
	_exit(start_failed(s));
}

static void __attribute__((noreturn)) stand_in(struct stub *s)
{
	int ret;

	if (!start_raise_files(s, start_need(s)))
		give_up(s, "", EMFILE);
	/* Signals that are not read stay pending, for the program if it runs here after all. */
	s->ending =
		descriptor_above_2(calls_signalfd(STUB_ENDING & ~(stub_ignored() | s->sigmask)));
	s->signals = descriptor_above_2(calls_signalfd(~0ull));
	if (s->ending < 0 || s->signals < 0)
		give_up(s, "signalfd", errno);
	ret = end_open(s);
	if (ret)
		give_up(s, "memory", -ret);
	ret = hop_connect();
	if (ret < 0)
		give_up(s, "agent of this node", -ret);
	session_open(&s->session, ret);
	ret = stub_send_job(s, job_end_deadline(&s->session.end));
	if (ret)
		give_up(s, s->path, -ret);
	/* While the answer is waited for, and before the program can have children. */
	witness_start(&s->witness);
	stub_loop(s);
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
	source_init(&s->sources[0], 0);
	s->nsources = 1;
	s->nsinks = STUB_SINKS;
	for (int i = 0; i < STUB_SINKS; i++) {
		s->sinks[i].fd = -1;
		s->sinks[i].channel = i + 1;
	}
}

int stub_start(int argc, char **argv)
{
	static struct stub stub; /* zero, so that it takes memory only as it is used */
	struct stub *s = &stub;
	char *mark;

	start_init(s);
	s->session.note.begun_us = calls_us();
	s->all = argv;
	argv = argc ? start_options(s, argv) : NULL;
	if (!argv) {
		static const char *const usage[] = {
			"ehstub: not to be run by hand; the kernel and ehctl start it"
		};

		stub_say(usage, 1);
		return 2;
	}
	s->token = argv[1];
	s->path = argv[2];
	s->argv = argv + 3;
	s->explicit = s->token[0] == '@' && strcmp(s->token, "@auto") && strcmp(s->token, "@all");
	mark = s->explicit ? strchr(argv[1], START_BY_SHELL) : NULL;
	if (mark) {
		*mark = '\0';
		start_by_shell(s);
	}
	getrlimit(RLIMIT_NOFILE, &s->files);
	start_raise_files(s, START_FILES);
	if (!opens_look(&s->opens))
		stay(s);
	/* A file system may not answer: until signals are blocked they end this task as they should. */
	stub_name_files(s);
	s->sigmask = calls_mask(~0ull);
	stand_in(s);
}
