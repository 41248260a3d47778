// SPDX-License-Identifier: GPL-2.0-or-later
#include "job/looks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/event.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/ehlaunch.h"
#include "base/log.h"

#define LOOKS_PROCESSES 4 /* that work or wait for work */
#define LOOKS_A_USER 2 /* of these, and of the stuck ones: others get theirs */
#define LOOKS_STUCK_MAX 32
#define LOOKS_QUEUE_MAX 256
#define LOOKS_QUEUE_A_USER 128
#define LOOKS_AT_MS 5000 /* to find a program */
#define LOOKS_DIGEST_MS 60000 /* to read it */
#define LOOKS_END_MS 1000 /* to die */
#define LOOKS_SLOW_MS 1000 /* after which a process that nobody waits for any more counts as held */
#define LOOKS_SILENT_MS 10000 /* no look for a peer and a user after one that had no answer */
#define LOOKS_SILENT 32 /* users of which that is remembered */

static const char looks_stuck[] = "a file system with its program or directory does not answer";
static const char looks_ended[] = "ehlook has ended";

enum look_state {
	LOOK_QUEUED,
	LOOK_ASKED,
	LOOK_ANSWERED, /* done() has the answer; the process holds the program open */
	LOOK_OVER, /* no process: done() has been called, or must be */
};

struct look {
	struct look *next;
	struct agent *agent;
	enum look_state state;
	struct looker *by; /* NULL: none yet, or not any more */
	look_fn done;
	void *ctx;
	struct look_request ask;
	const char *trouble; /* to be told from the loop; NULL: nothing */
};

/* A process. */
struct looker {
	struct looker *next;
	struct agent *agent;
	int socket;
	int news; /* closed, it is killed */
	struct event *readable, *timer;
	struct look *of; /* NULL: idle, or nobody waits for the answer */
	bool busy; /* an answer is due */
	uint64_t since; /* when it was asked for that, ms */
	bool killed;
	bool stuck; /* it has not ended in time: a file system holds it */
	uid_t uid; /* of the last request */
};

struct looks {
	struct look *list; /* the oldest first */
	struct looker *lookers;
	struct event *later; /* gives out work, from the loop */
	struct {
		uid_t uid;
		uint64_t until; /* ms */
	} silent[LOOKS_SILENT];
	unsigned int next_silent;
	struct log_limit limit;
};

static void looks_later(struct agent *agent)
{
	event_active(agent->looks->later, 0, 0);
}

/* ---- processes ---- */

/* ehlaunch's process for it sees that, and kills it. */
static void looker_let_go(struct looker *k)
{
	if (k->news >= 0)
		close(k->news);
	k->news = -1;
}

static void looker_free(struct looker *k)
{
	LL_DELETE(k->agent->looks->lookers, k);
	agent_free_event(&k->readable);
	agent_free_event(&k->timer);
	if (k->socket >= 0)
		close(k->socket);
	looker_let_go(k);
	free(k);
}

static void look_over(struct look *l, const char *trouble)
{
	if (l->by)
		l->by->of = NULL;
	l->by = NULL;
	l->state = LOOK_OVER;
	l->trouble = trouble;
	looks_later(l->agent);
}

/* Its answer does not matter, or does not come. It is forgotten when its socket closes: it has ended. */
static void looker_kill(struct looker *k)
{
	k->killed = true;
	clock_arm(k->timer, LOOKS_END_MS);
	looker_let_go(k);
}

/*
 * Each task of other nodes of its user would wait as long for the same file system, and its home with it: for a
 * while they are refused at once. Others' are not.
 */
void looks_note_silent(struct agent *agent, uid_t uid)
{
	struct looks *all = agent->looks;
	const unsigned int at = all->next_silent++ % LOOKS_SILENT;

	all->silent[at].uid = uid;
	all->silent[at].until = clock_ms() + LOOKS_SILENT_MS;
}

static bool looks_is_silent(const struct looks *all, uid_t uid)
{
	const uint64_t now = clock_ms();

	for (unsigned int i = 0; i < LOOKS_SILENT; i++)
		if (all->silent[i].uid == uid && all->silent[i].until > now)
			return true;
	/* The asker has given up before we do: a home has less time. */
	for (const struct looker *k = all->lookers; k; k = k->next)
		if (k->uid == uid && k->busy && !k->killed && !k->of &&
		    now - k->since >= LOOKS_SLOW_MS)
			return true;
	return false;
}

static void looker_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct looker *k = arg;

	looks_later(k->agent);
	if (k->killed) {
		k->stuck = true;
		return;
	}
	looks_note_silent(k->agent, k->uid);
	if (log_allowed(&k->agent->looks->limit))
		log_warning("a file system does not answer when a program of user %u is looked at",
			    (unsigned int)k->uid);
	if (k->of)
		look_over(k->of, looks_stuck);
	looker_kill(k);
}

static void looker_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct looker *k = arg;
	struct look *l = k->of;
	struct look_answer a;
	ssize_t n;

	n = recv(k->socket, &a, sizeof(a), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	looks_later(k->agent);
	if (n != sizeof(a) || k->killed) {
		if (n > 0)
			return;
		if (l)
			look_over(l, looks_ended);
		looker_free(k);
		return;
	}
	k->busy = false;
	evtimer_del(k->timer);
	if (!l)
		return;
	/* Strings of another program. */
	a.folder_path[LOOK_PATH - 1] = a.real[LOOK_PATH - 1] = '\0';
	l->state = LOOK_ANSWERED;
	l->done(l->ctx, &a, NULL);
}

static struct looker *looker_new(struct agent *agent)
{
	/* An exec waits for it, as it waits for the agent. */
	const struct launch_look ask = { .head.kind = LAUNCH_LOOK,
					 .nice = getpriority(PRIO_PROCESS, 0) };
	struct ehlaunch_request q = { .head = &ask.head, .size = sizeof(ask), .nfds = 1 };
	struct looker *k = calloc(1, sizeof(*k));
	int pair[2];

	if (!k)
		return NULL;
	k->agent = agent;
	k->socket = k->news = -1;
	LL_PREPEND(agent->looks->lookers, k);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		goto free_looker;
	k->socket = pair[0];
	q.fds = &pair[1];
	k->news = ehlaunch_ask(agent, &q);
	close(pair[1]);
	k->readable = agent_watch(agent, k->socket, EV_READ | EV_PERSIST, looker_on_readable, k);
	k->timer = evtimer_new(agent->base, looker_on_timer, k);
	if (k->news >= 0 && k->readable && k->timer)
		return k;
	/* It ends when its socket closes. */
free_looker:
	looker_free(k);
	return NULL;
}

static int looker_ask(struct looker *k, struct look *l, enum look_what what)
{
	const unsigned int s = (what == LOOK_AT ? LOOKS_AT_MS : LOOKS_DIGEST_MS) / 1000;

	l->ask.what = what;
	if (send(k->socket, &l->ask, sizeof(l->ask), MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(l->ask))
		return -EPIPE;
	if (what == LOOK_DROP)
		return 0;
	k->of = l;
	k->uid = l->ask.uid;
	k->busy = true;
	k->since = clock_ms();
	l->by = k;
	l->state = LOOK_ASKED;
	return clock_arm(k->timer, s * 1000);
}

/* ---- who is next ---- */

static unsigned int looks_of_user(const struct looks *all, uid_t uid, bool stuck_only)
{
	unsigned int n = 0;

	for (const struct looker *k = all->lookers; k; k = k->next)
		n += k->uid == uid &&
		     (k->stuck || (!stuck_only && (k->busy || k->killed || k->of)));
	return n;
}

static unsigned int looks_stuck_in_all(const struct looks *all)
{
	unsigned int n = 0;

	for (const struct looker *k = all->lookers; k; k = k->next)
		n += k->stuck;
	return n;
}

/* An idle process, or a new one. NULL: all are at work; *failed: none can be started. */
static struct looker *looks_idle(struct agent *agent, bool *failed)
{
	struct looker *k, *idle = NULL;
	unsigned int n = 0;

	for (k = agent->looks->lookers; k; k = k->next) {
		n += !k->stuck;
		if (!k->killed && !k->busy && !k->of)
			idle = k;
	}
	if (idle || n >= LOOKS_PROCESSES)
		return idle;
	k = looker_new(agent);
	*failed = !k;
	if (!k && log_allowed(&agent->looks->limit))
		log_warning(
			"cannot start ehlook, which is installed beside this program: no task can "
			"come or go");
	return k;
}

static const char *looks_refuse(const struct looks *all, uid_t uid)
{
	if (looks_of_user(all, uid, true) >= LOOKS_A_USER)
		return looks_stuck;
	if (looks_stuck_in_all(all) >= LOOKS_STUCK_MAX)
		return "too many file systems do not answer";
	return NULL;
}

/* Gives it to a process. False: all are at work. */
static bool look_give(struct look *l)
{
	struct looks *all = l->agent->looks;
	const char *trouble = looks_refuse(all, l->ask.uid);
	struct looker *k;
	bool failed = false;

	if (trouble) {
		look_over(l, trouble);
		return true;
	}
	if (looks_of_user(all, l->ask.uid, false) >= LOOKS_A_USER)
		return true;
	k = looks_idle(l->agent, &failed);
	if (!k && failed)
		look_over(l, "cannot start ehlook");
	else if (k && looker_ask(k, l, LOOK_AT))
		look_over(l, looks_ended);
	return k || failed;
}

/* One that is over, or NULL. */
static struct look *looks_over(struct looks *all)
{
	struct look *l;

	for (l = all->list; l && !(l->state == LOOK_OVER && l->trouble); l = l->next)
		;
	return l;
}

static void looks_on_later(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;
	struct looks *all = agent->looks;
	const char *trouble;
	struct look *l;

	for (l = all->list; l; l = l->next)
		if (l->state == LOOK_QUEUED && !look_give(l))
			break;
	/* Its owner changes the list. */
	while ((l = looks_over(all))) {
		trouble = l->trouble;
		l->trouble = NULL;
		l->done(l->ctx, NULL, trouble);
	}
}

/* ---- for others ---- */

int looks_init(struct agent *agent)
{
	struct looks *all = calloc(1, sizeof(*all));
	bool failed;

	if (!all)
		return -ENOMEM;
	all->later = event_new(agent->base, -1, 0, looks_on_later, agent);
	if (!all->later) {
		free(all);
		return -ENOMEM;
	}
	agent->looks = all;
	looks_idle(agent, &failed);
	return 0;
}

const char *looks_silent(const struct agent *agent, uid_t uid)
{
	return looks_is_silent(agent->looks, uid) ? looks_stuck : NULL;
}

static const char *looks_full(const struct looks *all, uid_t uid)
{
	unsigned int n = 0, same = 0;

	for (const struct look *l = all->list; l; l = l->next) {
		n++;
		same += l->ask.uid == uid;
	}
	return n >= LOOKS_QUEUE_MAX || same >= LOOKS_QUEUE_A_USER
		       ? "too many programs are looked at"
		       : looks_refuse(all, uid);
}

struct look *look_start(struct agent *agent, const struct look_question *q, look_fn done, void *ctx,
			const char **trouble)
{
	struct look *l;

	*trouble = looks_full(agent->looks, q->uid);
	if (!q->pid && looks_is_silent(agent->looks, q->uid))
		*trouble = looks_stuck;
	if (*trouble)
		return NULL;
	*trouble = strerror(ENAMETOOLONG);
	if (strlen(q->path) >= LOOK_PATH || (!q->pid && strlen(q->folder) >= LOOK_PATH))
		return NULL;
	*trouble = strerror(ENOMEM);
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->agent = agent;
	l->done = done;
	l->ctx = ctx;
	l->ask.version = LOOK_VERSION;
	l->ask.uid = q->uid;
	l->ask.pid = q->pid;
	l->ask.limit = agent->config->digest_limit << 20;
	strcpy(l->ask.path, q->path);
	if (!q->pid)
		strcpy(l->ask.folder, q->folder);
	LL_APPEND(agent->looks->list, l);
	/* Others that wait are of users who have theirs, or wait for a process, as this one will. */
	look_give(l);
	return l;
}

void look_digest(struct look *l, look_fn done, void *ctx)
{
	l->done = done;
	l->ctx = ctx;
	if (looker_ask(l->by, l, LOOK_DIGEST))
		look_over(l, looks_ended);
}

void look_end(struct look *l)
{
	LL_DELETE(l->agent->looks->list, l);
	if (l->by) {
		l->by->of = NULL;
		/* To find a program takes a moment; to read a large one may take a minute. */
		if (l->state == LOOK_ANSWERED)
			looker_ask(l->by, l, LOOK_DROP);
		else if (l->ask.what == LOOK_DIGEST)
			looker_kill(l->by);
	}
	looks_later(l->agent);
	free(l);
}

void looks_exit(struct agent *agent)
{
	struct looks *all = agent->looks;

	if (!all)
		return;
	while (all->lookers)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
		looker_free(all->lookers);
	event_free(all->later);
	free(all);
	agent->looks = NULL;
}
