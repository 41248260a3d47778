// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/directory.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/log.h"
#include "helpers/common/companion.h"

#define DIRECTORY_WAIT_MS 250
#define DIRECTORY_FRESH_MS 40000 /* an answer that nobody has waited for, from its question on */
#define DIRECTORY_LOST_MS 35000 /* ehnames gives up before that */

/* A question that was sent. */
struct directory_slot {
	struct directory_question question;
	struct directory_answer answer;
	uint64_t at; /* when it was sent, ms; 0: never, or its answer was used */
	bool here; /* the answer, which came too late for the first caller */
};

/* Of the process: all agents on a host have the same users. */
static struct {
	pid_t pid; /* 0: not started, questions wait */
	int socket; /* -1: ehnames has ended */
	uint32_t serial;
	struct directory_slot slots[DIRECTORY_AT_ONCE];
	struct directory_answer waited; /* for, without ehnames */
	struct log_limit limit;
} directory = { .socket = -1 };

int directory_start(void)
{
	char path[4096];
	char *argv[] = { (char *)"ehnames", NULL };

	if (!companion("ehnames", path, sizeof(path)))
		return -ENOENT;
	return child_start(path, argv, DIRECTORY_SOCKET, &directory.pid, &directory.socket);
}

void directory_exit(void)
{
	if (directory.socket >= 0)
		close(directory.socket);
	directory.socket = -1;
}

static void directory_gone(void)
{
	log_error("ehnames has ended: no user and no group is known until the agent starts again");
	directory_exit();
	waitpid(directory.pid, NULL, WNOHANG);
}

/* Takes what has come, until there is an answer to this question (NULL: none is waited for), for so long. */
static void directory_receive(const struct directory_slot *of, int wait_ms)
{
	static struct directory_answer a;
	const uint64_t until = clock_ms() + wait_ms;
	struct pollfd p = { .fd = directory.socket, .events = POLLIN };
	uint64_t now = until - wait_ms;
	ssize_t n;

	while (directory.socket >= 0 && !(of && of->here) &&
	       poll(&p, 1, now < until ? (int)(until - now) : 0) > 0) {
		n = recv(directory.socket, &a, sizeof(a), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < (ssize_t)offsetof(struct directory_answer, groups) ||
		    n != (ssize_t)directory_size(&a)) {
			directory_gone();
			return;
		}
		for (size_t i = 0; i < DIRECTORY_AT_ONCE; i++) {
			struct directory_slot *s = &directory.slots[i];

			if (!s->at || s->here || s->question.serial != a.serial)
				continue;
			memcpy(&s->answer, &a, n);
			s->here = true;
		}
		now = clock_ms();
	}
}

static bool directory_is(const struct directory_slot *s, const struct directory_question *q)
{
	return s->at && s->question.kind == q->kind && s->question.number == q->number &&
	       !strcmp(s->question.name, q->name) && !strcmp(s->question.member, q->member);
}

/* One that is not in use, or of which the answer is too old or was never wanted. NULL: all wait. */
static struct directory_slot *directory_free(void)
{
	struct directory_slot *oldest = NULL;

	for (size_t i = 0; i < DIRECTORY_AT_ONCE; i++) {
		struct directory_slot *s = &directory.slots[i];

		if (!s->at)
			return s;
		if (s->here && (!oldest || s->at < oldest->at))
			oldest = s;
		/* Its process was killed. */
		if (!s->here && clock_ms() - s->at > DIRECTORY_LOST_MS)
			return s;
	}
	return oldest;
}

/* The question is new; its answer is waited for so long. NULL: it was not sent. */
static struct directory_slot *directory_send(const struct directory_question *q, int wait_ms)
{
	struct directory_slot *s = directory_free();

	if (!s)
		return NULL;
	s->question = *q;
	s->question.serial = ++directory.serial;
	s->here = false;
	s->at = 0;
	if (send(directory.socket, &s->question, sizeof(s->question), MSG_NOSIGNAL | MSG_DONTWAIT) <
	    0) {
		directory_gone();
		return NULL;
	}
	s->at = clock_ms();
	directory_receive(s, wait_ms);
	return s;
}

const struct directory_answer *directory_ask(const struct directory_question *q)
{
	struct directory_slot *s = NULL;

	if (!directory.pid) {
		directory_look(q, &directory.waited);
		return &directory.waited;
	}
	directory_receive(NULL, 0);
	if (directory.socket < 0)
		return NULL;
	for (size_t i = 0; i < DIRECTORY_AT_ONCE; i++)
		if (directory_is(&directory.slots[i], q))
			s = &directory.slots[i];
	/* An answer may be wrong after a while. */
	if (s && s->here && clock_ms() - s->at > DIRECTORY_FRESH_MS)
		s = NULL;
	if (!s)
		s = directory_send(q, DIRECTORY_WAIT_MS);
	if (s && s->here) {
		s->at = 0;
		return &s->answer;
	}
	if (log_allowed(&directory.limit))
		log_warning("the name services of this host (nsswitch.conf) do not answer in time: "
			    "users and groups that are not known yet are refused");
	return NULL;
}

int directory_addresses(const char *host, const struct directory_answer **answer)
{
	struct directory_question q = { .kind = DIRECTORY_HOST };

	if (snprintf(q.name, sizeof(q.name), "%s", host) >= (int)sizeof(q.name))
		return -ENAMETOOLONG;
	if (directory.pid)
		directory_receive(NULL, 0);
	if (!directory.pid || directory.socket < 0)
		return -ENOSYS;
	for (size_t i = 0; i < DIRECTORY_AT_ONCE; i++) {
		struct directory_slot *s = &directory.slots[i];

		if (!s->at || s->question.kind != DIRECTORY_HOST ||
		    clock_ms() - s->at > DIRECTORY_LOST_MS)
			continue;
		if (!s->here)
			return -EAGAIN;
		s->at = 0;
		if (strcmp(s->question.name, q.name))
			continue;
		*answer = &s->answer;
		return 0;
	}
	directory_send(&q, 0);
	return -EAGAIN;
}

bool directory_is_late(void)
{
	bool late = directory.socket < 0;

	if (!directory.pid)
		return false;
	directory_receive(NULL, 0);
	for (size_t i = 0; i < DIRECTORY_AT_ONCE; i++)
		late |= directory.slots[i].at && !directory.slots[i].here &&
			directory.slots[i].question.kind != DIRECTORY_HOST;
	return late;
}
