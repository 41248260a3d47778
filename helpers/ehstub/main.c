// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehstub [--retry] [--view VIEW] TOKEN PATH ARGV0 [ARG]…
 *
 * TOKEN is the number of a placement (from the kernel), "@CODE" or "@auto" (from ehctl). It is no
 * secret, as everybody can read it: the agent gives a placement only to the process it was made for.
 * Any failure before GO ends in an exec of PATH here.
 */
#include "stub.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAIN_SAY_MS 1000
#define MAIN_PARTS 9

void stub_say(const char *const *parts, int n)
{
	struct pollfd p = { .fd = 2, .events = POLLOUT };
	struct iovec iov[MAIN_PARTS];

	for (int i = 0; i < n; i++)
		iov[i] = (struct iovec){ (void *)parts[i], strlen(parts[i]) };
	/* A terminal may be held by its user, a pipe be full. */
	if (poll(&p, 1, MAIN_SAY_MS) <= 0 || writev(2, iov, n) < 0)
		return; /* nobody can be told */
}

static void complain(const struct stub *s, const char *what, const char *why)
{
	const char *parts[] = { s->explicit ? "ehctl exec: " : "", what, ": ", why, "\n" };

	stub_say(parts, 5);
}

void run_here(struct stub *s)
{
	calls_mask(s->sigmask);
	execve(s->path, s->argv, environ);
	/* As execvp() and shells do for a script without a #! line: sh and the path replace argv0. */
	if (errno == ENOEXEC) {
		char **shell = s->argv - 1;

		shell[0] = (char *)"sh";
		shell[1] = (char *)s->path;
		execve("/bin/sh", shell, environ);
		errno = ENOEXEC;
	}
	complain(s, s->path, strerror(errno));
	_exit(errno == ENOENT || errno == ENOTDIR ? 127 : 126);
}

void give_up(struct stub *s, const char *what, int error)
{
	/* The agent knows of the job, and not that it stays. */
	if (s->known) {
		end_note(s, NOTE_STAYS);
		end_flush(s, 0);
	}
	/* Signals that were not read are pending: one of them may end us here. */
	calls_mask(s->sigmask);
	if (!s->explicit)
		run_here(s);
	complain(s, what, strerror(error));
	_exit(1);
}

void refused(struct stub *s, uint32_t reason, const char *text)
{
	if (!s->explicit || !reason)
		run_here(s);
	complain(s, s->token + 1, text);
	_exit(1);
}

/* Something that the task has open can be only here. */
static void __attribute__((noreturn)) stay(struct stub *s)
{
	char number[16];
	const char *parts[] = { "ehctl exec: descriptor ", number, " ", s->opens.trouble,
				": it cannot be carried to another node\n" };

	s->sigmask = calls_mask(~0ull);
	if (!s->explicit)
		run_here(s);
	descriptor_number(s->opens.culprit, number);
	stub_say(parts, 5);
	_exit(1);
}

static void __attribute__((noreturn)) stand_in(struct stub *s)
{
	const int64_t now = calls_now();
	int ret;

	/* Signals that are not read stay pending, for the program if it runs here after all. */
	s->ending = descriptor_above_2(calls_signalfd(STUB_ENDING & ~(stub_ignored() | s->sigmask)));
	s->signals = descriptor_above_2(calls_signalfd(~0ull));
	if (s->ending < 0 || s->signals < 0)
		give_up(s, "signalfd", errno);
	ret = end_open(s, now);
	if (ret)
		give_up(s, "memory", -ret);
	ret = hop_connect();
	if (ret < 0)
		give_up(s, "agent of this node", -ret);
	hop_open(&s->hop, ret);
	ret = stub_send_job(s, job_end_deadline(&s->end));
	if (ret)
		give_up(s, s->path, -ret);
	stub_loop(s);
}

int main(int argc, char **argv)
{
	static struct stub stub; /* zero, so that it takes memory only as it is used */
	struct stub *s = &stub;

	s->hop.socket = s->tty.fd = -1;
	source_init(&s->sources[0], 0);
	s->nsources = 1;
	s->nsinks = STUB_SINKS;
	for (int i = 0; i < STUB_SINKS; i++) {
		s->sinks[i].fd = -1;
		s->sinks[i].channel = i + 1;
	}
	if (argc > 1 && !strcmp(argv[1], "--retry")) {
		s->retry = true;
		argv++;
		argc--;
	}
	if (argc > 2 && !strcmp(argv[1], "--view")) {
		s->view = view_parse(argv[2]);
		argv += 2;
		argc -= 2;
	}
	if (argc < 4) {
		static const char *const usage[] = {
			"ehstub: not to be run by hand; the kernel and ehctl start it\n"
		};

		stub_say(usage, 1);
		return 2;
	}
	s->token = argv[1];
	s->path = argv[2];
	s->argv = argv + 3;
	s->explicit = s->token[0] == '@' && strcmp(s->token, "@auto");
	if (!opens_look(&s->opens))
		stay(s);
	/* A file system may not answer: until signals are blocked they end this task as they should. */
	stub_name_files(s);
	s->sigmask = calls_mask(~0ull);
	stand_in(s);
}
