// SPDX-License-Identifier: GPL-2.0-or-later
#include "jobserver.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "attend.h"
#include "client.h"
#include "eh/slots.h"
#include "eh/tokens.h"
#include "holders.h"
#include "relay.h"
#include "tools/common/common.h"
#include "wire/frame.h"

#define LOOK_MS 250 /* at the pipe */
#define HOLDERS_MS 500 /* looks for holders of tokens */
#define AGAIN_MS 500 /* until the next question, unless the agent says another time */
#define ABSENT_MS 5000 /* the same, if there is no agent */
#define ANSWER_MS 5000 /* an agent that takes longer is asked again */
#define REPLY_MAX 4096

struct keeper {
	const struct jobserver_options *options;
	struct tokens tokens;
	struct relay relay;
	struct eh_tokens account;
	int64_t build;
	pid_t command;
	uint64_t looked; /* at the holders, last */
	/* the question on its way */
	int agent; /* -1: none */
	uint8_t reply[REPLY_MAX];
	size_t got;
	uint64_t asked, next;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The tokens that the relay kept do not exist any more. */
static void settle(struct keeper *k)
{
	eh_tokens_done(&k->account, -(int)relay_kept(&k->relay));
}

/* ---- the agent ---- */

enum when { FIRST, AGAIN, LAST };

static json_t *question(struct keeper *k, enum when when)
{
	const unsigned int free = tokens_free(&k->tokens), made = k->account.made;
	const unsigned int used = (made > free ? made - free : 0) + 1;
	const unsigned int wants = eh_tokens_wants(&k->account);

	return json_pack("{s:s,s:I,s:i,s:i,s:s*,s:b}", "command", "slots", "build",
			 (json_int_t)k->build, "used", (int)(used < EH_SLOTS_MAX ? used : 1),
			 "wants", when == FIRST ? EH_SLOTS_MAX : (int)wants, "of", k->options->of,
			 "ended", when == LAST);
}

static void ask_end(struct keeper *k, unsigned int again_ms)
{
	close(k->agent);
	k->agent = -1;
	k->next = now_ms() + again_ms;
}

/* A question that fails is asked again later; until then there are as many tokens as before. */
static void ask_begin(struct keeper *k, enum when when)
{
	uint8_t frame[FRAME_HEADER + REPLY_MAX];
	json_t *request;
	size_t n;

	settle(k);
	k->asked = now_ms();
	k->next = k->asked + ABSENT_MS;
	k->got = 0;
	k->agent = client_connect(true);
	if (k->agent < 0)
		return;
	request = question(k, when);
	n = request ? json_dumpb(request, (char *)frame + FRAME_HEADER, REPLY_MAX, JSON_COMPACT)
		    : 0;
	json_decref(request);
	frame_header(frame, FRAME_REQUEST, n);
	if (!n || n > REPLY_MAX ||
	    send(k->agent, frame, FRAME_HEADER + n, MSG_NOSIGNAL | MSG_DONTWAIT) !=
		    (ssize_t)(FRAME_HEADER + n))
		ask_end(k, ABSENT_MS);
}

static void answered(struct keeper *k, uint32_t length)
{
	json_error_t error;
	json_t *reply = json_loadb((char *)k->reply + FRAME_HEADER, length, 0, &error);
	const json_int_t slots = json_integer_value(json_object_get(reply, "slots"));
	const json_int_t again = json_integer_value(json_object_get(reply, "again"));

	if (slots > 0)
		eh_tokens_granted(&k->account, slots < EH_SLOTS_MAX ? slots : EH_SLOTS_MAX);
	ask_end(k, slots > 0 && again > 0 && again < 60000 ? again : ABSENT_MS);
	json_decref(reply);
}

static void ask_read(struct keeper *k)
{
	ssize_t n = recv(k->agent, k->reply + k->got, sizeof(k->reply) - k->got, MSG_DONTWAIT);
	enum frame_type type;
	uint32_t length;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		ask_end(k, AGAIN_MS);
		return;
	}
	k->got += n;
	if (k->got < FRAME_HEADER)
		return;
	if (frame_parse(k->reply, &type, &length) || type != FRAME_REPLY ||
	    length > REPLY_MAX - FRAME_HEADER)
		ask_end(k, ABSENT_MS);
	else if (k->got >= FRAME_HEADER + length)
		answered(k, length);
}

/* ---- the keeper ---- */

static void look(struct keeper *k)
{
	unsigned int free, held = EH_TOKENS_UNKNOWN, after;
	int change, taken;

	relay_check(&k->relay, &k->tokens);
	settle(k);
	free = tokens_free(&k->tokens);

	if (k->command && free < k->account.made && now_ms() - k->looked >= HOLDERS_MS) {
		k->looked = now_ms();
		held = holders_most(&k->tokens, k->command, k->relay.process,
				    k->account.made - free);
		/* Jobs that ended meanwhile are not among the holders. */
		after = tokens_free(&k->tokens);
		free = after > free ? after : free;
	}
	change = eh_tokens_look(&k->account, free, held);
	relay_owe(&k->relay, eh_tokens_owed(&k->account));
	if (change < 0) {
		/* The relay may have kept some of these meanwhile. */
		change = -(int)relay_reserve(&k->relay, -change);
		taken = tokens_change(&k->tokens, change);
		eh_tokens_done(&k->account, taken);
		settle(k);
	} else {
		eh_tokens_done(&k->account, tokens_change(&k->tokens, change));
	}
	relay_owe(&k->relay, eh_tokens_owed(&k->account));
}

static int until_ms(uint64_t when, uint64_t now)
{
	return when <= now ? 0 : when - now < LOOK_MS ? (int)(when - now) : LOOK_MS;
}

/* Until the process behind `command` (a pidfd) has ended; -1: until there was an answer. */
static void keep(struct keeper *k, int command)
{
	struct pollfd on[2];

	for (;;) {
		uint64_t now = now_ms();

		if (k->agent >= 0 && now - k->asked > ANSWER_MS)
			ask_end(k, AGAIN_MS);
		if (k->agent < 0 && command < 0)
			return;
		if (k->agent < 0 && now >= k->next)
			ask_begin(k, AGAIN);
		on[0] = (struct pollfd){ .fd = command, .events = POLLIN };
		on[1] = (struct pollfd){ .fd = k->agent, .events = POLLIN };
		now = now_ms();
		if (poll(on, 2, k->agent < 0 ? until_ms(k->next, now) : LOOK_MS) < 0 &&
		    errno != EINTR)
			return;
		if (on[0].revents)
			return;
		if (on[1].revents)
			ask_read(k);
		look(k);
	}
}

/* As long as no agent has said anything, this host's processors. */
static unsigned int own_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

static void account_print(struct keeper *k)
{
	unsigned int free, missing;

	relay_settle(&k->relay, &k->tokens);
	look(k);
	free = tokens_free(&k->tokens);
	missing = k->account.made > free ? k->account.made - free : 0;
	if (missing)
		fail(0,
		     "jobserver: %u of %u tokens were not put back: a process that had some was "
		     "killed, or still runs",
		     missing, k->account.made);
	if (k->account.doubled)
		fail(0, "jobserver: %llu surplus tokens were put back, and removed",
		     (unsigned long long)k->account.doubled);
	if (k->account.lost)
		fail(0,
		     "jobserver: %llu tokens were lost with processes that were killed, and made "
		     "again",
		     (unsigned long long)k->account.lost);
}

static int stay(struct keeper *k, pid_t child, const sigset_t *mask)
{
	const int pidfd = pidfd_open(child, 0);
	int status;

	k->command = child;
	attend(child);
	sigprocmask(SIG_SETMASK, mask, NULL);
	tokens_keep(&k->tokens);
	if (pidfd >= 0)
		keep(k, pidfd);
	else
		fail(0, "jobserver: the number of slots does not change: %s", strerror(errno));
	if (pidfd >= 0)
		close(pidfd);
	status = attend_end(child);
	k->command = 0;
	account_print(k);
	if (k->agent >= 0)
		ask_end(k, 0);
	ask_begin(k, LAST);
	if (k->agent >= 0)
		ask_end(k, 0);
	relay_end(&k->relay, &k->tokens);
	tokens_end(&k->tokens);
	return attend_die(status);
}

int jobserver_fork(const struct jobserver_options *options, char **command)
{
	struct keeper k = { .options = options, .agent = -1 };
	sigset_t all, mask;
	pid_t child;
	int code;

	if (tokens_there()) {
		fail(0, "MAKEFLAGS names a jobserver already: that one is used");
		return -1;
	}
	code = tokens_make(&k.tokens, options->style, command);
	if (code)
		return code;
	if (getrandom(&k.build, sizeof(k.build), 0) != sizeof(k.build))
		k.build = (int64_t)getpid();
	k.build &= INT64_MAX;
	code = relay_start(&k.relay, &k.tokens);
	if (code) {
		code = fail(EXIT_REFUSED, "cannot start a process for tokens: %s", strerror(-code));
		tokens_end(&k.tokens);
		return code;
	}
	eh_tokens_granted(&k.account, own_processors());
	ask_begin(&k, FIRST);
	keep(&k, -1);
	look(&k);
	/* One that comes before the keeper attends to it waits, and does not kill the keeper alone. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	child = fork();
	if (child <= 0)
		sigprocmask(SIG_SETMASK, &mask, NULL);
	if (child < 0) {
		code = fail(EXIT_REFUSED, "cannot start a process: %s", strerror(errno));
		relay_end(&k.relay, &k.tokens);
		tokens_end(&k.tokens);
		return code;
	}
	if (child)
		return stay(&k, child, &mask);
	code = tokens_enter(&k.tokens, command);
	return code ? code : -1;
}
